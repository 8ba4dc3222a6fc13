use std::sync::Arc;

use crate::{Cells, Drive, Zone};

/// All words of the text of one topic in a bag, those of [`each_word`](crate::each_word).
///
/// Is there only when nothing is missing: a word that is not here does not stand in the topic's
/// messages. Text that is a list of labels and nothing else is left to these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicWords {
    /// A channel of the topic, by place in the bag's declarations.
    pub channel: u32,
    /// In byte order, each once.
    pub words: Vec<Arc<str>>,
}

/// What the numbers of one topic in a bag are.
///
/// Is there only when every message of the topic in the bag is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicNumbers {
    /// A channel of the topic, by place in the bag's declarations.
    pub channel: u32,
    /// Of each configured number, where it lies.
    pub zones: Vec<Zone>,
    /// Where the configured position was, when it has not been in too many places.
    pub cells: Option<Cells>,
    /// The path of the position, when each message has one and they came in order.
    pub drive: Option<Drive>,
}

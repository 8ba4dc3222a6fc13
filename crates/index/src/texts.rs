use std::{collections::HashSet, sync::Arc};

/// More texts than this are not remembered.
const MAX_TEXTS: usize = 1 << 14;

/// The labels, words and frames that bags have in common, each once.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashSet<Arc<str>, foldhash::fast::RandomState>);

impl Texts {
    /// The one copy of a text.
    pub(crate) fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let shared: Arc<str> = text.into();
        if self.0.len() < MAX_TEXTS {
            self.0.insert(shared.clone());
        }
        shared
    }
}

use std::{collections::HashMap, sync::Arc};

use crate::{CodecError, codec::Decoder};

/// What the entries of one file have in common, each once: the names of frames and labels, and the
/// payloads of latched messages. Entries give the number.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    texts: Vec<Arc<str>>,
    payloads: Vec<Arc<[u8]>>,
}

/// One thing that entries share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedItem {
    /// The name of a frame or label.
    Text(Arc<str>),
    /// The payload of a latched message.
    Payload(Arc<[u8]>),
}

/// The numbers of what was shared so far, while entries are encoded.
#[derive(Debug, Default)]
pub struct Sharing {
    texts: HashMap<Arc<str>, u32, foldhash::fast::RandomState>,
    payloads: HashMap<Arc<[u8]>, u32, foldhash::fast::RandomState>,
    fresh: Vec<SharedItem>,
}

impl Shared {
    /// Takes in what [`Sharing::take_fresh`] gave, in that order.
    pub fn push(&mut self, item: SharedItem) {
        match item {
            SharedItem::Text(text) => self.texts.push(text),
            SharedItem::Payload(payload) => self.payloads.push(payload),
        }
    }

    pub(crate) fn text(&self, from: &mut Decoder<'_>) -> Result<Arc<str>, CodecError> {
        number(from, &self.texts, "text")
    }

    pub(crate) fn payload(&self, from: &mut Decoder<'_>) -> Result<Arc<[u8]>, CodecError> {
        number(from, &self.payloads, "payload")
    }
}

fn number<T: ?Sized>(
    from: &mut Decoder<'_>,
    all: &[Arc<T>],
    what: &'static str,
) -> Result<Arc<T>, CodecError> {
    let number: u32 = from.small(what)?;
    match all.get(number as usize) {
        Some(item) => Ok(item.clone()),
        None => Err(CodecError::Value { offset: 0, what, found: number.into() }),
    }
}

impl Sharing {
    /// What was numbered since the last time: it must stand in front of the entries that name it.
    pub fn take_fresh(&mut self) -> Vec<SharedItem> {
        std::mem::take(&mut self.fresh)
    }

    pub(crate) fn text(&mut self, text: &Arc<str>) -> u64 {
        if let Some(known) = self.texts.get(text) {
            return (*known).into();
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.insert(text.clone(), number);
        self.fresh.push(SharedItem::Text(text.clone()));
        number.into()
    }

    pub(crate) fn payload(&mut self, payload: &Arc<[u8]>) -> u64 {
        if let Some(known) = self.payloads.get(payload) {
            return (*known).into();
        }
        let number = u32::try_from(self.payloads.len()).unwrap_or(u32::MAX);
        self.payloads.insert(payload.clone(), number);
        self.fresh.push(SharedItem::Payload(payload.clone()));
        number.into()
    }
}

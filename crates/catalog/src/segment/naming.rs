//! What the entries of one file name by number: declarations, texts and payloads.

use std::{borrow::Cow, sync::Arc};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{BagEntry, EntryForm, SharedItem, Sharing, encode, encode_declarations};

use super::entries::Kind;

/// The numbers given so far.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    declared: Vec<Arc<Declarations>>,
    sharing: Sharing,
}

/// Something that entries name.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    Declarations(Arc<Declarations>),
    Shared(SharedItem),
}

impl Naming {
    /// The entry of a bag as bytes. What it is the first to name is appended to `fresh`, in the
    /// order of its numbers.
    pub(crate) fn encode(
        &mut self,
        bag: &BagEntry,
        form: EntryForm,
        fresh: &mut Vec<Named>,
    ) -> Vec<u8> {
        let declared = &bag.contents.declared;
        // Told apart by where they lie: the splits of a session share them, and comparing their
        // texts for each bag took a third of the time of writing. Equal ones that are not shared
        // are merely written twice.
        let known = self.declared.iter().rposition(|known| Arc::ptr_eq(known, declared));
        let number = known.unwrap_or_else(|| {
            fresh.push(Named::Declarations(declared.clone()));
            self.declared.push(declared.clone());
            self.declared.len() - 1
        });
        let mut payload = u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        payload.extend_from_slice(&encode(bag, &mut self.sharing, form));
        fresh.extend(self.sharing.take_fresh().into_iter().map(Named::Shared));
        payload
    }
}

impl Named {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Declarations(_) => Kind::Declarations,
            Self::Shared(SharedItem::Text(_)) => Kind::Text,
            Self::Shared(SharedItem::Payload(_)) => Kind::Payload,
        }
    }

    pub(crate) fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Declarations(declared) => encode_declarations(declared).into(),
            Self::Shared(SharedItem::Text(text)) => text.as_bytes().into(),
            Self::Shared(SharedItem::Payload(bytes)) => (&**bytes).into(),
        }
    }
}

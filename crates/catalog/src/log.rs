//! The segment that is appended to: the bags that came last, and what became of older ones.

use std::{os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{BagEntry, EntryForm, Shared, SharedItem, decode, decode_declarations};

use crate::{
    Loaded,
    segment::{
        entries::{Entries, Kind, has_header, push},
        naming::Naming,
        sealed::one_of,
    },
    store::{FORMAT_VERSION, path_of},
};

/// One thing to append.
#[derive(Debug, Clone)]
pub(crate) enum LogEntry<'e> {
    /// A bag, in place of an earlier entry for its path.
    Bag(&'e Arc<BagEntry>),
    /// The file of a bag that has an entry in the log is gone.
    Gone(&'e Path),
    /// A row of a sealed segment stands for no bag any more.
    Dead { segment: u64, row: u32, is_gone: bool },
}

/// Appends an entry, behind what it names.
pub(crate) fn push_entry(out: &mut Vec<u8>, naming: &mut Naming, entry: &LogEntry<'_>) {
    match entry {
        LogEntry::Bag(bag) => {
            let mut fresh = Vec::new();
            let payload = naming.encode(bag, EntryForm::Whole, &mut fresh);
            for named in fresh {
                push(out, named.kind(), &named.bytes());
            }
            push(out, Kind::Bag, &payload);
        }
        LogEntry::Gone(path) => push(out, Kind::Gone, path.as_os_str().as_bytes()),
        LogEntry::Dead { segment, row, is_gone } => {
            let mut payload = segment.to_le_bytes().to_vec();
            payload.extend_from_slice(&row.to_le_bytes());
            payload.push(u8::from(!is_gone));
            push(out, Kind::Dead, &payload);
        }
    }
}

/// Reads a log into what is known, up to the first entry that is not whole.
pub(crate) struct LoadedLog<'l> {
    pub(crate) number: u64,
    pub(crate) loaded: &'l mut Loaded,
}

impl LoadedLog<'_> {
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        let number = self.number;
        if !has_header(bytes) {
            let words = format!("segment {number} is not of format {FORMAT_VERSION}");
            self.loaded.damage = Some(words);
            return;
        }
        let mut declared: Vec<Arc<Declarations>> = Vec::new();
        let mut shared = Shared::default();
        let mut entries = Entries::new(bytes);
        for (kind, payload) in entries.by_ref() {
            if self.take(kind, payload, &mut declared, &mut shared).is_none() {
                let words = format!("segment {number} holds an entry that makes no sense");
                self.loaded.damage = Some(words);
                return;
            }
        }
        if entries.position() < bytes.len() {
            self.loaded.damage = Some(format!(
                "segment {number} is whole up to byte {} of {}",
                entries.position(),
                bytes.len()
            ));
        }
    }

    fn take(
        &mut self,
        kind: Kind,
        payload: &[u8],
        declared: &mut Vec<Arc<Declarations>>,
        shared: &mut Shared,
    ) -> Option<()> {
        let loaded = &mut *self.loaded;
        match kind {
            Kind::Declarations => {
                let declarations = decode_declarations(payload).ok()?;
                declared.push(one_of(&mut loaded.declared, declarations));
            }
            Kind::Text => {
                shared.push(SharedItem::Text(std::str::from_utf8(payload).ok()?.into()));
            }
            Kind::Payload => shared.push(SharedItem::Payload(payload.into())),
            Kind::Bag => {
                let (number, entry) = payload.split_first_chunk::<4>()?;
                let declarations = declared.get(u32::from_le_bytes(*number) as usize)?;
                let entry = decode(entry, declarations, shared, EntryForm::Whole).ok()?;
                loaded.tail.insert(entry.path.clone(), Arc::new(entry));
            }
            Kind::Gone => {
                loaded.gone.extend(loaded.tail.remove(path_of(payload)));
            }
            Kind::Dead => {
                let (segment, rest) = payload.split_first_chunk::<8>()?;
                let (row, rest) = rest.split_first_chunk::<4>()?;
                let row = u32::from_le_bytes(*row);
                let dead = loaded.dead.entry(u64::from_le_bytes(*segment)).or_default();
                match rest {
                    [0] => dead.gone.insert(row),
                    [1] => {
                        dead.gone.remove(row);
                        dead.replaced.insert(row)
                    }
                    _ => return None,
                };
            }
            Kind::Index => return None,
        }
        Some(())
    }
}

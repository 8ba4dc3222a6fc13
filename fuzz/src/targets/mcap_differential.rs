//! What the `mcap` crate reads without an error is served as it reads it.

use std::panic::{self, AssertUnwindSafe};

use mcap::{
    read::{LinearReader, Options},
    records::Record,
    sans_io::{LinearReaderOptions, MessageReadEvent, MessageReader},
};
use ros2_memory_bag::{Bag, Damage, DamageKind};

use crate::recordings::{OPTIONS, Seen, in_file_order, scanned};

/// Later times are refused: no clock shows them.
const MAX_PLAUSIBLE_NS: u64 = i64::MAX as u64;

/// `data` is the file.
pub fn run(data: &[u8]) {
    let Some(wanted) = upstream_guarded(data) else { return };
    let Ok(bag) = scanned(data) else {
        assert_eq!(wanted, [], "a file that another reader reads");
        return;
    };
    let served: Vec<Seen> = in_file_order(&bag).into_iter().map(|(_, seen)| seen).collect();
    let damage = &bag.contents().damage;
    if damage.iter().any(|damage| is_refused(&bag, damage)) {
        return;
    }
    let wanted: Vec<Seen> =
        wanted.into_iter().filter(|seen| seen.log_time_ns <= MAX_PLAUSIBLE_NS).collect();
    if damage.is_empty() {
        assert_eq!(served, wanted, "a file without damage");
        return;
    }
    // Where something is wrong all the same, more may be found, and nothing may be missing.
    let mut rest = served.iter();
    for message in &wanted {
        assert!(rest.any(|served| served == message), "{message:?} is missing, {damage:?}");
    }
}

/// What the crate reads; a file that makes it panic is one that it refuses.
fn upstream_guarded(data: &[u8]) -> Option<Vec<Seen>> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| upstream(data)));
    panic::set_hook(hook);
    outcome.ok().flatten()
}

/// Whether a chunk is refused that the crate takes: it does not look at what stands behind the
/// last byte that a chunk inflates to, nor at how many a plain chunk says it is.
fn is_refused(bag: &Bag, damage: &Damage) -> bool {
    match &damage.kind {
        DamageKind::ChunkTooLarge { .. } | DamageKind::ChunkSize { .. } => true,
        // Of LZ4 the end of the frame is left to the chunk's checksum, where it has one.
        DamageKind::Inflate { compression, .. } => {
            let mut chunks = bag.contents().chunks.iter();
            *compression != "lz4"
                || chunks.any(|chunk| chunk.offset == damage.offset && chunk.crc == 0)
        }
        _ => false,
    }
}

/// What the crate reads of a file that it finds whole, or whole but for its ending. This is its
/// `MessageStream` with `ValidateChunkCrcs`, and with a limit: the stream itself makes room for
/// whatever a record says.
fn upstream(data: &[u8]) -> Option<Vec<Seen>> {
    if !has_true_chunks(data) {
        return None;
    }
    let options = LinearReaderOptions::default()
        .with_validate_chunk_crcs(true)
        .with_record_length_limit(usize::try_from(OPTIONS.max_chunk_bytes).unwrap_or(usize::MAX));
    read(data, options.clone()).or_else(|| read(data, options.with_skip_end_magic(true)))
}

/// Whether the records can be told apart, and no plain chunk holds a record that is longer than
/// itself: there the crate reckons below zero.
fn has_true_chunks(data: &[u8]) -> bool {
    let records = LinearReader::new_with_options(data, Options::IgnoreEndMagic.into());
    records.is_ok_and(|mut records| {
        records.all(|record| match record {
            Ok(Record::Chunk { header, data }) => {
                !header.compression.is_empty() || are_records(&data)
            }
            record => record.is_ok(),
        })
    })
}

/// Whether the bytes are records from end to end.
fn are_records(mut bytes: &[u8]) -> bool {
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = head[1..].try_into().map_or(u64::MAX, u64::from_le_bytes);
        let Some(behind) = usize::try_from(length).ok().and_then(|n| rest.get(n..)) else {
            return false;
        };
        bytes = behind;
    }
    bytes.is_empty()
}

fn read(mut data: &[u8], options: LinearReaderOptions) -> Option<Vec<Seen>> {
    let mut reader = MessageReader::new_with_options(options);
    let mut seen = Vec::new();
    while let Some(event) = reader.next_event() {
        match event.ok()? {
            MessageReadEvent::ReadRequest(n) => {
                let (taken, rest) = data.split_at(n.min(data.len()));
                reader.insert(taken.len()).copy_from_slice(taken);
                reader.notify_read(taken.len());
                data = rest;
            }
            MessageReadEvent::Message(message) => seen.push(Seen {
                log_time_ns: message.log_time,
                sequence: message.sequence,
                publish_time_ns: message.publish_time,
                topic: message.channel.topic.clone(),
                payload: message.data.into_owned(),
            }),
        }
    }
    Some(seen)
}

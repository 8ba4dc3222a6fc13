//! How much of a cut file is whole.

use crate::mcap_bytes::{
    records::{PREFIX_BYTES, op},
    spans,
};

/// How many messages of the whole `file` stand in records that end at or before `cut`.
///
/// A chunk counts by the message indexes that follow it in the whole file, so nothing is inflated:
/// each is a channel id, a length in bytes and 16 bytes a message.
pub(super) fn whole_messages(file: &[u8], cut: usize) -> usize {
    let mut whole = 0;
    let mut chunk_end = 0;
    for span in spans(file) {
        match span.opcode {
            op::MESSAGE if span.end <= cut => whole += 1,
            op::CHUNK => chunk_end = span.end,
            op::MESSAGE_INDEX if chunk_end <= cut => {
                whole += (span.end - span.start - PREFIX_BYTES - 6) / 16;
            }
            _ => {}
        }
    }
    whole
}

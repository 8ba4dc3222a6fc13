//! Records written by hand, and how much of a cut file is whole.

/// The eight bytes at both ends of a file.
pub(super) const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', 0x30, b'\r', b'\n'];

/// Opcodes, from the specification.
pub(super) const HEADER: u8 = 0x01;
pub(super) const FOOTER: u8 = 0x02;
pub(super) const SCHEMA: u8 = 0x03;
pub(super) const MESSAGE: u8 = 0x05;
pub(super) const CHUNK: u8 = 0x06;
pub(super) const MESSAGE_INDEX: u8 = 0x07;
pub(super) const DATA_END: u8 = 0x0F;

/// Opcode and length.
pub(super) const PREFIX_BYTES: usize = 9;

/// One record of the top level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) opcode: u8,
    /// Of the opcode.
    pub(super) start: usize,
    /// One past the last byte.
    pub(super) end: usize,
}

/// A record whose length says `length`, whatever `content` holds.
pub(super) fn record(opcode: u8, length: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![opcode];
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(content);
    bytes
}

/// A record that says the truth about its length.
pub(super) fn true_record(opcode: u8, content: &[u8]) -> Vec<u8> {
    record(opcode, content.len() as u64, content)
}

/// A string as records carry it.
pub(super) fn string(text: &str) -> Vec<u8> {
    let mut bytes = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// The records of the top level of a whole file.
pub(super) fn spans(file: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = MAGIC.len();
    while let Some(prefix) = file.get(start..start + PREFIX_BYTES)
        && let Some((&opcode, length)) = prefix.split_first()
        && let Ok(length) = length.try_into().map(u64::from_le_bytes)
        && let Some(end) =
            usize::try_from(length).ok().and_then(|n| n.checked_add(start + PREFIX_BYTES))
        && end <= file.len()
    {
        spans.push(Span { opcode, start, end });
        start = end;
    }
    spans
}

/// How many messages of the whole `file` stand in records that end at or before `cut`.
///
/// A chunk counts by the message indexes that follow it in the whole file, so nothing is inflated:
/// each is a channel id, a length in bytes and 16 bytes a message.
pub(super) fn whole_messages(file: &[u8], cut: usize) -> usize {
    let mut whole = 0;
    let mut chunk_end = 0;
    for span in spans(file) {
        match span.opcode {
            MESSAGE if span.end <= cut => whole += 1,
            CHUNK => chunk_end = span.end,
            MESSAGE_INDEX if chunk_end <= cut => {
                whole += (span.end - span.start - PREFIX_BYTES - 6) / 16;
            }
            _ => {}
        }
    }
    whole
}

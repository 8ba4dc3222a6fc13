//! Single records, as the format has them, and with lengths that lie.

/// The eight bytes at both ends of a file.
pub const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', 0x30, b'\r', b'\n'];
/// The width of opcode and length in front of every record's content.
pub const PREFIX_BYTES: usize = 9;
/// The width of a footer record with its prefix.
pub const FOOTER_BYTES: usize = PREFIX_BYTES + 20;

/// The opcodes.
pub mod op {
    /// The first record.
    pub const HEADER: u8 = 0x01;
    /// The last record.
    pub const FOOTER: u8 = 0x02;
    /// A message definition.
    pub const SCHEMA: u8 = 0x03;
    /// A stream of messages.
    pub const CHANNEL: u8 = 0x04;
    /// One message.
    pub const MESSAGE: u8 = 0x05;
    /// Records in a compressed lump.
    pub const CHUNK: u8 = 0x06;
    /// Where the messages of one channel lie in the chunk in front.
    pub const MESSAGE_INDEX: u8 = 0x07;
    /// Where a chunk lies.
    pub const CHUNK_INDEX: u8 = 0x08;
    /// A file in the file.
    pub const ATTACHMENT: u8 = 0x09;
    /// Where an attachment lies.
    pub const ATTACHMENT_INDEX: u8 = 0x0A;
    /// Counts over the whole file.
    pub const STATISTICS: u8 = 0x0B;
    /// Pairs of texts.
    pub const METADATA: u8 = 0x0C;
    /// Where a metadata record lies.
    pub const METADATA_INDEX: u8 = 0x0D;
    /// Where a kind of records lies in the summary.
    pub const SUMMARY_OFFSET: u8 = 0x0E;
    /// The end of the data section.
    pub const DATA_END: u8 = 0x0F;
    /// The first opcode that is left to private use.
    pub const PRIVATE: u8 = 0x80;
}

/// The fields of a message record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawMessage {
    /// The channel's number.
    pub channel: u16,
    /// The publisher's counter.
    pub sequence: u32,
    /// When it was recorded, in nanoseconds.
    pub log_time_ns: u64,
    /// When it was published, in nanoseconds.
    pub publish_time_ns: u64,
    /// The bytes behind the fixed fields.
    pub payload: Vec<u8>,
}

/// The fields of a chunk record, true or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawChunk {
    /// The earliest log time it says, in nanoseconds.
    pub start_ns: u64,
    /// The latest log time it says, in nanoseconds.
    pub end_ns: u64,
    /// How many bytes it says it inflates to.
    pub uncompressed_size: u64,
    /// The checksum of the inflated bytes, 0 for none.
    pub crc: u32,
    /// The name of the compression; empty for none.
    pub compression: String,
    /// How many stored bytes it says there are.
    pub stored_size: u64,
    /// The stored bytes.
    pub stored: Vec<u8>,
}

/// A record that says the truth about its length.
pub fn record(opcode: u8, content: &[u8]) -> Vec<u8> {
    lying_record(opcode, content.len() as u64, content)
}

/// A record that says `length`, whatever its content holds.
pub fn lying_record(opcode: u8, length: u64, content: &[u8]) -> Vec<u8> {
    [&[opcode], &length.to_le_bytes()[..], content].concat()
}

/// A text as records carry it: its length in four bytes, then its bytes.
pub fn text(text: &str) -> Vec<u8> {
    blob(text.as_bytes())
}

/// Bytes as records carry them: their number in four bytes, then themselves.
pub fn blob(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes(), bytes].concat()
}

/// A map of texts as records carry it.
pub fn map(pairs: &[(&str, &str)]) -> Vec<u8> {
    let pairs: Vec<u8> =
        pairs.iter().flat_map(|(key, value)| [text(key), text(value)].concat()).collect();
    blob(&pairs)
}

/// The first record of a file.
pub fn header(profile: &str, library: &str) -> Vec<u8> {
    record(op::HEADER, &[text(profile), text(library)].concat())
}

/// A message definition.
pub fn schema(id: u16, name: &str, encoding: &str, definition: &[u8]) -> Vec<u8> {
    let parts = [&id.to_le_bytes()[..], &text(name), &text(encoding), &blob(definition)];
    record(op::SCHEMA, &parts.concat())
}

/// A stream.
pub fn channel(
    id: u16,
    schema: u16,
    topic: &str,
    encoding: &str,
    metadata: &[(&str, &str)],
) -> Vec<u8> {
    let ids = [id.to_le_bytes(), schema.to_le_bytes()].concat();
    record(op::CHANNEL, &[ids, text(topic), text(encoding), map(metadata)].concat())
}

/// A message.
pub fn message(message: &RawMessage) -> Vec<u8> {
    let parts = [
        &message.channel.to_le_bytes()[..],
        &message.sequence.to_le_bytes(),
        &message.log_time_ns.to_le_bytes(),
        &message.publish_time_ns.to_le_bytes(),
        &message.payload,
    ];
    record(op::MESSAGE, &parts.concat())
}

/// A chunk.
pub fn chunk(chunk: &RawChunk) -> Vec<u8> {
    let parts = [
        &chunk.start_ns.to_le_bytes()[..],
        &chunk.end_ns.to_le_bytes(),
        &chunk.uncompressed_size.to_le_bytes(),
        &chunk.crc.to_le_bytes(),
        &text(&chunk.compression),
        &chunk.stored_size.to_le_bytes(),
        &chunk.stored,
    ];
    record(op::CHUNK, &parts.concat())
}

/// A file in the file, with its checksum.
pub fn attachment(name: &str, data: &[u8]) -> Vec<u8> {
    let mut content = [3_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat();
    content.extend(text(name));
    content.extend(text("text/plain"));
    content.extend_from_slice(&(data.len() as u64).to_le_bytes());
    content.extend_from_slice(data);
    content.extend_from_slice(&super::crc32(&content).to_le_bytes());
    record(op::ATTACHMENT, &content)
}

/// Pairs of texts under a name.
pub fn metadata(name: &str, pairs: &[(&str, &str)]) -> Vec<u8> {
    record(op::METADATA, &[text(name), map(pairs)].concat())
}

/// The end of the data section, with its checksum or 0.
pub fn data_end(crc: u32) -> Vec<u8> {
    record(op::DATA_END, &crc.to_le_bytes())
}

/// The last record.
pub fn footer(summary_start: u64, summary_offset_start: u64, summary_crc: u32) -> Vec<u8> {
    let parts = [
        &summary_start.to_le_bytes()[..],
        &summary_offset_start.to_le_bytes(),
        &summary_crc.to_le_bytes(),
    ];
    record(op::FOOTER, &parts.concat())
}

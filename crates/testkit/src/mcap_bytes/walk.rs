//! What lies where in a whole file, found by following its records and nothing else.

use std::{collections::BTreeMap, io::Read, ops::Range};

use super::records::{MAGIC, PREFIX_BYTES, RawMessage, op};

/// One record of the top level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// What it is.
    pub opcode: u8,
    /// Where its opcode stands.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// The bytes of the file that hold messages: a chunk's record, or a message's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The record, with opcode and length.
    pub record: Range<usize>,
    /// The stored bytes of a chunk; empty for a message outside chunks.
    pub stored: Range<usize>,
    /// Whether it is a chunk.
    pub is_chunk: bool,
    /// Whether the chunk has a checksum over its inflated bytes.
    pub has_crc: bool,
}

/// A message and where it is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its fields.
    pub message: RawMessage,
    /// The topic of its channel.
    pub topic: String,
    /// The name of its type; empty without a schema.
    pub type_name: String,
    /// The definition of its type; empty without a schema.
    pub definition: Vec<u8>,
    /// By place in [`Walked::holders`].
    pub holder: usize,
}

/// A record that declares a channel or a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// [`op::CHANNEL`] or [`op::SCHEMA`].
    pub opcode: u8,
    /// The number that it declares.
    pub id: u16,
    /// The record of the top level that it is, or that it stands in.
    pub record: Range<usize>,
    /// The chunk that it stands in.
    pub holder: Option<usize>,
    /// Whether it stands behind the data.
    pub in_summary: bool,
}

/// What a whole file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walked {
    /// The records of the top level, in file order.
    pub spans: Vec<Span>,
    /// What holds messages, in file order.
    pub holders: Vec<Holder>,
    /// The messages, in file order.
    pub messages: Vec<Placed>,
    /// The declarations, in file order.
    pub declarations: Vec<Declaration>,
    /// Where the record stands that ends the data.
    pub data_end: usize,
    /// Whether the data has a checksum.
    pub has_data_crc: bool,
    /// Whether there are counts that tell how many messages there ought to be.
    pub has_statistics: bool,
    /// Whether there is an index of the chunks.
    pub has_chunk_index: bool,
}

/// The records of the top level of a whole file.
pub fn spans(file: &[u8]) -> Vec<Span> {
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
        if opcode == op::FOOTER {
            break;
        }
    }
    spans
}

/// Goes over a whole and right file; `None` when it is not one.
pub fn walk(file: &[u8]) -> Option<Walked> {
    let mut walker = Walker::default();
    let spans = spans(file);
    for span in &spans {
        let body = file.get(span.start + PREFIX_BYTES..span.end)?;
        walker.record(file, *span, body)?;
    }
    let end = spans.last().filter(|span| span.opcode == op::FOOTER)?.end;
    if file.get(..MAGIC.len()) != Some(&MAGIC) || file.get(end..) != Some(&MAGIC) {
        return None;
    }
    walker.walked.spans = spans;
    Some(walker.walked)
}

#[derive(Default)]
struct Walker {
    walked: Walked,
    /// Name and text by number.
    schemas: BTreeMap<u16, (String, Vec<u8>)>,
    /// Schema and topic by number.
    channels: BTreeMap<u16, (u16, String)>,
    is_behind_data: bool,
}

impl Walker {
    fn record(&mut self, file: &[u8], span: Span, body: &[u8]) -> Option<()> {
        let record = span.start..span.end;
        match span.opcode {
            op::SCHEMA | op::CHANNEL => self.declare(span.opcode, body, record, None)?,
            op::MESSAGE => {
                let stored = record.end..record.end;
                self.hold(Holder { record, stored, is_chunk: false, has_crc: false });
                self.message(body)?;
            }
            op::CHUNK => self.chunk(file, record, body)?,
            op::DATA_END => {
                self.walked.data_end = span.start;
                self.walked.has_data_crc = Fields(body).u32()? != 0;
                self.is_behind_data = true;
            }
            op::STATISTICS => self.walked.has_statistics = true,
            op::CHUNK_INDEX => self.walked.has_chunk_index = true,
            _ => {}
        }
        Some(())
    }

    fn chunk(&mut self, file: &[u8], record: Range<usize>, body: &[u8]) -> Option<()> {
        let mut fields = Fields(body);
        fields.take(16)?;
        let size = usize::try_from(fields.u64()?).ok()?;
        let crc = fields.u32()?;
        let compression = fields.text()?;
        let stored_len = usize::try_from(fields.u64()?).ok()?;
        let stored = record.end - stored_len..record.end;
        let bytes = inflate(&compression, file.get(stored.clone())?)?;
        if bytes.len() != size || (crc != 0 && super::crc32(&bytes) != crc) {
            return None;
        }
        let outer = record.clone();
        let holder = self.hold(Holder { record, stored, is_chunk: true, has_crc: crc != 0 });
        let mut rest = Fields(&bytes);
        while !rest.0.is_empty() {
            let opcode = *rest.take(1)?.first()?;
            let length = usize::try_from(rest.u64()?).ok()?;
            let body = rest.take(length)?;
            match opcode {
                op::SCHEMA | op::CHANNEL => {
                    self.declare(opcode, body, outer.clone(), Some(holder))?;
                }
                op::MESSAGE => self.message(body)?,
                _ => {}
            }
        }
        Some(())
    }

    fn hold(&mut self, holder: Holder) -> usize {
        self.walked.holders.push(holder);
        self.walked.holders.len() - 1
    }

    fn declare(
        &mut self,
        opcode: u8,
        body: &[u8],
        record: Range<usize>,
        holder: Option<usize>,
    ) -> Option<()> {
        let mut fields = Fields(body);
        let id = fields.u16()?;
        let in_summary = self.is_behind_data;
        self.walked.declarations.push(Declaration { opcode, id, record, holder, in_summary });
        if opcode == op::SCHEMA {
            let name = fields.text()?;
            fields.text()?;
            let length = usize::try_from(fields.u32()?).ok()?;
            let definition = fields.take(length)?.to_vec();
            if id != 0 {
                self.schemas.insert(id, (name, definition));
            }
        } else {
            let schema = fields.u16()?;
            self.channels.insert(id, (schema, fields.text()?));
        }
        Some(())
    }

    /// A message of the holder that came last.
    fn message(&mut self, body: &[u8]) -> Option<()> {
        let mut fields = Fields(body);
        let message = RawMessage {
            channel: fields.u16()?,
            sequence: fields.u32()?,
            log_time_ns: fields.u64()?,
            publish_time_ns: fields.u64()?,
            payload: fields.0.to_vec(),
        };
        let (schema, topic) = self.channels.get(&message.channel)?.clone();
        let (type_name, definition) = self.schemas.get(&schema).cloned().unwrap_or_default();
        let holder = self.walked.holders.len() - 1;
        self.walked.messages.push(Placed { message, topic, type_name, definition, holder });
        Some(())
    }
}

fn inflate(compression: &str, stored: &[u8]) -> Option<Vec<u8>> {
    match compression {
        "" => Some(stored.to_vec()),
        "zstd" => zstd::stream::decode_all(stored).ok(),
        "lz4" => {
            let mut bytes = Vec::new();
            lz4::Decoder::new(stored).ok()?.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        }
        _ => None,
    }
}

/// What is left of a record's content.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.u32()?).ok()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }
}

//! Records as they lie in a file: an opcode, a 64-bit length, and that many bytes.
//!
//! Source: the MCAP format specification, "Records".

use std::borrow::Cow;

use mcap::records::op;

use crate::{Compression, DamageKind};

pub(crate) use mcap::records::op as opcode;

/// Bytes of opcode and length.
pub(crate) const HEADER_LEN: usize = 9;
/// What a file starts and ends with.
pub(crate) const MAGIC: &[u8] = mcap::MAGIC;
/// Bytes of a footer record's body.
pub(crate) const FOOTER_LEN: u64 = 20;
/// Bytes of the body of the record that ends the data section.
pub(crate) const DATA_END_LEN: u64 = 4;

/// Reads one record header.
pub(crate) fn header(bytes: &[u8]) -> Option<(u8, u64)> {
    let (opcode, length) = bytes.split_first_chunk::<1>()?;
    let length = length.first_chunk::<8>()?;
    Some((opcode[0], u64::from_le_bytes(*length)))
}

/// The records of a chunk, or of a run of messages outside chunks.
#[derive(Debug, Clone)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// One record inside a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) opcode: u8,
    pub(crate) body: &'a [u8],
}

impl<'a> Records<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, DamageKind>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.position..).filter(|rest| !rest.is_empty())?;
        let Some((opcode, length)) = header(rest) else {
            self.position = self.bytes.len();
            return Some(Err(DamageKind::Truncated {
                what: "record header",
                needed: HEADER_LEN as u64,
                available: rest.len() as u64,
            }));
        };
        let body = usize::try_from(length)
            .ok()
            .and_then(|length| HEADER_LEN.checked_add(length))
            .and_then(|end| rest.get(HEADER_LEN..end));
        let Some(body) = body else {
            self.position = self.bytes.len();
            return Some(Err(DamageKind::Truncated {
                what: "record",
                needed: length,
                available: (rest.len() - HEADER_LEN) as u64,
            }));
        };
        self.position += HEADER_LEN + body.len();
        Some(Ok(Record { opcode, body }))
    }
}

/// A message's fixed fields and its payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageRecord<'a> {
    pub(crate) channel_id: u16,
    pub(crate) sequence: u32,
    pub(crate) log_time: u64,
    pub(crate) publish_time: u64,
    pub(crate) payload: &'a [u8],
}

/// Bytes of a message record in front of its payload.
const MESSAGE_FIXED_LEN: usize = 22;

impl<'a> MessageRecord<'a> {
    #[inline]
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, DamageKind> {
        let Some((fixed, payload)) = body.split_first_chunk::<MESSAGE_FIXED_LEN>() else {
            return Err(DamageKind::Truncated {
                what: "message",
                needed: MESSAGE_FIXED_LEN as u64,
                available: body.len() as u64,
            });
        };
        let [c0, c1, s0, s1, s2, s3, l0, l1, l2, l3, l4, l5, l6, l7, published @ ..] = *fixed;
        Ok(Self {
            channel_id: u16::from_le_bytes([c0, c1]),
            sequence: u32::from_le_bytes([s0, s1, s2, s3]),
            log_time: u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]),
            publish_time: u64::from_le_bytes(published),
            payload,
        })
    }
}

/// A schema's fields.
#[derive(Debug)]
pub(crate) struct SchemaRecord<'a> {
    pub(crate) id: u16,
    pub(crate) name: Cow<'a, str>,
    pub(crate) encoding: Cow<'a, str>,
    pub(crate) text: &'a [u8],
}

impl<'a> SchemaRecord<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, DamageKind> {
        let mut fields = Fields(body);
        Ok(Self {
            id: fields.u16()?,
            name: fields.text()?,
            encoding: fields.text()?,
            text: fields.bytes()?,
        })
    }
}

impl SchemaRecord<'_> {
    /// Whether `body` is a schema that could be declared, to the last byte.
    pub(crate) fn is_exact(body: &[u8]) -> bool {
        let mut fields = Fields(body);
        let (id, name, encoding) = (fields.u16(), fields.bytes(), fields.bytes());
        // Other encodings, such as that of Protocol Buffers, are no text.
        let is_text_in =
            |encoding: &[u8]| matches!(encoding, b"ros2msg" | b"ros1msg" | b"ros2idl" | b"omgidl");
        id.is_ok_and(|id| id != 0)
            && name.is_ok_and(is_name)
            && encoding.as_ref().is_ok_and(|encoding| str::from_utf8(encoding).is_ok())
            && fields.bytes().is_ok_and(|data| !encoding.is_ok_and(is_text_in) || is_text(data))
            && fields.0.is_empty()
    }
}

/// Whether these bytes are text. Other records, swallowed by a wrong length, are none.
fn is_text(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

/// Whether these bytes can be the name of a topic or type.
fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && str::from_utf8(bytes).is_ok_and(|name| !name.contains(char::is_control))
}

/// A channel's fields, with the one metadata entry that matters here.
#[derive(Debug)]
pub(crate) struct ChannelRecord<'a> {
    pub(crate) id: u16,
    pub(crate) schema_id: u16,
    pub(crate) topic: Cow<'a, str>,
    pub(crate) message_encoding: Cow<'a, str>,
    pub(crate) offered_qos_profiles: Cow<'a, str>,
}

impl<'a> ChannelRecord<'a> {
    /// Whether `body` is a channel, to the last byte.
    pub(crate) fn is_exact(body: &'a [u8]) -> bool {
        let mut fields = Fields(body);
        fields.u16().is_ok()
            && fields.u16().is_ok()
            && fields.bytes().is_ok_and(is_name)
            && fields.bytes().is_ok_and(|encoding| str::from_utf8(encoding).is_ok())
            && fields.bytes().is_ok()
            && fields.0.is_empty()
            && Self::parse_whole(body).is_ok_and(|(_, is_whole)| is_whole)
    }

    /// A channel whose metadata is broken is one all the same, with what can be read of that.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, DamageKind> {
        Self::parse_whole(body).map(|(channel, _)| channel)
    }

    /// The channel, and whether its metadata could be read to its end.
    fn parse_whole(body: &'a [u8]) -> Result<(Self, bool), DamageKind> {
        let mut fields = Fields(body);
        let (id, schema_id) = (fields.u16()?, fields.u16()?);
        let (topic, message_encoding) = (fields.text()?, fields.text()?);
        let stored = fields.bytes();
        let mut is_whole = stored.is_ok();
        let mut metadata = Fields(stored.unwrap_or(fields.0));
        let mut offered_qos_profiles = Cow::Borrowed("");
        while !metadata.0.is_empty() {
            let (Ok(key), Ok(value)) = (metadata.bytes(), metadata.bytes()) else {
                is_whole = false;
                break;
            };
            is_whole &= is_text(key) && is_text(value);
            if key == b"offered_qos_profiles" {
                offered_qos_profiles = String::from_utf8_lossy(value);
            }
        }
        Ok((Self { id, schema_id, topic, message_encoding, offered_qos_profiles }, is_whole))
    }
}

/// A chunk's fields in front of its stored bytes.
#[derive(Debug)]
pub(crate) struct ChunkHeader {
    /// The first and last log time as the writer has them.
    pub(crate) span: (u64, u64),
    pub(crate) len: u64,
    pub(crate) crc: u32,
    pub(crate) compression: String,
    pub(crate) stored_len: u64,
    /// How many bytes of the record's body lie in front of the stored ones.
    pub(crate) header_len: usize,
}

impl ChunkHeader {
    /// Where the stored bytes end, counted from the start of the record's body: the length of the
    /// body when nothing is wrong with it.
    pub(crate) fn body_len(&self) -> u64 {
        (self.header_len as u64).saturating_add(self.stored_len)
    }
}

impl ChunkHeader {
    /// The longest header that is looked at: the fixed fields and a compression's name.
    pub(crate) const MAX_LEN: usize = 8 + 8 + 8 + 4 + 4 + 64 + 8;

    pub(crate) fn parse(body_start: &[u8]) -> Result<Self, DamageKind> {
        let mut fields = Fields(body_start);
        let span = (fields.u64()?, fields.u64()?);
        let (len, crc) = (fields.u64()?, fields.u32()?);
        let compression = fields.string()?;
        let stored_len = fields.u64()?;
        let header_len = body_start.len() - fields.0.len();
        Ok(Self { span, len, crc, compression, stored_len, header_len })
    }
}

/// The profile and library that a header record names.
pub(crate) fn file_header(body: &[u8]) -> Result<(String, String), DamageKind> {
    let mut fields = Fields(body);
    Ok((fields.string()?, fields.string()?))
}

/// Whether a record of this kind may stand in a file at all; private ones start at 0x80.
pub(crate) fn is_known(opcode: u8) -> bool {
    (op::HEADER..=op::DATA_END).contains(&opcode) || opcode >= 0x80
}

/// The compression of a chunk by its name in the file.
pub(crate) fn compression_named(name: &str) -> Option<Compression> {
    match name {
        "" | "none" => Some(Compression::None),
        "lz4" => Some(Compression::Lz4),
        "zstd" => Some(Compression::Zstd),
        _ => None,
    }
}

/// The fields of a record, read from front to back.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DamageKind> {
        let Some((field, rest)) = self.0.split_first_chunk::<N>() else {
            return Err(DamageKind::Truncated {
                what: "field",
                needed: N as u64,
                available: self.0.len() as u64,
            });
        };
        self.0 = rest;
        Ok(*field)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, DamageKind> {
        self.fixed().map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, DamageKind> {
        self.fixed().map(u32::from_le_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64, DamageKind> {
        self.fixed().map(u64::from_le_bytes)
    }

    /// A run of bytes behind its 32-bit length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], DamageKind> {
        let len = self.u32()?;
        let Some((field, rest)) = self.0.split_at_checked(len as usize) else {
            return Err(DamageKind::Truncated {
                what: "field",
                needed: len.into(),
                available: self.0.len() as u64,
            });
        };
        self.0 = rest;
        Ok(field)
    }

    /// Text behind its length; bytes that are not UTF-8 become U+FFFD.
    pub(super) fn text(&mut self) -> Result<Cow<'a, str>, DamageKind> {
        self.bytes().map(String::from_utf8_lossy)
    }

    /// As [`Self::text`], of its own.
    pub(super) fn string(&mut self) -> Result<String, DamageKind> {
        self.text().map(Cow::into_owned)
    }
}

//! The least that a pass over a recording can cost.

use std::{io::Read, path::PathBuf};

use crate::{Outcome, Tally, passes::read_into};

const MAGIC_LEN: usize = 8;
const MESSAGE: u8 = 0x05;
const CHUNK: u8 = 0x06;
const DATA_END: u8 = 0x0f;
/// Channel, sequence, log time and publish time in front of a payload.
const MESSAGE_HEADER_LEN: usize = 2 + 4 + 8 + 8;
/// First and last time in front of a chunk's size.
const CHUNK_TIMES_LEN: usize = 8 + 8;

/// Inflates each chunk of each file once into a kept buffer and steps over its records: no
/// merging by time, no check, no word about what is wrong.
///
/// # Errors
///
/// When a file is not as the writer of the data makes them.
pub fn plain_walk(files: &[PathBuf]) -> Outcome<Tally> {
    let mut tally = Tally::default();
    each_chunk(files, |records, _crc| {
        count(records, &mut tally);
        Ok(())
    })?;
    Ok(tally)
}

/// Inflates each chunk of each file once into a kept buffer and checks its CRC, and looks at no
/// message: what a pass that checks chunks cannot do without. Returns how many bytes were checked.
///
/// # Errors
///
/// When a file is not as the writer of the data makes them, or a CRC is wrong or missing.
pub fn inflate_and_check(files: &[PathBuf]) -> Outcome<u64> {
    let mut bytes = 0;
    each_chunk(files, |records, crc| {
        bytes += records.len() as u64;
        if crc32fast::hash(records) == crc { Ok(()) } else { Err("a CRC that is wrong".into()) }
    })?;
    Ok(bytes)
}

/// The records and the CRC of each chunk of each file.
fn each_chunk(files: &[PathBuf], mut visit: impl FnMut(&[u8], u32) -> Outcome<()>) -> Outcome<()> {
    let mut zstd = zstd::bulk::Decompressor::new()?;
    let (mut bytes, mut inflated) = (Vec::new(), Vec::new());
    for file in files {
        read_into(&mut bytes, file)?;
        let mut rest = bytes.get(MAGIC_LEN..).ok_or("a file without its magic")?;
        while let Some((op, body, behind)) = record(rest) {
            match op {
                DATA_END => break,
                CHUNK => {
                    let (records, crc) = inflate(body, &mut zstd, &mut inflated)?;
                    visit(records, crc)?;
                }
                _ => {}
            }
            rest = behind;
        }
    }
    Ok(())
}

fn count(mut records: &[u8], tally: &mut Tally) {
    while let Some((op, body, behind)) = record(records) {
        if op == MESSAGE
            && let Some(payload) = body.get(MESSAGE_HEADER_LEN..)
        {
            tally.add(payload);
        }
        records = behind;
    }
}

/// The first record's opcode and body, and what lies behind it.
fn record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (op, rest) = bytes.split_first()?;
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (body, behind) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    Some((*op, body, behind))
}

/// The records of a chunk, as they are stored or inflated into `buffer`, and their CRC.
fn inflate<'b>(
    chunk: &'b [u8],
    zstd: &mut zstd::bulk::Decompressor<'_>,
    buffer: &'b mut Vec<u8>,
) -> Outcome<(&'b [u8], u32)> {
    let short = || "a chunk that is too short";
    let rest = chunk.get(CHUNK_TIMES_LEN..).ok_or_else(short)?;
    let (len, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    let len = usize::try_from(u64::from_le_bytes(*len))?;
    let (crc, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let crc = u32::from_le_bytes(*crc);
    let (name_len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let name_len = usize::try_from(u32::from_le_bytes(*name_len))?;
    let (name, rest) = rest.split_at_checked(name_len).ok_or_else(short)?;
    let (_stored_len, stored) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    buffer.clear();
    match name {
        b"" => return Ok((stored, crc)),
        b"zstd" => {
            buffer.reserve(len);
            zstd.decompress_to_buffer(stored, buffer)?;
        }
        b"lz4" => {
            buffer.reserve(len);
            lz4_flex::frame::FrameDecoder::new(stored).read_to_end(buffer)?;
        }
        other => return Err(format!("{other:?} is no compression of the data").into()),
    }
    Ok((buffer, crc))
}

//! The least that a pass over a recording can cost.

use std::{io::Read, path::PathBuf};

use crate::{Outcome, Tally, passes::read_into};

const MAGIC_LEN: usize = 8;
const MESSAGE: u8 = 0x05;
const CHUNK: u8 = 0x06;
const DATA_END: u8 = 0x0f;
/// Channel, sequence, log time and publish time in front of a payload.
const MESSAGE_HEADER_LEN: usize = 2 + 4 + 8 + 8;
/// First and last time, size and CRC in front of a chunk's compression.
const CHUNK_HEADER_LEN: usize = 8 + 8 + 8 + 4;

/// Inflates each chunk of each file once into a kept buffer and steps over its records: no
/// merging by time, no check, no word about what is wrong.
///
/// # Errors
///
/// When a file is not as the writer of the data makes them.
pub fn plain_walk(files: &[PathBuf]) -> Outcome<Tally> {
    let mut tally = Tally::default();
    let mut zstd = zstd::bulk::Decompressor::new()?;
    let (mut bytes, mut inflated) = (Vec::new(), Vec::new());
    for file in files {
        read_into(&mut bytes, file)?;
        let mut rest = bytes.get(MAGIC_LEN..).ok_or("a file without its magic")?;
        while let Some((op, body, behind)) = record(rest) {
            match op {
                DATA_END => break,
                CHUNK => {
                    let records = inflate(body, &mut zstd, &mut inflated)?;
                    count(records, &mut tally);
                }
                _ => {}
            }
            rest = behind;
        }
    }
    Ok(tally)
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

/// The records of a chunk: as they are stored, or inflated into `buffer`.
fn inflate<'b>(
    chunk: &'b [u8],
    zstd: &mut zstd::bulk::Decompressor<'_>,
    buffer: &'b mut Vec<u8>,
) -> Outcome<&'b [u8]> {
    let short = || "a chunk that is too short";
    let (times, rest) = chunk.split_at_checked(CHUNK_HEADER_LEN).ok_or_else(short)?;
    let len = times.get(16..).and_then(<[u8]>::first_chunk::<8>).ok_or_else(short)?;
    let len = usize::try_from(u64::from_le_bytes(*len))?;
    let (name_len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let name_len = usize::try_from(u32::from_le_bytes(*name_len))?;
    let (name, rest) = rest.split_at_checked(name_len).ok_or_else(short)?;
    let (_stored_len, stored) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    buffer.clear();
    match name {
        b"" => return Ok(stored),
        b"zstd" => {
            buffer.reserve(len);
            zstd.decompress_to_buffer(stored, buffer)?;
        }
        b"lz4" => {
            lz4_flex::frame::FrameDecoder::new(stored).read_to_end(buffer)?;
        }
        other => return Err(format!("{other:?} is no compression of the data").into()),
    }
    Ok(buffer)
}

use std::io::Read;

use crate::{Compression, DamageKind};

/// Inflates chunks, one at a time, into a buffer that its caller reuses.
#[derive(Default)]
pub(crate) struct Inflater {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflater").finish_non_exhaustive()
    }
}

impl Inflater {
    /// Fills `buffer` with the `declared` bytes that `stored` inflates to.
    ///
    /// `has_crc` says that the caller compares a checksum of them with the writer's.
    /// The buffer is reserved for the declared size, never grown past it, and only the part that
    /// is written is touched: a small file that declares much costs address space, no memory.
    pub(crate) fn inflate(
        &mut self,
        compression: Compression,
        stored: &[u8],
        declared: u64,
        has_crc: bool,
        limit: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<(), DamageKind> {
        buffer.clear();
        let wanted = match usize::try_from(declared) {
            Ok(wanted) if declared <= limit => wanted,
            _ => return Err(DamageKind::ChunkTooLarge { declared, limit }),
        };
        let failed = |reason: std::io::Error| DamageKind::Inflate {
            compression: compression.as_str(),
            reason: reason.to_string(),
        };
        match compression {
            Compression::None => buffer.extend_from_slice(stored),
            Compression::Zstd => {
                // What one frame says of itself is known before anything is reserved.
                let said = zstd::zstd_safe::get_frame_content_size(stored).ok().flatten();
                let is_one = || {
                    zstd::zstd_safe::find_frame_compressed_size(stored)
                        .is_ok_and(|len| len == stored.len())
                };
                if let Some(found) = said.filter(|said| *said < declared && is_one()) {
                    return Err(DamageKind::ChunkSize { declared, found });
                }
                buffer.reserve_exact(wanted);
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(zstd::bulk::Decompressor::new().map_err(failed)?),
                };
                // Writes into the spare capacity and refuses to go past it.
                zstd.decompress_to_buffer(stored, buffer).map_err(failed)?;
            }
            Compression::Lz4 => {
                // LZ4 cannot expand a byte to more than 255.
                buffer.reserve_exact(wanted.min(stored.len().saturating_mul(255)));
                let outcome = lz4_flex::frame::FrameDecoder::new(stored)
                    .take(declared.saturating_add(1))
                    .read_to_end(buffer);
                // What is wrong behind the last byte, such as a missing end mark, is no matter
                // where a checksum says that the bytes are right.
                if let Err(error) = outcome
                    && !(has_crc && buffer.len() as u64 == declared)
                {
                    return Err(failed(error));
                }
            }
        }
        if buffer.len() as u64 != declared {
            return Err(DamageKind::ChunkSize { declared, found: buffer.len() as u64 });
        }
        Ok(())
    }

    /// Whether `stored` is the first part of what inflates to `declared` bytes, as far as it goes:
    /// of a chunk that is still being written, and not one with other bytes behind it.
    pub(crate) fn is_first_part(
        compression: Compression,
        stored: &[u8],
        declared: u64,
        limit: u64,
    ) -> bool {
        let outcome = match compression {
            Compression::None => return true,
            Compression::Zstd => zstd::stream::read::Decoder::with_buffer(stored)
                .and_then(|decoder| drain(decoder, declared.min(limit))),
            Compression::Lz4 => {
                drain(lz4_flex::frame::FrameDecoder::new(stored), declared.min(limit))
            }
        };
        match outcome {
            // A frame may be cut between two of its blocks.
            Ok(inflated) => inflated < declared,
            Err(error) => error.kind() == std::io::ErrorKind::UnexpectedEof,
        }
    }
}

fn drain(from: impl Read, limit: u64) -> std::io::Result<u64> {
    std::io::copy(&mut from.take(limit.saturating_add(1)), &mut std::io::sink())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate(
        compression: Compression,
        stored: &[u8],
        declared: u64,
    ) -> Result<Vec<u8>, DamageKind> {
        let mut buffer = Vec::new();
        Inflater::default()
            .inflate(compression, stored, declared, false, 1 << 20, &mut buffer)
            .map(|()| buffer)
    }

    #[test]
    fn a_chunk_past_the_limit_is_refused_before_it_is_allocated() {
        let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 3).unwrap();
        assert_eq!(
            inflate(Compression::Zstd, &bomb, 64 << 30),
            Err(DamageKind::ChunkTooLarge { declared: 64 << 30, limit: 1 << 20 })
        );
    }

    #[test]
    fn a_bomb_that_declares_little_is_stopped_at_what_it_declares() {
        let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 3).unwrap();
        assert!(matches!(
            inflate(Compression::Zstd, &bomb, 1000),
            Err(DamageKind::Inflate { compression: "zstd", .. })
        ));
    }

    #[test]
    fn a_size_that_is_declared_wrong_is_found() {
        let stored = zstd::bulk::compress(b"abc", 1).unwrap();
        assert_eq!(
            inflate(Compression::Zstd, &stored, 4),
            Err(DamageKind::ChunkSize { declared: 4, found: 3 })
        );
        assert_eq!(inflate(Compression::Zstd, &stored, 3).unwrap(), b"abc");
        assert_eq!(
            inflate(Compression::None, b"abc", 999),
            Err(DamageKind::ChunkSize { declared: 999, found: 3 })
        );
    }

    #[test]
    fn a_part_of_a_chunk_is_told_from_one_with_other_bytes_behind_it() {
        let noise: Vec<u8> = (0..90_000u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        std::io::Write::write_all(&mut lz4, &noise).unwrap();
        for (compression, stored) in [
            (Compression::Zstd, zstd::bulk::compress(&noise, 1).unwrap()),
            (Compression::Lz4, lz4.finish().unwrap()),
        ] {
            let len = noise.len() as u64;
            for cut in (0..stored.len()).step_by(997) {
                assert!(
                    Inflater::is_first_part(compression, &stored[..cut], len, 1 << 30),
                    "{compression:?} at {cut}"
                );
            }
            let other = [&stored[..stored.len() / 2], &vec![0xA5; 400_000][..]].concat();
            assert!(!Inflater::is_first_part(compression, &other, len, 1 << 30));
        }
    }

    #[test]
    fn a_frame_without_its_end_is_left_to_the_checksum() {
        use std::io::Write;
        let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
        let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(b"some words").unwrap();
        let mut stored = encoder.finish().unwrap();
        stored.pop();
        let mut buffer = Vec::new();
        let mut inflate = |has_crc| {
            Inflater::default().inflate(
                Compression::Lz4,
                &stored,
                10,
                has_crc,
                1 << 20,
                &mut buffer,
            )
        };
        assert!(inflate(false).is_err());
        assert_eq!(inflate(true), Ok(()));
        assert_eq!(buffer, b"some words");
    }

    #[test]
    fn bytes_that_are_no_frame_are_refused() {
        for compression in [Compression::Zstd, Compression::Lz4] {
            assert!(inflate(compression, b"not a frame at all", 100).is_err());
        }
    }
}

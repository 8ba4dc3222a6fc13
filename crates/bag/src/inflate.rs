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
    /// The buffer is reserved for the declared size, never grown past it, and only the part that
    /// is written is touched: a small file that declares much costs address space, no memory.
    pub(crate) fn inflate(
        &mut self,
        compression: Compression,
        stored: &[u8],
        declared: u64,
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
                lz4_flex::frame::FrameDecoder::new(stored)
                    .take(declared.saturating_add(1))
                    .read_to_end(buffer)
                    .map_err(failed)?;
            }
        }
        if buffer.len() as u64 != declared {
            return Err(DamageKind::ChunkSize { declared, found: buffer.len() as u64 });
        }
        Ok(())
    }
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
            .inflate(compression, stored, declared, 1 << 20, &mut buffer)
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
    fn bytes_that_are_no_frame_are_refused() {
        for compression in [Compression::Zstd, Compression::Lz4] {
            assert!(inflate(compression, b"not a frame at all", 100).is_err());
        }
    }
}

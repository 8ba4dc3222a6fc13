//! What the pass does with messages and declarations outside chunks.

use std::sync::Arc;

use ros2_memory_time::LogTime;

use super::{
    record::{MessageRecord, opcode},
    scan::Pass,
    summary::each_declaration,
    tally::Tally,
};
use crate::{BagError, Chunk, Compression, DamageKind, Verdict};

/// Messages outside chunks are gathered into runs of about this many bytes, so that one of them
/// can be reached without walking the whole file.
const RUN_BYTES: u64 = 1 << 20;

/// Messages outside chunks that follow each other.
pub(super) struct Run {
    start: u64,
    end: u64,
    tally: Tally,
}

impl Pass<'_> {
    pub(super) fn declaration(
        &mut self,
        op: u8,
        body_at: u64,
        body_len: u64,
    ) -> Result<(), BagError> {
        // Behind the data section stands the summary, which only repeats.
        if self.is_behind_data && op != opcode::HEADER {
            return Ok(());
        }
        // A declaration longer than a chunk may be is damage, not a schema.
        let len = match usize::try_from(body_len) {
            Ok(len) if body_len <= self.options.max_chunk_bytes => len,
            _ => {
                let limit = self.options.max_chunk_bytes;
                self.note(body_at, DamageKind::ChunkTooLarge { declared: body_len, limit });
                return Ok(());
            }
        };
        let body = self.window.bytes(body_at, len)?;
        let before = self.registry.changes();
        let declared = self.registry.declare(Arc::make_mut(&mut self.contents.declared), op, body);
        if let Err(kind) = declared {
            self.note(body_at, kind);
            return self.declare_from_summary();
        }
        if self.registry.changes() > before {
            // A run has one meaning for each number, so that it can be read by itself.
            self.close_run();
        }
        Ok(())
    }

    pub(super) fn loose_message(
        &mut self,
        position: u64,
        body_at: u64,
        body_len: u64,
    ) -> Result<(), BagError> {
        let end = body_at + body_len;
        let len = match usize::try_from(body_len) {
            Ok(len) if end - position <= self.options.max_chunk_bytes => len,
            _ => {
                let (declared, limit) = (end - position, self.options.max_chunk_bytes);
                self.note(body_at, DamageKind::ChunkTooLarge { declared, limit });
                return Ok(());
            }
        };
        if self.run.as_ref().is_some_and(|run| end - run.start > RUN_BYTES) {
            self.close_run();
        }
        let id = MessageRecord::parse(self.window.bytes(body_at, len)?).map(|m| m.channel_id);
        if id.is_ok_and(|id| self.registry.channel(id).is_none()) {
            self.declare_from_summary()?;
        }
        let message = MessageRecord::parse(self.window.bytes(body_at, len)?);
        let run = self.run.get_or_insert_with(|| Run {
            start: position,
            end: position,
            tally: Tally::default(),
        });
        match message {
            Ok(message) => {
                let seen = run.tally.add(&self.registry, &message);
                run.end = end;
                if let Some(message) = seen {
                    self.visitor.message(&self.contents, &message);
                    let time = message.log_time.as_ns();
                    self.has_loose = true;
                    self.see_time(time);
                }
            }
            Err(kind) => self.note(body_at, kind),
        }
        Ok(())
    }

    pub(super) fn close_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let stored_len = run.end - run.start;
        self.finish_chunk(
            run.tally,
            Chunk {
                offset: run.start,
                stored_len,
                len: stored_len,
                compression: Compression::None,
                crc: 0,
                verdict: Verdict::Unchecked,
                is_loose: true,
                index_len: 0,
                is_sorted: true,
                first: LogTime::ZERO,
                last: LogTime::ZERO,
                channels: Vec::new(),
            },
        );
    }

    /// Takes in what the summary declares and nothing before did: a writer declares a channel in
    /// the chunk with its first message, and when that chunk is lost the others need it.
    pub(super) fn declare_from_summary(&mut self) -> Result<(), BagError> {
        if self.is_summary_declared {
            return Ok(());
        }
        self.is_summary_declared = true;
        let Some(footer) = self.good_summary()? else { return Ok(()) };
        self.close_run();
        let declared = Arc::make_mut(&mut self.contents.declared);
        let registry = &mut self.registry;
        each_declaration(&mut self.window, footer, self.options, |op, body| {
            // A summary that is damaged too declares what is whole in it.
            let _left_out = registry.declare_missing(declared, op, body);
        })
    }
}

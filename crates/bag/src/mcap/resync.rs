//! Finding the next whole record behind bytes that are none.
//!
//! A chunk proves itself: its lengths agree, it inflates, its checksum fits where it has one, and
//! its records can be walked from end to end. A record outside chunks is taken for one when its
//! fields fit what is known of the file and another record follows it; where a file keeps its
//! messages in chunks it is not, since the bytes of a lost chunk look the same. What the summary's
//! index says is a hint and no more.
//!
//! Each byte is searched once, whatever the number of breaks, and what is spent on bytes that
//! look like a record and are none is bounded by the size of the file.

use ros2_memory_time::LogTime;

use super::{
    chunk::opened,
    plausible::exact_chunk,
    record::{
        ChannelRecord, DATA_END_LEN, HEADER_LEN, MAGIC, MessageRecord, Records, SchemaRecord,
        compression_named, header, opcode,
    },
    scan::Pass,
    summary::{self, DATA_END_RECORD},
};
use crate::{BagError, Chunk, Compression, DamageKind, Verdict, bag::MAX_PLAUSIBLE_NS};

/// How many bytes are searched in one step.
const SEARCH_BYTES: usize = 1 << 16;
/// How many bytes may be spent on failed tries: this many times the size of the file, and more
/// for small ones.
const MAX_SPENT_TIMES: u64 = 4;
const MAX_SPENT_MORE: u64 = 64 << 20;
/// What looking at a record's fields counts for.
const LOOK_BYTES: u64 = 512;
/// A message outside chunks with a time further than this from the others is not believed.
const MAX_APART_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;
/// The shortest chunk record: its fixed fields.
const MIN_CHUNK_LEN: u64 = 8 + 8 + 8 + 4 + 4 + 8;

/// What is known from earlier searches of the same pass.
#[derive(Debug, Default)]
pub(super) struct Search {
    last: Option<Searched>,
    /// How many bytes were spent on what turned out to be no record.
    spent: u64,
    is_given_up: bool,
    /// Where zeros begin that go up to the end of the file.
    zeros_at: Option<u64>,
    /// Where the data section ends at the latest.
    limit: Option<u64>,
    /// Where the index has what looks like a chunk, ascending.
    hints: Option<Vec<u64>>,
    found: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Searched {
    rules: Rules,
    hit: Option<u64>,
    /// How often a declaration had changed something until then.
    changes: u64,
}

/// Which records count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rules {
    from: u64,
    /// Records outside chunks count from here on.
    loose_from: u64,
}

impl Pass<'_> {
    /// The next whole record at or behind `from`, in the data section. Before `loose_from` only
    /// chunks count.
    pub(super) fn find(&mut self, from: u64, loose_from: u64) -> Result<Option<u64>, BagError> {
        let takes_loose = self.has_loose || !self.has_chunks;
        let loose_from = if takes_loose { loose_from.max(from) } else { u64::MAX };
        let rules = Rules { from, loose_from };
        // What is a record depends on which channels are known.
        let changes = self.registry.changes();
        let last = self.search.last.filter(|last| last.changes == changes);
        if let Some(last) = last.filter(|last| last.holds_for(rules)) {
            return Ok(last.hit);
        }
        let hit = self.search_from(rules)?;
        self.search.last = Some(Searched { rules, hit, changes: self.registry.changes() });
        Ok(hit)
    }

    fn search_from(&mut self, rules: Rules) -> Result<Option<u64>, BagError> {
        // A message outside chunks counts when its channel is known.
        self.declare_from_summary()?;
        let limit = self.data_limit()?;
        let hint = self.hint_behind(rules.from)?;
        let to = hint.unwrap_or(limit);
        let mut at = rules.from;
        while at < to && !self.search.is_given_up {
            let n = usize::try_from(to - at).unwrap_or(usize::MAX).min(SEARCH_BYTES);
            let room = limit.saturating_sub(at);
            // The header of a record at the last place reaches over it.
            let load = (n as u64 + HEADER_LEN as u64 - 1).min(room);
            let mut found = std::mem::take(&mut self.search.found);
            found.clear();
            let block = self.window.bytes(at, usize::try_from(load).unwrap_or_default())?;
            let is_loose = rules.loose_from < at + n as u64;
            gather(block, n, room, is_loose, &mut found);
            let whole = self.first_whole(at, &found, rules)?;
            self.search.found = found;
            if whole.is_some() {
                return Ok(whole);
            }
            at += n as u64;
        }
        Ok(hint)
    }

    /// The first of the places behind `base` that hold a whole record.
    fn first_whole(
        &mut self,
        base: u64,
        places: &[usize],
        rules: Rules,
    ) -> Result<Option<u64>, BagError> {
        let allowed = self.may_be_spent();
        for place in places {
            let at = base + *place as u64;
            if self.search.spent > allowed {
                self.search.is_given_up = true;
                let tried = self.search.spent;
                self.note(at, DamageKind::SearchGivenUp { tried, allowed });
                break;
            }
            self.search.spent += LOOK_BYTES;
            let Some((op, body_len)) = header(self.head(at)?) else { continue };
            let is_whole = match op {
                opcode::CHUNK => self.is_whole_chunk(at)?,
                _ if self.head(at)?.starts_with(MAGIC) => self.is_second_file(at)?,
                _ if at >= rules.loose_from => self.is_whole_loose(at, op, body_len)?,
                _ => false,
            };
            if is_whole {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// How many bytes may be spent on what turns out to be no record.
    fn may_be_spent(&self) -> u64 {
        self.len.saturating_mul(MAX_SPENT_TIMES).saturating_add(MAX_SPENT_MORE)
    }

    /// Spends bytes on a look at what may be no record, while there are any left.
    pub(super) fn may_spend(&mut self, bytes: u64) -> bool {
        let is_left = self.search.spent <= self.may_be_spent();
        if is_left {
            self.search.spent = self.search.spent.saturating_add(bytes);
        }
        is_left
    }

    /// Whether a chunk stands at `at` that proves itself.
    pub(super) fn is_whole_chunk(&mut self, at: u64) -> Result<bool, BagError> {
        let Some(header) = exact_chunk(self.head(at)?) else { return Ok(false) };
        let Some(compression) = compression_named(&header.compression) else { return Ok(false) };
        let offset = at + (HEADER_LEN + header.header_len) as u64;
        if offset.saturating_add(header.stored_len) > self.len {
            return Ok(false);
        }
        let chunk = Chunk {
            offset,
            stored_len: header.stored_len,
            len: header.len,
            compression,
            crc: header.crc,
            verdict: Verdict::Unchecked,
            is_loose: false,
            index_len: 0,
            is_sorted: true,
            first: LogTime::ZERO,
            last: LogTime::ZERO,
            channels: Vec::new(),
        };
        if compression == Compression::Zstd {
            let peeked = usize::try_from(chunk.stored_len).unwrap_or(usize::MAX).min(FRAME_LEN);
            let frame = self.window.peek(chunk.offset, peeked, &mut self.scratch)?;
            let said = zstd::zstd_safe::get_frame_content_size(frame);
            // Refused before anything is inflated, so that a wrong size costs nothing.
            if !said.is_ok_and(|said| said.is_none_or(|said| said == chunk.len)) {
                return Ok(false);
            }
        }
        if self.open_chunk(&chunk, false)?.is_err() {
            let made = match compression {
                Compression::None => 0,
                Compression::Lz4 => self.inflated.len() as u64,
                Compression::Zstd => chunk.len.min(self.options.max_chunk_bytes),
            };
            let spent = chunk.stored_len.saturating_add(made);
            self.search.spent = self.search.spent.saturating_add(spent);
            return Ok(false);
        }
        let (is_clean, len) = {
            let bytes = opened(&mut self.window, self.inflated, &chunk)?;
            (is_clean(bytes), bytes.len() as u64)
        };
        if !is_clean {
            self.search.spent = self.search.spent.saturating_add(chunk.stored_len + len);
        }
        Ok(is_clean)
    }

    /// Whether another file starts at `at`: with its header and a record behind it, since a copy of
    /// the first bytes of a file may lie in what was damaged.
    pub(super) fn is_second_file(&mut self, at: u64) -> Result<bool, BagError> {
        let behind = self.head(at)?.strip_prefix(MAGIC).unwrap_or_default();
        let body_start = behind.get(HEADER_LEN..).unwrap_or_default();
        let name_len = body_start.first_chunk().map(|len| u32::from_le_bytes(*len));
        let end = match header(behind) {
            Some((opcode::HEADER, body_len))
                if name_len.is_some_and(|len| u64::from(len) + 8 <= body_len) =>
            {
                at.saturating_add((MAGIC.len() + HEADER_LEN) as u64).saturating_add(body_len)
            }
            _ => return Ok(false),
        };
        Ok(end == self.len || self.leads_on(end)?)
    }

    /// A record that is broken and yet a message outside chunks says that the file has such.
    pub(super) fn see_loose(&mut self, at: u64) -> Result<(), BagError> {
        let body = self.head(at)?.get(HEADER_LEN..).unwrap_or_default();
        let message = MessageRecord::parse(body).ok().map(|m| (m.channel_id, m.log_time));
        let is_one = self.head(at)?.first() == Some(&opcode::MESSAGE)
            && message.is_some_and(|(id, time)| {
                self.registry.channel(id).is_some() && is_time_near(time, self.span)
            });
        self.has_loose |= is_one;
        Ok(())
    }

    /// Whether a record outside chunks stands at `at`, with another behind it.
    fn is_whole_loose(&mut self, at: u64, op: u8, body_len: u64) -> Result<bool, BagError> {
        let body_at = at + HEADER_LEN as u64;
        let end = body_at + body_len;
        let is_one = match op {
            opcode::MESSAGE => {
                let (registry, span) = (&self.registry, self.span);
                let body = self.window.peek(body_at, MESSAGE_LEN, &mut self.scratch)?;
                MessageRecord::parse(body).is_ok_and(|message| {
                    registry.channel(message.channel_id).is_some()
                        && is_time_near(message.log_time, span)
                })
            }
            opcode::SCHEMA | opcode::CHANNEL if body_len <= self.options.max_chunk_bytes => {
                let len = usize::try_from(body_len).unwrap_or(usize::MAX);
                self.search.spent = self.search.spent.saturating_add(body_len);
                let body = self.window.peek(body_at, len, &mut self.scratch)?;
                if op == opcode::SCHEMA {
                    SchemaRecord::is_exact(body)
                } else {
                    ChannelRecord::is_exact(body)
                }
            }
            _ => false,
        };
        Ok(is_one && (self.leads_on_behind(at, op, end)? || end >= self.zeros_at()?))
    }

    /// Where the data section ends at the latest: in front of a summary that starts where one
    /// should, else at the footer, else at the end of the file.
    pub(super) fn data_limit(&mut self) -> Result<u64, BagError> {
        if let Some(limit) = self.search.limit {
            return Ok(limit);
        }
        let limit = match self.footer {
            None => self.len,
            Some(footer) => {
                let before = footer.summary().and_then(|start| start.checked_sub(DATA_END_RECORD));
                match before {
                    Some(at) if self.is_data_end(at)? => at,
                    _ => footer.at,
                }
            }
        };
        self.search.limit = Some(limit);
        Ok(limit)
    }

    fn is_data_end(&mut self, at: u64) -> Result<bool, BagError> {
        let bytes = self.window.peek(at, HEADER_LEN, &mut self.scratch)?;
        Ok(header(bytes) == Some((opcode::DATA_END, DATA_END_LEN)))
    }

    /// Where zeros begin that go up to the end of a file without its ending.
    fn zeros_at(&mut self) -> Result<u64, BagError> {
        if let Some(at) = self.search.zeros_at {
            return Ok(at);
        }
        let mut end = if self.footer.is_some() { 0 } else { self.len };
        let mut at = self.len;
        while end > 0 {
            let len = usize::try_from(end).unwrap_or(usize::MAX).min(SEARCH_BYTES);
            let start = end - len as u64;
            let bytes = self.window.peek(start, len, &mut self.scratch)?;
            if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
                at = start + last as u64 + 1;
                break;
            }
            at = start;
            end = start;
        }
        self.search.zeros_at = Some(at);
        Ok(at)
    }

    /// The next place where the summary's index has a chunk and the file has what looks like one.
    fn hint_behind(&mut self, from: u64) -> Result<Option<u64>, BagError> {
        let hints = match self.search.hints.take() {
            Some(hints) => hints,
            None => self.hints()?,
        };
        let next = hints.partition_point(|start| *start < from);
        let hint = hints.get(next).copied();
        self.search.hints = Some(hints);
        Ok(hint)
    }

    /// Where the index has chunks and the file has what looks like one. Each is looked at once,
    /// whatever the number of breaks.
    fn hints(&mut self) -> Result<Vec<u64>, BagError> {
        let end = self.footer.map_or(0, |footer| footer.at);
        let mut hints = self.indexed_chunks()?.to_vec();
        let mut result = Ok(());
        hints.retain(|at| {
            *at < end
                && result.is_ok()
                && match self.head(*at) {
                    Ok(head) => head.first() == Some(&opcode::CHUNK) && exact_chunk(head).is_some(),
                    Err(error) => {
                        result = Err(error);
                        false
                    }
                }
        });
        result.map(|()| hints)
    }

    /// A whole chunk of the summary's index between `position` and `next`, as long as looking for
    /// such was not in vain too often.
    pub(super) fn indexed_inside(
        &mut self,
        position: u64,
        next: u64,
    ) -> Result<Option<u64>, BagError> {
        let indexed = self.indexed_chunks()?;
        let first = indexed.partition_point(|start| *start <= position);
        let inside = indexed.get(first).copied().filter(|start| *start < next);
        match inside {
            Some(at) if self.may_spend(LOOK_BYTES) && self.is_whole_chunk(at)? => Ok(Some(at)),
            _ => Ok(None),
        }
    }

    /// Where the summary's index has chunks, ascending; inside the data section only.
    pub(super) fn indexed_chunks(&mut self) -> Result<&[u64], BagError> {
        if self.indexed.is_none() {
            self.indexed = Some(match self.good_summary()? {
                Some(footer) => summary::chunk_index(&mut self.window, footer)?,
                None => Vec::new(),
            });
        }
        Ok(self.indexed.as_deref().unwrap_or_default())
    }
}

impl Searched {
    /// Whether a search under `rules` would find the same.
    fn holds_for(&self, rules: Rules) -> bool {
        let is_behind =
            rules.from >= self.rules.from && self.hit.is_none_or(|hit| rules.from <= hit);
        let same_loose = rules.loose_from == self.rules.loose_from
            || (rules.loose_from <= rules.from && self.rules.loose_from <= rules.from);
        is_behind && same_loose
    }
}

/// The longest header of a frame of Zstandard.
const FRAME_LEN: usize = 18;
/// Bytes of a message record in front of its payload.
const MESSAGE_LEN: usize = 22;

/// Gathers the places among the first `n` bytes of `block` where a record may start that ends
/// within `room` bytes.
fn gather(block: &[u8], n: usize, room: u64, is_loose: bool, found: &mut Vec<usize>) {
    let mut consider = |at: usize| {
        let Some(rest) = block.get(at..) else { return };
        let Some((op, len)) = header(rest) else { return };
        let left = room.saturating_sub((at + HEADER_LEN) as u64);
        let least = match op {
            opcode::CHUNK => MIN_CHUNK_LEN,
            opcode::MESSAGE => MESSAGE_LEN as u64,
            opcode::SCHEMA => 2 + 4 + 4 + 4,
            opcode::CHANNEL => 2 + 2 + 4 + 4 + 4,
            _ => {
                if rest.starts_with(MAGIC) {
                    found.push(at);
                }
                return;
            }
        };
        if (least..=left).contains(&len) {
            found.push(at);
        }
    };
    let first = MAGIC.first().copied().unwrap_or_default();
    let searched = block.get(..n.min(block.len())).unwrap_or_default();
    if !is_loose {
        memchr::memchr2_iter(opcode::CHUNK, first, searched).for_each(consider);
        return;
    }
    let is_start = |byte: u8| byte.wrapping_sub(opcode::SCHEMA) < 4 || byte == first;
    for (number, part) in searched.chunks(PART).enumerate() {
        // Most parts have none: the whole part is looked at without a branch.
        if part.iter().fold(false, |any, byte| any | is_start(*byte)) {
            for (place, byte) in part.iter().enumerate() {
                if is_start(*byte) {
                    consider(number * PART + place);
                }
            }
        }
    }
}

/// How many bytes are looked at together.
const PART: usize = 64;

/// Whether a chunk's bytes are records from end to end, at least one of them with content.
fn is_clean(bytes: &[u8]) -> bool {
    let mut has_content = false;
    for record in Records::new(bytes) {
        let Ok(record) = record else { return false };
        let is_whole = match record.opcode {
            opcode::MESSAGE => MessageRecord::parse(record.body).is_ok(),
            opcode::SCHEMA => SchemaRecord::parse(record.body).is_ok(),
            opcode::CHANNEL => ChannelRecord::parse(record.body).is_ok(),
            0 => false,
            _ => continue,
        };
        if !is_whole {
            return false;
        }
        has_content = true;
    }
    has_content
}

/// Whether a message of this time may belong to a file with messages in `span`.
fn is_time_near(time: u64, span: Option<(u64, u64)>) -> bool {
    time <= MAX_PLAUSIBLE_NS
        && span.is_none_or(|(first, last)| {
            time >= first.saturating_sub(MAX_APART_NS) && time <= last.saturating_add(MAX_APART_NS)
        })
}

//! What is wrong with a file's own index and ending, although nothing here relies on them: other
//! readers do.
//!
//! The truth is what a pass over the file found, its [`Contents`]; the index is compared with
//! that, number by number.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    audit_chunks::ChunkAudit,
    index_record::{ChunkIndexRecord, StatisticsRecord, SummaryOffsetRecord},
    record::{self, FOOTER_LEN, HEADER_LEN, MAGIC, opcode},
    registry::Registry,
    summary::{self, Footer, each_record, read_footer},
};
use crate::{BagError, Contents, Ending, ReadOptions, Source, source::Window};

/// One thing that is wrong with the index or the ending of a file, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where in the file.
    pub offset: u64,
    /// What it is about.
    pub kind: FindingKind,
    /// Whom it concerns.
    pub severity: Severity,
    /// What is wrong, with both numbers.
    pub text: String,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// The footer and the magic behind it.
    Ending,
    /// Bytes behind the end.
    Trailing,
    /// The summary as a whole.
    Summary,
    /// The statistics.
    Statistics,
    /// The summary's index of chunks.
    ChunkIndex,
    /// The indexes of messages behind the chunks.
    MessageIndex,
    /// The summary's index of its own groups.
    SummaryOffset,
    /// Schemas and channels that the summary repeats.
    Declaration,
    /// The order of messages and chunks.
    Order,
}

impl FindingKind {
    /// A short name, such as `chunk_index`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ending => "ending",
            Self::Trailing => "trailing",
            Self::Summary => "summary",
            Self::Statistics => "statistics",
            Self::ChunkIndex => "chunk_index",
            Self::MessageIndex => "message_index",
            Self::SummaryOffset => "summary_offset",
            Self::Declaration => "declaration",
            Self::Order => "order",
        }
    }
}

/// Whom a finding concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Nobody: worth knowing.
    Information,
    /// Readers that believe the index: they miss messages, or refuse the file.
    MisleadsReaders,
    /// Everybody: messages are gone.
    CostsData,
}

impl Severity {
    /// A short name, such as `costs_data`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Information => "information",
            Self::MisleadsReaders => "misleads_readers",
            Self::CostsData => "costs_data",
        }
    }
}

/// Compares a file's own index and ending with what a pass over it found, [`crate::scan`] with the
/// same options. Each chunk that can be served is read once more.
///
/// # Errors
///
/// [`BagError::Io`] when the file cannot be read.
pub fn audit(
    source: &Source,
    contents: &Contents,
    options: &ReadOptions,
) -> Result<Vec<Finding>, BagError> {
    let mut findings = Findings::default();
    let mut window = Window::new(source, Vec::new());
    let footer = read_footer(source)?;
    let claims = match footer {
        None => {
            find_end(&mut window, source.len(), contents, &mut findings)?;
            SummaryClaims::default()
        }
        Some(footer) => SummaryClaims::read(&mut window, footer, options, &mut findings)?,
    };
    let chunks = ChunkAudit::walk(source, contents, options, footer)?;
    chunks.compare(&claims.chunks, claims.has_summary, &mut findings);
    if let Some((at, statistics)) = &claims.statistics {
        compare_statistics(*at, statistics, contents, chunks.n_chunks(), &mut findings);
    } else if claims.has_summary {
        let text = "the summary has no statistics".to_owned();
        findings.add(claims.start, FindingKind::Statistics, Severity::Information, text);
    }
    claims.compare_declarations(contents, &mut findings);
    find_order(contents, &mut findings);
    Ok(findings.list)
}

/// Gathers findings, of each kind no more than can be read.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    counts: BTreeMap<FindingKind, usize>,
}

/// How many findings of one kind are listed.
const MAX_OF_KIND: usize = 100;

impl Findings {
    pub(super) fn add(&mut self, offset: u64, kind: FindingKind, severity: Severity, text: String) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= MAX_OF_KIND {
            self.list.push(Finding { offset, kind, severity, text });
        } else if *count == MAX_OF_KIND + 1 {
            let text = format!("more than {MAX_OF_KIND} of this kind; the rest is not listed");
            self.list.push(Finding { offset, kind, severity, text });
        }
    }

    /// Adds that a number is not what it should be.
    pub(super) fn differs(
        &mut self,
        offset: u64,
        kind: FindingKind,
        what: &str,
        said: u64,
        found: u64,
    ) {
        if said != found {
            let text = format!("{what} is {said}, found {found}");
            self.add(offset, kind, Severity::MisleadsReaders, text);
        }
    }
}

/// Looks for the end of a file that does not end as one: it may stand in front of other bytes.
fn find_end(
    window: &mut Window<'_>,
    len: u64,
    contents: &Contents,
    findings: &mut Findings,
) -> Result<(), BagError> {
    let Ending::Open { served_to } = contents.ending else { return Ok(()) };
    let record_len = HEADER_LEN as u64 + FOOTER_LEN;
    let mut at = served_to;
    while at < len {
        let load = (len - at).min(summary::BLOCK_BYTES as u64);
        let bytes = window.bytes(at, usize::try_from(load).unwrap_or_default())?;
        let places: Vec<usize> = memchr::memmem::find_iter(bytes, MAGIC).collect();
        for place in places {
            let magic_at = at + place as u64;
            let Some(footer_at) = magic_at.checked_sub(record_len) else { continue };
            let head = window.bytes(footer_at, HEADER_LEN)?;
            if record::header(head) == Some((opcode::FOOTER, FOOTER_LEN)) {
                let end = magic_at + MAGIC.len() as u64;
                let text = format!(
                    "the recording ends at byte {end}, {} bytes stand behind it",
                    len - end
                );
                findings.add(end, FindingKind::Trailing, Severity::MisleadsReaders, text);
                return Ok(());
            }
        }
        // The magic may lie across two blocks.
        at += load.saturating_sub(MAGIC.len() as u64 - 1).max(1);
    }
    let text = format!(
        "no footer: the file has {len} bytes and its last whole record ends at {served_to}"
    );
    findings.add(served_to, FindingKind::Ending, Severity::MisleadsReaders, text);
    Ok(())
}

/// What a summary says.
#[derive(Default)]
struct SummaryClaims {
    has_summary: bool,
    start: u64,
    /// Chunks of the index, with the place of their entries.
    chunks: Vec<(u64, ChunkIndexRecord)>,
    statistics: Option<(u64, StatisticsRecord)>,
    /// Schemas and channels: place, opcode, body.
    declarations: Vec<(u64, u8, Vec<u8>)>,
}

impl SummaryClaims {
    fn read(
        window: &mut Window<'_>,
        footer: Footer,
        options: &ReadOptions,
        findings: &mut Findings,
    ) -> Result<Self, BagError> {
        let mut claims = Self::default();
        let Some(start) = footer.summary() else {
            let (severity, text) = if footer.summary_start == 0 {
                (Severity::Information, "there is no summary".to_owned())
            } else {
                let (said, at) = (footer.summary_start, footer.at);
                let text = format!("the summary is said to start at {said}, the footer at {at}");
                (Severity::MisleadsReaders, text)
            };
            findings.add(footer.at, FindingKind::Summary, severity, text);
            return Ok(claims);
        };
        claims.start = start;
        claims.has_summary = true;
        if let Some(found) = summary::summary_crc(window, footer)?
            && found != footer.summary_crc
        {
            let text =
                format!("the summary CRC is {found:#010x}, expected {:#010x}", footer.summary_crc);
            findings.add(footer.at, FindingKind::Summary, Severity::MisleadsReaders, text);
        }
        let mut groups: Vec<SummaryOffsetRecord> = Vec::new();
        let mut offsets = Vec::new();
        let mut unreadable = Vec::new();
        let end = each_record(window, footer, |window, op, body_at, len| {
            let at = body_at - HEADER_LEN as u64;
            match groups.last_mut() {
                Some(group) if group.opcode == op => group.len = body_at + len - group.start,
                _ => groups.push(SummaryOffsetRecord {
                    opcode: op,
                    start: at,
                    len: len + HEADER_LEN as u64,
                }),
            }
            if len > options.max_chunk_bytes {
                unreadable.push(at);
                return Ok(());
            }
            let body = window.bytes(body_at, usize::try_from(len).unwrap_or(usize::MAX))?;
            match op {
                opcode::CHUNK_INDEX => match ChunkIndexRecord::parse(body) {
                    Ok(index) => claims.chunks.push((at, index)),
                    Err(_) => unreadable.push(at),
                },
                opcode::STATISTICS => match StatisticsRecord::parse(body) {
                    Ok(statistics) => claims.statistics = Some((at, statistics)),
                    Err(_) => unreadable.push(at),
                },
                opcode::SCHEMA | opcode::CHANNEL => {
                    claims.declarations.push((at, op, body.to_vec()));
                }
                opcode::SUMMARY_OFFSET => match SummaryOffsetRecord::parse(body) {
                    Ok(offset) => offsets.push((at, offset)),
                    Err(_) => unreadable.push(at),
                },
                _ => {}
            }
            Ok(())
        })?;
        if end != footer.at {
            let text = format!("the summary breaks off at {end}, the footer is at {}", footer.at);
            findings.add(end, FindingKind::Summary, Severity::MisleadsReaders, text);
        }
        for at in unreadable {
            let text = "a record of the summary cannot be read".to_owned();
            findings.add(at, FindingKind::Summary, Severity::MisleadsReaders, text);
        }
        compare_offsets(footer, &groups, &offsets, findings);
        Ok(claims)
    }

    /// Compares what the summary repeats with what the data section declared.
    fn compare_declarations(&self, contents: &Contents, findings: &mut Findings) {
        let mut known = (*contents.declared).clone();
        let mut registry = Registry::at_end_of(&known);
        for wanted in [opcode::SCHEMA, opcode::CHANNEL] {
            for (at, op, body) in self.declarations.iter().filter(|(_, op, _)| *op == wanted) {
                let n = (known.schemas.len(), known.channels.len());
                let ids: BTreeSet<u16> = known.schemas.iter().map(|schema| schema.id).collect();
                let outcome = registry.declare(&mut known, *op, body);
                let is_new = (known.schemas.len(), known.channels.len()) != n;
                let is_channel = *op == opcode::CHANNEL;
                let (what, last) = if is_channel {
                    ("channel", known.channels.last().map(|channel| channel.id))
                } else {
                    ("schema", known.schemas.last().map(|schema| schema.id))
                };
                let id = last.unwrap_or_default();
                let text = match outcome {
                    Err(kind) => format!("a {what} of the summary cannot be read: {kind}"),
                    Ok(Some(id)) => {
                        format!("channel {id} of the summary is not channel {id} of the data")
                    }
                    Ok(None) if is_new && !is_channel && ids.contains(&id) => {
                        format!("schema {id} of the summary is not schema {id} of the data")
                    }
                    Ok(None) if is_new => {
                        format!("{what} {id} of the summary is declared nowhere in the data")
                    }
                    Ok(None) => continue,
                };
                findings.add(*at, FindingKind::Declaration, Severity::MisleadsReaders, text);
            }
        }
    }
}

fn compare_offsets(
    footer: Footer,
    groups: &[SummaryOffsetRecord],
    offsets: &[(u64, SummaryOffsetRecord)],
    findings: &mut Findings,
) {
    let kind = FindingKind::SummaryOffset;
    for (at, said) in offsets {
        let found = groups.iter().find(|group| group.opcode == said.opcode);
        let op = said.opcode;
        if let Some(found) = found {
            let what = format!("the start of the group of opcode {op:#04x}");
            findings.differs(*at, kind, &what, said.start, found.start);
            let what = format!("the length of the group of opcode {op:#04x}");
            findings.differs(*at, kind, &what, said.len, found.len);
        } else {
            let text = format!("a group of opcode {op:#04x} at {} that is not there", said.start);
            findings.add(*at, kind, Severity::MisleadsReaders, text);
        }
    }
    let first = offsets.first().map_or(0, |(at, _)| *at);
    findings.differs(
        footer.at,
        kind,
        "the start of the summary offsets",
        footer.offsets_start,
        first,
    );
}

fn compare_statistics(
    at: u64,
    said: &StatisticsRecord,
    contents: &Contents,
    n_chunks: u64,
    findings: &mut Findings,
) {
    let kind = FindingKind::Statistics;
    let served = contents.n_messages();
    let is_damaged = !contents.damage.is_empty();
    if said.messages > served && is_damaged {
        let text = format!(
            "{} messages were written, {served} can be served: {} are lost",
            said.messages,
            said.messages - served
        );
        findings.add(at, kind, Severity::CostsData, text);
    } else {
        findings.differs(at, kind, "the number of messages", said.messages, served);
    }
    let distinct = |ids: Vec<u16>| ids.into_iter().collect::<BTreeSet<_>>();
    let channels = distinct(contents.declared.channels.iter().map(|c| c.id).collect());
    let schemas = distinct(contents.declared.schemas.iter().map(|s| s.id).collect());
    for (what, said, found) in [
        ("the number of schemas", said.schemas, schemas.len() as u64),
        ("the number of channels", said.channels, channels.len() as u64),
        ("the number of attachments", said.attachments, contents.n_attachments),
        ("the number of metadata records", said.metadata, contents.n_metadata),
        ("the number of chunks", said.chunks, n_chunks),
    ] {
        findings.differs(at, kind, what, said, found);
    }
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for seen in contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
        if let Some(channel) = contents.declared.channel(seen.channel) {
            *counts.entry(channel.id).or_default() += u64::from(seen.count);
        }
    }
    for (id, count) in &said.channel_counts {
        let found = counts.remove(id).unwrap_or_default();
        if channels.contains(id) {
            let what = format!("the number of messages of channel {id}");
            findings.differs(at, kind, &what, *count, found);
        } else {
            let text = format!("{count} messages of channel {id}, which exists nowhere");
            findings.add(at, kind, Severity::MisleadsReaders, text);
        }
    }
    for (id, found) in counts {
        let what = format!("the number of messages of channel {id}");
        findings.differs(at, kind, &what, 0, found);
    }
    if !is_damaged {
        let (first, last) =
            contents.time_span().map_or((0, 0), |(first, last)| (first.as_ns(), last.as_ns()));
        findings.differs(at, kind, "the first log time", said.span.0, first);
        findings.differs(at, kind, "the last log time", said.span.1, last);
    }
}

/// What other readers have to sort.
fn find_order(contents: &Contents, findings: &mut Findings) {
    let with_messages = || contents.chunks.iter().filter(|chunk| !chunk.channels.is_empty());
    for chunk in with_messages().filter(|chunk| !chunk.is_sorted) {
        let text = format!("a chunk of {} messages out of order", chunk.n_messages());
        findings.add(chunk.offset, FindingKind::Order, Severity::Information, text);
    }
    for (one, next) in with_messages().zip(with_messages().skip(1)) {
        if next.first < one.last {
            let text = format!(
                "a chunk starts at {} ns, the one before ends at {} ns",
                next.first.as_ns(),
                one.last.as_ns()
            );
            findings.add(next.offset, FindingKind::Order, Severity::Information, text);
        }
    }
}

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use ros2_memory_bag::{
    Bag, BagError, ChunkBuffer, Contents, DamageKind, Losses, ReadOptions, Severity, Verdict, audit,
};
use ros2_memory_msg::{DecodeLimits, canonical_type_name, decode};
use ros2_memory_query::{TypeCache, TypeView};

use crate::files::list_files;

/// What is wrong with some recordings.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// A file each, by path.
    pub files: Vec<FileDiagnosis>,
    /// What could not be looked at, with the reason.
    pub problems: Vec<String>,
}

/// What is wrong with one recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiagnosis {
    /// The file.
    pub path: PathBuf,
    /// Whether its writer closed it.
    pub is_closed: bool,
    /// How many messages it gives.
    pub n_messages: u64,
    /// How many places hold them: chunks, and runs of messages outside chunks.
    pub n_chunks: u64,
    /// How many of these have a checksum, which is right.
    pub n_verified: u64,
    /// What is lost.
    pub losses: Losses,
    /// What is wrong, the worst first, then by place.
    pub faults: Vec<Fault>,
}

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Whom it concerns.
    pub severity: Severity,
    /// Where in the file; `None` for what concerns a topic.
    pub offset: Option<u64>,
    /// What it is about, such as `chunk_index` or `type`.
    pub about: &'static str,
    /// What is wrong, with both numbers.
    pub text: String,
}

impl FileDiagnosis {
    /// How bad the worst of it is; `None` when nothing is wrong.
    pub fn worst(&self) -> Option<Severity> {
        self.faults.iter().map(|fault| fault.severity).max()
    }
}

/// Reads every byte of every recording among `paths` (files as they are, folders at any depth),
/// decodes every message, and compares each file's own index with what is there. `tell` is called
/// with how many files are done and how many there are.
pub fn diagnose(
    paths: &[PathBuf],
    options: &ReadOptions,
    types: &TypeCache,
    tell: &(dyn Fn(usize, usize) + Sync),
) -> Diagnosis {
    let listed = list_files(paths);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let outcomes: Vec<_> = listed
        .files
        .par_iter()
        .map(|path| {
            let outcome = file(path, options, types);
            let n = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            tell(n, listed.files.len());
            outcome.map_err(|error| error.to_string())
        })
        .collect();
    let mut diagnosis = Diagnosis { files: Vec::new(), problems: listed.problems };
    for outcome in outcomes {
        match outcome {
            Ok(file) => diagnosis.files.push(file),
            Err(problem) => diagnosis.problems.push(problem),
        }
    }
    diagnosis.files.sort_by(|a, b| a.path.cmp(&b.path));
    diagnosis
}

fn file(path: &Path, options: &ReadOptions, types: &TypeCache) -> Result<FileDiagnosis, BagError> {
    let bag = Bag::open_unindexed(path, options)?;
    let contents = bag.contents();
    let mut faults: Vec<Fault> = contents
        .damage
        .iter()
        // That the summary is wrong is said once, by the comparison of the index.
        .filter(|damage| !matches!(damage.kind, DamageKind::SummaryCrc { .. }))
        .map(|damage| Fault {
            severity: severity(&damage.kind),
            offset: Some(damage.offset),
            about: "damage",
            text: damage.kind.to_string(),
        })
        .collect();
    faults.extend(audit(bag.source(), contents, options)?.into_iter().map(|finding| Fault {
        severity: finding.severity,
        offset: Some(finding.offset),
        about: finding.kind.as_str(),
        text: finding.text,
    }));
    faults.extend(undecodable(&bag, types));
    faults.sort_by(|a, b| (b.severity, a.offset).cmp(&(a.severity, b.offset)));
    let n_verified = contents.chunks.iter().filter(|chunk| chunk.verdict == Verdict::Intact);
    Ok(FileDiagnosis {
        path: path.to_owned(),
        is_closed: contents.is_closed(),
        n_messages: contents.n_messages(),
        n_chunks: contents.chunks.len() as u64,
        n_verified: n_verified.count() as u64,
        losses: contents.losses(),
        faults,
    })
}

/// Whom a fault concerns: one that was seen through cost nothing here.
fn severity(kind: &DamageKind) -> Severity {
    match kind {
        DamageKind::RecordLength { .. } | DamageKind::ChunkRecord { .. } => {
            Severity::MisleadsReaders
        }
        _ => Severity::CostsData,
    }
}

/// The channels whose messages cannot be turned into values: a fault each, with how many.
fn undecodable(bag: &Bag, types: &TypeCache) -> Vec<Fault> {
    let contents: &Contents = bag.contents();
    let declared = &contents.declared;
    let views: Vec<Arc<TypeView>> =
        declared.channels.iter().map(|channel| types.view(declared, channel)).collect();
    let mut failed: BTreeMap<u32, (u64, String)> = BTreeMap::new();
    let mut buffer = ChunkBuffer::default();
    for chunk in contents.chunks.iter().filter(|chunk| chunk.verdict != Verdict::Damaged) {
        // What cannot be read is among the damage already.
        let Ok(bytes) = bag.chunk_bytes(chunk, &mut buffer) else { continue };
        for message in bag.messages(chunk, bytes) {
            let Some(view) = views.get(message.channel as usize) else { continue };
            // Lists need not be built to be walked.
            let limits = DecodeLimits { max_items: 1 };
            let reason = match &view.schema {
                Ok(schema) => {
                    let read = decode(schema, message.payload, limits);
                    read.err().map(|error| error.to_string())
                }
                Err(reason) => Some(reason.clone()),
            };
            if let Some(reason) = reason {
                failed.entry(message.channel).or_insert((0, reason)).0 += 1;
            }
        }
    }
    failed
        .into_iter()
        .filter_map(|(place, (n, reason))| {
            let channel = declared.channel(place)?;
            let name = canonical_type_name(declared.type_name(channel));
            let text = format!("{}: {n} messages of type {name:?}: {reason}", channel.topic);
            Some(Fault { severity: Severity::Information, offset: None, about: "type", text })
        })
        .collect()
}

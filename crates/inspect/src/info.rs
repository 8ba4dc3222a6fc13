use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ros2_memory_bag::{Losses, TimelinePart, Verdict, run_key};
use ros2_memory_msg::canonical_type_name;
use ros2_memory_time::LogTime;

/// What one bag holds: a file alone, or the splits of one recording session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BagInfo {
    /// The splits, in order.
    pub files: Vec<PathBuf>,
    /// Their size.
    pub size_bytes: u64,
    /// The distribution that recorded it, as its `metadata.yaml` says; `unknown` when it does not.
    pub ros_distro: String,
    /// The library that wrote it.
    pub library: String,
    /// The first and last log time, when there is a message.
    pub span: Option<(LogTime, LogTime)>,
    /// How many messages there are.
    pub n_messages: u64,
    /// The topics, by name.
    pub topics: Vec<TopicInfo>,
    /// How many chunks there are of each compression.
    pub chunks: BTreeMap<&'static str, u64>,
    /// How many attachments there are.
    pub n_attachments: u64,
    /// How many metadata records there are.
    pub n_metadata: u64,
    /// Splits that their writer has not closed.
    pub unclosed: Vec<PathBuf>,
    /// Splits of which the file's own index was believed, and not every byte read.
    pub unverified: Vec<PathBuf>,
    /// What is wrong, with the file and place.
    pub damage: Vec<String>,
    /// What that cost.
    pub losses: Losses,
}

/// What a bag holds of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub topic: String,
    /// Its type.
    pub type_name: String,
    /// How many messages.
    pub count: u64,
    /// How they are serialized.
    pub serialization_format: String,
}

/// Groups recordings into bags and says what each holds.
pub fn info(parts: &[TimelinePart]) -> Vec<BagInfo> {
    let mut groups: BTreeMap<PathBuf, Vec<&TimelinePart>> = BTreeMap::new();
    for part in parts {
        groups.entry(run_key(&part.path)).or_default().push(part);
    }
    groups.into_values().map(|parts| one(&parts)).collect()
}

fn one(parts: &[&TimelinePart]) -> BagInfo {
    let mut topics: BTreeMap<String, TopicInfo> = BTreeMap::new();
    let mut chunks: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut damage = Vec::new();
    let mut losses = Losses::default();
    for part in parts {
        let contents = &part.contents;
        for channel in &contents.declared.channels {
            let type_name = canonical_type_name(contents.declared.type_name(channel));
            topics.entry(channel.topic.to_string()).or_insert_with(|| TopicInfo {
                topic: channel.topic.to_string(),
                type_name: type_name.into_owned(),
                count: 0,
                serialization_format: channel.message_encoding.to_string(),
            });
        }
        for chunk in &contents.chunks {
            *chunks.entry(chunk.compression.as_str()).or_default() += 1;
            for seen in &chunk.channels {
                let channel = contents.declared.channel(seen.channel);
                if let Some(topic) = channel.and_then(|channel| topics.get_mut(&*channel.topic)) {
                    topic.count += u64::from(seen.count);
                }
            }
        }
        losses += contents.losses();
        damage.extend(contents.damage.iter().map(|damage| {
            format!("{}: at byte {}: {}", part.path.display(), damage.offset, damage.kind)
        }));
    }
    let spans = || parts.iter().filter_map(|part| part.contents.time_span());
    let first = spans().map(|(first, _)| first).min();
    let last = spans().map(|(_, last)| last).max();
    let folder = parts.first().and_then(|part| part.path.parent());
    BagInfo {
        files: parts.iter().map(|part| part.path.to_path_buf()).collect(),
        size_bytes: parts.iter().map(|part| part.identity.size_bytes).sum(),
        ros_distro: folder.and_then(ros_distro).unwrap_or_else(|| "unknown".to_owned()),
        library: parts.first().map_or_else(String::new, |p| p.contents.declared.library.clone()),
        span: first.zip(last),
        n_messages: topics.values().map(|topic| topic.count).sum(),
        topics: topics.into_values().collect(),
        chunks,
        n_attachments: parts.iter().map(|part| part.contents.n_attachments).sum(),
        n_metadata: parts.iter().map(|part| part.contents.n_metadata).sum(),
        unclosed: parts
            .iter()
            .filter(|part| !part.contents.is_closed())
            .map(|part| part.path.to_path_buf())
            .collect(),
        unverified: parts
            .iter()
            .filter(|part| part.contents.chunks.iter().any(|c| c.verdict == Verdict::Claimed))
            .map(|part| part.path.to_path_buf())
            .collect(),
        damage,
        losses,
    }
}

/// The distribution that a folder's `metadata.yaml` names. The file is otherwise not believed:
/// the recordings are the truth.
fn ros_distro(folder: &Path) -> Option<String> {
    let path = folder.join("metadata.yaml");
    // A pipe of that name would be waited for.
    path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("ros_distro:"))?;
    let name = line.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

//! One file that is written over and over, the ways to read it, and what each way serves.

use std::{
    collections::hash_map::RandomState,
    env,
    fs::File,
    hash::{BuildHasher, Hasher},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ros2_memory_bag::{
    Bag, BagError, Contents, Damage, Direction, FileIdentity, ReadOptions, Timeline, TimelinePart,
};
use ros2_memory_testkit::mcap_bytes::{Placed, Walked};
use ros2_memory_time::{LogTime, TimeRange};

/// Whether everything is tried.
pub(crate) fn is_long() -> bool {
    env::var_os("ROS2_MEMORY_LONG").is_some_and(|value| value == "1")
}

/// The seed of this run, printed: a new one, or that of `ROS2_MEMORY_SEED`.
pub(crate) fn seed(of: &str) -> u64 {
    let given = env::var("ROS2_MEMORY_SEED").ok().and_then(|seed| seed.parse().ok());
    // Small, so that it is easily typed.
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish() % 1_000_000_000);
    println!("{of}: seed {seed}");
    seed
}

/// How long the short form of a test goes on at most.
const SHORT: Duration = Duration::from_secs(10);

/// Says when the short form of a test has gone on for long enough.
pub(crate) struct Budget(Option<Instant>);

impl Budget {
    pub(crate) fn new() -> Self {
        Self((!is_long()).then(|| Instant::now() + SHORT))
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.0.is_some_and(|end| Instant::now() > end)
    }
}

/// A message as it was recorded or served.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) log_time_ns: u64,
    pub(crate) sequence: u32,
    pub(crate) publish_time_ns: u64,
    pub(crate) channel_id: u16,
    pub(crate) payload: Vec<u8>,
    /// Last, so that messages that differ in it alone stand side by side.
    pub(crate) topic: String,
}

impl Seen {
    pub(crate) fn of(placed: &Placed) -> Self {
        let Placed { message, topic, .. } = placed;
        Self {
            log_time_ns: message.log_time_ns,
            sequence: message.sequence,
            publish_time_ns: message.publish_time_ns,
            channel_id: message.channel,
            payload: message.payload.clone(),
            topic: topic.clone(),
        }
    }

    /// Without what a damaged declaration changes.
    pub(crate) fn without_topic(mut self) -> Self {
        self.topic.clear();
        self.channel_id = 0;
        self
    }
}

/// All messages of a file, by time.
pub(crate) fn truth(walked: &Walked) -> Vec<Seen> {
    let mut all: Vec<Seen> = walked.messages.iter().map(Seen::of).collect();
    all.sort();
    all
}

/// What is in sorted `all` and not in sorted `other`, each as often as it is missing.
pub(crate) fn without(all: &[Seen], other: &[Seen]) -> Vec<Seen> {
    let mut rest = other.iter().peekable();
    let mut left = Vec::new();
    for message in all {
        while rest.next_if(|next| *next < message).is_some() {}
        if rest.next_if(|next| *next == message).is_none() {
            left.push(message.clone());
        }
    }
    left
}

/// What one way of reading gave.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The messages, sorted.
    pub(crate) messages: Vec<Seen>,
    /// Whether it says that something is missing or wrong.
    pub(crate) is_marked: bool,
    /// What is wrong with the file, as the contents have it.
    pub(crate) damage: Vec<Damage>,
    /// What is wrong between what was counted and what came, forwards and backwards.
    pub(crate) disorder: Option<String>,
}

/// One file, in memory where the system has a place for that.
pub(crate) struct Scratch {
    _folder: tempfile::TempDir,
    file: File,
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let in_memory = Path::new("/dev/shm");
        let folder =
            if in_memory.is_dir() { tempfile::tempdir_in(in_memory) } else { tempfile::tempdir() };
        let folder = folder.unwrap();
        let path = folder.path().join("a.mcap");
        let file = File::options().create_new(true).write(true).read(true).open(&path).unwrap();
        Self { _folder: folder, file, path }
    }

    /// Replaces the file's bytes.
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.file.write_all_at(bytes, 0).unwrap();
        self.cut(bytes.len());
    }

    /// Cuts the file off.
    pub(crate) fn cut(&self, len: usize) {
        self.file.set_len(len as u64).unwrap();
    }

    /// Changes one byte.
    pub(crate) fn change(&self, at: usize, byte: u8) {
        self.file.write_all_at(&[byte], at as u64).unwrap();
    }

    /// What tells this version of the file from others.
    pub(crate) fn identity(&self) -> FileIdentity {
        FileIdentity::of(&self.file.metadata().unwrap())
    }

    /// The file after a pass over all of it.
    pub(crate) fn scanned(&self) -> Result<Bag, BagError> {
        Bag::open_unindexed(&self.path, &ReadOptions::default())
    }

    /// What is served after a pass over the whole file.
    pub(crate) fn by_scan(&self) -> Result<(Answer, Bag), BagError> {
        let bag = self.scanned()?;
        Ok((answer(&bag, ReadOptions::default()), bag))
    }

    /// What is served by the file's own index, when the reader takes it.
    pub(crate) fn by_index(&self) -> Option<(Answer, Bag)> {
        let bag = indexed(&self.path)?;
        Some((answer(&bag, ReadOptions::default()), bag))
    }

    /// What is served with contents from before the bytes changed, checking each chunk.
    pub(crate) fn remembered(&self, contents: &Arc<Contents>) -> Answer {
        let options = ReadOptions { verify_always: true, ..ReadOptions::default() };
        match Bag::open(&self.path, self.identity(), contents.clone(), &options) {
            Ok(bag) => answer(&bag, options),
            Err(_) => {
                Answer { messages: Vec::new(), is_marked: true, damage: Vec::new(), disorder: None }
            }
        }
    }
}

/// A file opened by its own index, when the reader takes it.
pub(crate) fn indexed(path: &Path) -> Option<Bag> {
    Bag::open_indexed(path, &ReadOptions::default()).ok().flatten()
}

/// The bag as a part of a timeline.
pub(crate) fn part(bag: &Bag) -> TimelinePart {
    TimelinePart {
        path: Arc::from(bag.source().path()),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    }
}

/// Whether the contents say that something is missing or wrong.
pub(crate) fn is_marked(bag: &Bag) -> bool {
    !bag.contents().damage.is_empty() || !bag.contents().is_closed()
}

/// One stream of a bag.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) messages: Vec<Seen>,
    pub(crate) n_skipped: usize,
}

/// The messages of a bag in timeline order, of some topics, in some time.
pub(crate) fn stream(
    bag: &Bag,
    options: ReadOptions,
    direction: Direction,
    range: TimeRange,
    wanted: &(dyn Fn(&str) -> bool + Sync),
) -> Stream {
    // The rank of a topic is its first bytes: names here differ in them.
    let rank = |topic: &str| {
        topic.bytes().skip(1).chain([0; 4]).take(4).fold(0, |rank, b| rank << 8 | u32::from(b))
    };
    let select =
        |channel: &ros2_memory_bag::Channel| wanted(&channel.topic).then(|| rank(&channel.topic));
    let mut timeline = Timeline::new(vec![part(bag)], range, direction, options, select, || false);
    let mut messages = Vec::new();
    while let Some(m) = timeline.next() {
        messages.push(Seen {
            log_time_ns: m.log_time.as_ns(),
            sequence: m.sequence,
            publish_time_ns: m.publish_time.as_ns(),
            channel_id: m.channel.id,
            payload: m.payload.to_vec(),
            topic: m.channel.topic.to_string(),
        });
    }
    Stream { messages, n_skipped: timeline.report().skipped.len() }
}

/// Everything that a bag serves, forwards, with a look whether backwards is the same.
pub(crate) fn answer(bag: &Bag, options: ReadOptions) -> Answer {
    let all = |direction| stream(bag, options, direction, TimeRange::ALL, &|_| true);
    let forward = all(Direction::Forward);
    let mut reverse = all(Direction::Reverse).messages;
    reverse.reverse();
    let counted = bag.contents().n_messages();
    let served = forward.messages.len() as u64;
    let is_marked = is_marked(bag) || forward.n_skipped > 0;
    let disorder = if reverse != forward.messages {
        Some("backwards is not forwards reversed".to_owned())
    } else if !forward.messages.is_sorted_by_key(|m| m.log_time_ns) {
        Some("not in the order of the times".to_owned())
    } else if counted != served && !is_marked {
        Some(format!("{counted} counted, {served} served, no mark"))
    } else {
        None
    };
    let mut messages = forward.messages;
    messages.sort();
    Answer { messages, is_marked, damage: bag.contents().damage.clone(), disorder }
}

/// A range of log times with both ends.
pub(crate) fn range(first_ns: u64, last_ns: u64) -> TimeRange {
    TimeRange::closed(LogTime::from_ns(first_ns), LogTime::from_ns(last_ns))
}

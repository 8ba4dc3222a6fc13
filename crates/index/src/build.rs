use std::{collections::HashMap, path::Path, sync::Arc};

use ros2_memory_bag::{
    BagError, Channel, Contents, Declarations, ReadOptions, ScanBuffers, ScannedMessage, Source,
    Visitor, scan, scan_on,
};
use ros2_memory_msg::Library;

use crate::{BagEntry, EdgeSpan, LatchedMessage, TransformPart, TransformPlan, TransformReader};

/// Of one latched channel, this many messages of a bag are kept, the newest ones.
const MAX_LATCHED_PER_CHANNEL: usize = 64;
/// Latched messages past this size in one bag are not kept: a map server's grid fits many times.
const MAX_LATCHED_BYTES: usize = 64 << 20;

/// Makes entries, one bag after the other, with buffers and plans that it keeps.
#[derive(Debug, Default)]
pub struct Indexer {
    buffers: ScanBuffers,
    transforms: TransformReader,
}

impl Indexer {
    /// An indexer that takes definitions which a file lacks from `library`.
    pub fn new(library: Arc<Library>) -> Self {
        Self { buffers: ScanBuffers::default(), transforms: TransformReader::new(library) }
    }

    /// Goes over the bag at `root/path` once and says what it holds. For a bag that was still
    /// open when `known` was made, only what was added since is read.
    ///
    /// # Errors
    ///
    /// As [`Source::open`] and [`scan`].
    pub fn index(
        &mut self,
        root: &Path,
        path: &Arc<Path>,
        options: &ReadOptions,
        known: Option<&BagEntry>,
    ) -> Result<BagEntry, BagError> {
        let mut source = Source::open(&root.join(path))?;
        let known = known.filter(|known| {
            !known.contents.is_closed() && known.identity.may_have_grown_into(&source.identity())
        });
        let mut take = Take {
            transforms: &mut self.transforms,
            channels: Vec::new(),
            latched: known.map(|known| known.latched.clone()).unwrap_or_default(),
            edges: Edges::default(),
        };
        let buffers = &mut self.buffers;
        let contents = match known {
            None => scan(&mut source, options, buffers, &mut take)?,
            Some(known) => {
                take.edges = Edges::of(&known.edges);
                let contents = Contents::clone(&known.contents);
                scan_on(&mut source, options, buffers, &mut take, contents)?
            }
        };
        let (latched, edges) = (take.latched, take.edges.spans);
        Ok(BagEntry {
            path: path.clone(),
            identity: source.identity(),
            mark: source.content_mark()?,
            contents: Arc::new(contents),
            latched,
            edges,
        })
    }
}

/// Takes what is kept out of the messages as the pass goes by.
struct Take<'t> {
    transforms: &'t mut TransformReader,
    /// What to do with each channel, by place in the declarations.
    channels: Vec<ChannelUse>,
    latched: Vec<LatchedMessage>,
    edges: Edges,
}

struct ChannelUse {
    is_latched: bool,
    transforms: Option<TransformPlan>,
}

impl Visitor for Take<'_> {
    fn message(&mut self, contents: &Contents, message: &ScannedMessage<'_>) {
        let index = message.channel as usize;
        while self.channels.len() <= index {
            let place = u32::try_from(self.channels.len()).unwrap_or(u32::MAX);
            let usage = self.usage(&contents.declared, place);
            self.channels.push(usage);
        }
        let Some(usage) = self.channels.get(index) else { return };
        if let Some(plan) = &usage.transforms {
            let is_static = usage.is_latched;
            let edges = &mut self.edges;
            plan.read(message.log_time, message.payload, |sample| {
                edges.add(&sample.parent, &sample.child, is_static, sample.time);
            });
        }
        if usage.is_latched {
            self.keep(message);
        }
    }
}

impl Take<'_> {
    fn usage(&mut self, declared: &Declarations, place: u32) -> ChannelUse {
        ChannelUse {
            is_latched: declared.channel(place).is_some_and(is_latched),
            transforms: self.transforms.plan(declared, place, TransformPart::Edges),
        }
    }

    fn keep(&mut self, message: &ScannedMessage<'_>) {
        let same = || self.latched.iter().filter(|kept| kept.channel == message.channel);
        if same().count() >= MAX_LATCHED_PER_CHANNEL {
            let oldest = self.latched.iter().position(|kept| kept.channel == message.channel);
            if let Some(oldest) = oldest {
                self.latched.remove(oldest);
            }
        }
        let held: usize = self.latched.iter().map(|kept| kept.payload.len()).sum();
        if held.saturating_add(message.payload.len()) <= MAX_LATCHED_BYTES {
            self.latched.push(LatchedMessage {
                channel: message.channel,
                log_time: message.log_time,
                payload: message.payload.into(),
            });
        }
    }
}

/// Whether late subscribers of a channel get its last message: `/tf_static`, and what its
/// publisher offered as transient-local.
fn is_latched(channel: &Channel) -> bool {
    let topic = channel.topic.trim_start_matches('/');
    let is_static_tf = topic == "tf_static" || topic.ends_with("/tf_static");
    let qos = &*channel.offered_qos_profiles;
    // rosbag2 wrote the policy as a number before 2023: 1 is transient-local.
    let is_transient_local = qos.lines().any(|line| {
        let line = line.trim_start_matches(['-', ' ']);
        matches!(
            line.split_once(':').map(|(key, value)| (key.trim(), value.trim())),
            Some(("durability", "1" | "transient_local"))
        )
    });
    is_static_tf || is_transient_local
}

/// The spans of edges, found again by their frames.
#[derive(Debug, Default)]
struct Edges {
    spans: Vec<EdgeSpan>,
    places: HashMap<(Arc<str>, Arc<str>, bool), usize>,
    /// The edge of the last sample: a publisher most often sends the same again.
    last: usize,
}

impl Edges {
    fn of(spans: &[EdgeSpan]) -> Self {
        let places = spans
            .iter()
            .enumerate()
            .map(|(place, span)| ((span.parent.clone(), span.child.clone(), span.is_static), place))
            .collect();
        Self { spans: spans.to_vec(), places, last: 0 }
    }

    fn add(&mut self, parent: &str, child: &str, is_static: bool, time: ros2_memory_time::LogTime) {
        // Old transform libraries write a leading slash; it is no part of the name.
        let parent = parent.strip_prefix('/').unwrap_or(parent);
        let child = child.strip_prefix('/').unwrap_or(child);
        let is_same = |span: &EdgeSpan| {
            *span.parent == *parent && *span.child == *child && span.is_static == is_static
        };
        if !self.spans.get(self.last).is_some_and(is_same) {
            let key = (Arc::from(parent), Arc::from(child), is_static);
            self.last = self.places.get(&key).copied().unwrap_or(self.spans.len());
            if self.last == self.spans.len() {
                self.spans.push(EdgeSpan {
                    parent: key.0.clone(),
                    child: key.1.clone(),
                    is_static,
                    count: 0,
                    first: time,
                    last: time,
                });
                self.places.insert(key, self.last);
            }
        }
        if let Some(span) = self.spans.get_mut(self.last) {
            span.count += 1;
            span.first = span.first.min(time);
            span.last = span.last.max(time);
        }
    }
}

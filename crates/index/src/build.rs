use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use ros2_memory_bag::{
    BagError, Channel, Contents, Declarations, ReadOptions, ScanBuffers, ScannedMessage, Source,
    Visitor, scan, scan_on,
};
use ros2_memory_msg::Library;
use ros2_memory_time::LogTime;

use crate::{
    BagEntry, EdgeSpan, IndexedTypes, LatchedMessage, TopicNumbers, TopicWords, TransformPart,
    TransformPlan, TransformReader,
    take_labels::{LabelPlan, LabelReader, TopicLabels},
    take_numbers::{NumberReader, NumbersTaken},
    transforms::EdgeReader,
};

/// Of one channel with static transforms, this many messages of a bag are kept, and more only
/// where each of them has an edge that no later one has.
const MAX_TRANSFORM_MESSAGES: usize = 64;
/// Of another latched channel, this many messages of a bag are kept, the newest.
const MAX_OTHER_MESSAGES: usize = 4;
/// A larger message, such as a map, is read from its bag when it is asked for; the catalog does
/// not hold it a second time.
const MAX_OTHER_BYTES: usize = 1 << 20;
/// However many there are, the latched messages of one bag take no more than this.
const MAX_LATCHED_BYTES: usize = 64 << 20;

/// Makes entries, one bag after the other, with buffers and plans that it keeps.
#[derive(Debug, Default)]
pub struct Indexer {
    buffers: ScanBuffers,
    transforms: TransformReader,
    labels: LabelReader,
    numbers: NumberReader,
    types: Arc<IndexedTypes>,
    /// The declarations of the bag before: the splits of a session share one copy.
    last_declared: Arc<Declarations>,
}

impl Indexer {
    /// An indexer of what `types` says, that takes definitions which a file lacks from `library`.
    pub fn new(types: Arc<IndexedTypes>, library: Arc<Library>) -> Self {
        Self {
            buffers: ScanBuffers::default(),
            transforms: TransformReader::new(library.clone()),
            labels: LabelReader::new(types.clone(), library.clone()),
            numbers: NumberReader::new(types.clone(), library),
            types,
            last_declared: Arc::default(),
        }
    }

    /// Goes over the bag at `root/path` once and says what it holds. For a bag that was still
    /// open when `known` was made, only what was added since is read.
    ///
    /// # Errors
    ///
    /// As [`Source::open_with`] and [`scan`].
    pub fn index(
        &mut self,
        root: &Path,
        path: &Arc<Path>,
        options: &ReadOptions,
        known: Option<&BagEntry>,
    ) -> Result<BagEntry, BagError> {
        let mut source = Source::open_with(&root.join(path), options)?;
        // A file that only grew still has the bytes where the last pass ended; one that was
        // written anew under the same inode has others. A damaged one is gone over again, since
        // its summary, once it has one, may declare what was lost.
        let types = self.types.clone();
        let known = known.filter(|known| {
            let end = known.contents.read_to(known.identity.size_bytes);
            !known.contents.is_closed()
                && known.contents.damage.is_empty()
                && known.contents.declared.has_unique_ids()
                && known.indexed == types.mark(&known.contents.declared)
                && known.identity.may_have_grown_into(&source.identity())
                && source.content_mark(end).is_ok_and(|mark| mark == known.mark)
        });
        let (mut contents, mut take) = self.pass(&mut source, options, known)?;
        if known.is_some() && !contents.damage.is_empty() {
            // What is searched for behind a break depends on all that the file has.
            (contents, take) = self.pass(&mut source, options, None)?;
        }
        take.miss_unplanned(&contents.declared);
        let Take { latched, edges, mut labels, numbers, .. } = take;
        let indexed = types.mark(&contents.declared);
        let words = labels.iter_mut().filter_map(TopicLabels::words).collect();
        let labels = labels.into_iter().filter_map(TopicLabels::finish).collect();
        let numbers = numbers.into_iter().filter_map(NumbersTaken::finish).collect();
        let (edges, transform_skew_ns) = (edges.spans, edges.skew_ns);
        if *contents.declared == *self.last_declared {
            contents.declared.clone_from(&self.last_declared);
        } else {
            self.last_declared.clone_from(&contents.declared);
        }
        Ok(BagEntry {
            path: path.clone(),
            identity: source.identity(),
            mark: source.content_mark(contents.read_to(source.len()))?,
            contents: Arc::new(contents),
            latched,
            edges,
            transform_skew_ns,
            sightings: labels,
            words,
            numbers,
            indexed,
        })
    }

    /// Goes over a file, behind what is known of it.
    fn pass(
        &mut self,
        source: &mut Source,
        options: &ReadOptions,
        known: Option<&BagEntry>,
    ) -> Result<(Contents, Take<'_>), BagError> {
        let mut take = Take {
            transforms: &mut self.transforms,
            reader: &mut self.labels,
            number_reader: &mut self.numbers,
            before: known.map(Before::of).unwrap_or_default(),
            channels: Vec::new(),
            labels: known.map_or_else(Vec::new, known_labels),
            numbers: Vec::new(),
            latched: known.map(|known| known.latched.clone()).unwrap_or_default(),
            edges: known.map_or_else(Edges::default, |known| {
                Edges::of(&known.edges, known.transform_skew_ns)
            }),
        };
        let buffers = &mut self.buffers;
        let contents = match known {
            None => scan(source, options, buffers, &mut take)?,
            Some(known) => {
                scan_on(source, options, buffers, &mut take, Contents::clone(&known.contents))?
            }
        };
        Ok((contents, take))
    }
}

/// Takes what is kept out of the messages as the pass goes by.
struct Take<'t> {
    transforms: &'t mut TransformReader,
    reader: &'t mut LabelReader,
    number_reader: &'t mut NumberReader,
    /// What is known of a bag of which only what was added is gone over.
    before: Before,
    /// What to do with each channel, by place in the declarations.
    channels: Vec<ChannelUse>,
    latched: Vec<LatchedMessage>,
    edges: Edges,
    /// For each topic that has any.
    labels: Vec<TopicLabels>,
    /// For each topic that has any.
    numbers: Vec<NumbersTaken>,
}

/// A bag as it was before it grew.
#[derive(Debug, Default)]
struct Before {
    /// The topics that had messages.
    topics: HashSet<Arc<str>>,
    numbers: Vec<(Arc<str>, TopicNumbers)>,
}

impl Before {
    fn of(known: &BagEntry) -> Self {
        let declared = &known.contents.declared;
        let topic = |channel: u32| declared.channel(channel).map(|of| of.topic.clone());
        let seen = known.contents.chunks.iter().flat_map(|chunk| &chunk.channels);
        let numbers = known.numbers.iter();
        Self {
            topics: seen.filter_map(|seen| topic(seen.channel)).collect(),
            numbers: numbers.filter_map(|of| Some((topic(of.channel)?, of.clone()))).collect(),
        }
    }
}

/// The labels and words of a bag as it was before it grew.
fn known_labels(known: &BagEntry) -> Vec<TopicLabels> {
    let topic = |channel: u32| known.contents.declared.channel(channel).map(|of| &of.topic);
    let words_of =
        |channel: u32| known.words.iter().find(|words| topic(words.channel) == topic(channel));
    let named = known.sightings.iter().map(|of| TopicLabels::of(of, words_of(of.channel)));
    let names_nothing = |words: &&TopicWords| {
        !known.sightings.iter().any(|of| topic(of.channel) == topic(words.channel))
    };
    let said = known.words.iter().filter(names_nothing).map(TopicLabels::of_words);
    named.chain(said).collect()
}

struct ChannelUse {
    is_latched: bool,
    transforms: Option<(TransformPlan, EdgeReader)>,
    /// With the place of its topic in [`Take::labels`].
    labels: Option<(LabelPlan, usize)>,
    /// The number of its reader, and the place of its topic in [`Take::numbers`].
    numbers: Option<(usize, usize)>,
}

impl Visitor for Take<'_> {
    fn message(&mut self, contents: &Contents, message: &ScannedMessage<'_>) {
        let index = message.channel as usize;
        while self.channels.len() <= index {
            let place = u32::try_from(self.channels.len()).unwrap_or(u32::MAX);
            let usage = self.usage(&contents.declared, place);
            self.channels.push(usage);
        }
        let Some(usage) = self.channels.get_mut(index) else { return };
        if let Some((_, edges)) = &mut usage.transforms {
            let is_static = usage.is_latched;
            edges.read(
                &mut self.edges,
                message.log_time,
                message.payload,
                |edges, parent, child| edges.place(parent, child, is_static),
                |edges, place, time| edges.add(place, time, message.log_time),
            );
        }
        if let Some((plan, topic)) = &usage.labels
            && let Some(labels) = self.labels.get_mut(*topic)
        {
            labels.take(self.reader, plan, message.log_time, message.payload);
        }
        if let Some((reader, topic)) = usage.numbers
            && let Some(compiled) = self.number_reader.compiled(reader)
            && let Some(numbers) = self.numbers.get_mut(topic)
        {
            numbers.take(compiled, message.log_time, message.payload);
        }
        if usage.is_latched {
            let plan = usage.transforms.as_ref().map(|(plan, _)| plan.clone());
            self.keep(message, plan.as_ref());
        }
    }
}

impl Take<'_> {
    fn usage(&mut self, declared: &Declarations, place: u32) -> ChannelUse {
        ChannelUse {
            is_latched: declared.channel(place).is_some_and(is_latched),
            transforms: self.transforms.plan(declared, place, TransformPart::Edges).map(|plan| {
                let reader = EdgeReader::new(&plan);
                (plan, reader)
            }),
            labels: self.reader.plan(declared, place).map(|plan| {
                let topic = self.labels_of(declared, place);
                (plan, topic)
            }),
            numbers: self.number_reader.reader(declared, place).and_then(|reader| {
                let topic = self.numbers_of(declared, place, reader)?;
                Some((reader, topic))
            }),
        }
    }

    /// Topics of which some channel has no definition that can be used, or is not configured.
    fn miss_unplanned(&mut self, declared: &Declarations) {
        while let Ok(place) = u32::try_from(self.channels.len())
            && declared.channel(place).is_some()
        {
            let usage = self.usage(declared, place);
            self.channels.push(usage);
        }
        for (channel, usage) in declared.channels.iter().zip(&self.channels) {
            let is_same =
                |other: u32| declared.channel(other).is_some_and(|of| of.topic == channel.topic);
            if usage.labels.is_none() {
                let same = self.labels.iter_mut().filter(|labels| is_same(labels.channel()));
                same.for_each(TopicLabels::miss);
            }
            if usage.numbers.is_none() {
                let same = self.numbers.iter_mut().filter(|numbers| is_same(numbers.channel()));
                same.for_each(NumbersTaken::miss);
            }
        }
    }

    /// The place of a channel's topic among those with numbers.
    fn numbers_of(&mut self, declared: &Declarations, place: u32, reader: usize) -> Option<usize> {
        let topic = |place: u32| declared.channel(place).map(|channel| &channel.topic);
        let is_same = |numbers: &NumbersTaken| topic(numbers.channel()) == topic(place);
        if let Some(known) = self.numbers.iter().position(is_same) {
            return Some(known);
        }
        let (compiled, topic) = (self.number_reader.compiled(reader)?, topic(place)?);
        let known = self.before.numbers.iter().find(|(of, _)| of == topic).map(|(_, known)| known);
        // Without knowledge of what was there before, nothing is known of all of it.
        let is_complete = known.is_some() || !self.before.topics.contains(topic);
        self.numbers.push(NumbersTaken::new(place, compiled, known, is_complete));
        Some(self.numbers.len() - 1)
    }

    /// The place of a channel's topic among those with labels.
    fn labels_of(&mut self, declared: &Declarations, place: u32) -> usize {
        let topic = |place: u32| declared.channel(place).map(|channel| &channel.topic);
        let is_same = |labels: &TopicLabels| topic(labels.channel()) == topic(place);
        // Of what was there before the bag has grown, nothing is known but that it was no label.
        let was_there = topic(place).is_some_and(|topic| self.before.topics.contains(topic));
        self.labels.iter().position(is_same).unwrap_or_else(|| {
            self.labels.push(TopicLabels::new(place, was_there));
            self.labels.len() - 1
        })
    }

    fn keep(&mut self, message: &ScannedMessage<'_>, transforms: Option<&TransformPlan>) {
        let size = message.payload.len();
        if transforms.is_none() && size > MAX_OTHER_BYTES {
            return;
        }
        let same = || self.latched.iter().filter(|kept| kept.channel == message.channel);
        // Some publishers send the same again and again.
        if same().next_back().is_some_and(|last| *last.payload == *message.payload) {
            return;
        }
        let limit = if transforms.is_some() { MAX_TRANSFORM_MESSAGES } else { MAX_OTHER_MESSAGES };
        if same().count() >= limit {
            let place = match transforms {
                Some(plan) => self.replaced(message.channel, plan),
                None => self.latched.iter().position(|kept| kept.channel == message.channel),
            };
            if let Some(place) = place {
                self.latched.remove(place);
            }
        }
        let held: usize = self.latched.iter().map(|kept| kept.payload.len()).sum();
        if held.saturating_add(size) > MAX_LATCHED_BYTES {
            return;
        }
        self.latched.push(LatchedMessage {
            channel: message.channel,
            log_time: message.log_time,
            payload: message.payload.into(),
        });
    }

    /// The place of a kept message whose edges all come again in later ones. The first message of
    /// the channel is not given up: it answers for the time before it.
    fn replaced(&self, channel: u32, plan: &TransformPlan) -> Option<usize> {
        let kept: Vec<(usize, HashSet<(String, String)>)> = self
            .latched
            .iter()
            .enumerate()
            .filter(|(_, kept)| kept.channel == channel)
            .map(|(place, kept)| {
                let mut edges = HashSet::new();
                plan.read(kept.log_time, &kept.payload, |sample| {
                    edges.insert((sample.parent.to_string(), sample.child.to_string()));
                });
                (place, edges)
            })
            .collect();
        let comes_again = |index: usize, edge: &(String, String)| {
            kept.iter().skip(index + 1).any(|(_, later)| later.contains(edge))
        };
        kept.iter()
            .enumerate()
            .skip(1)
            .find(|(index, (_, edges))| edges.iter().all(|edge| comes_again(*index, edge)))
            .map(|(_, (place, _))| *place)
    }
}

/// Whether late subscribers of a channel get its last message: `/tf_static`, and what its
/// publisher offered as transient-local. Not `/rosout`, which is a log: its last line is not in
/// force until the next.
fn is_latched(channel: &Channel) -> bool {
    let topic = channel.topic.trim_start_matches('/');
    if topic == "rosout" {
        return false;
    }
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
    /// How far a stamp lay from the time of recording, at most.
    skew_ns: u64,
}

impl Edges {
    fn of(spans: &[EdgeSpan], skew_ns: u64) -> Self {
        let places = spans
            .iter()
            .enumerate()
            .map(|(place, span)| ((span.parent.clone(), span.child.clone(), span.is_static), place))
            .collect();
        Self { spans: spans.to_vec(), places, skew_ns }
    }

    /// The place of an edge, a new one when it is new.
    fn place(&mut self, parent: &str, child: &str, is_static: bool) -> usize {
        // Old transform libraries write a leading slash; it is no part of the name.
        let parent = parent.strip_prefix('/').unwrap_or(parent);
        let child = child.strip_prefix('/').unwrap_or(child);
        let key = (Arc::from(parent), Arc::from(child), is_static);
        let next = self.spans.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            self.spans.push(EdgeSpan {
                parent: key.0,
                child: key.1,
                is_static,
                count: 0,
                first: LogTime::MAX,
                last: LogTime::ZERO,
            });
        }
        place
    }

    /// Adds a sample of the edge at a place.
    fn add(&mut self, place: usize, time: LogTime, log_time: LogTime) {
        self.skew_ns = self.skew_ns.max(time.abs_diff_ns(log_time));
        if let Some(span) = self.spans.get_mut(place) {
            span.count += 1;
            span.first = span.first.min(time);
            span.last = span.last.max(time);
        }
    }
}

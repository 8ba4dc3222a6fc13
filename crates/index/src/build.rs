use std::{collections::HashSet, path::Path, sync::Arc};

use ros2_memory_bag::{
    BagError, Contents, Declarations, ReadOptions, ScanBuffers, ScannedMessage, Source, Visitor,
    scan, scan_on,
};
use ros2_memory_msg::Library;

use crate::{
    BagEntry, IndexedMark, IndexedTypes, LatchedMessage, TopicNumbers, TopicWords, TransformPlan,
    channel_plans::{ChannelPlan, Readers},
    edges::Edges,
    take_labels::TopicLabels,
    take_numbers::NumbersTaken,
    texts::Texts,
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
    readers: Readers,
    /// What to do with the channels of the bag before: the splits of a session have the same.
    plans: Vec<ChannelPlan>,
    texts: Texts,
    types: Arc<IndexedTypes>,
    /// The declarations of the bag before and what is configured for them.
    last_mark: Option<(Arc<Declarations>, IndexedMark)>,
}

impl Indexer {
    /// An indexer of what `types` says, that takes definitions which a file lacks from `library`.
    pub fn new(types: Arc<IndexedTypes>, library: Arc<Library>) -> Self {
        Self {
            buffers: ScanBuffers::default(),
            readers: Readers::new(&types, library),
            plans: Vec::new(),
            texts: Texts::default(),
            types,
            last_mark: None,
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
        if known.is_none() {
            self.buffers.hold(&mut source)?;
        }
        let (mut contents, mut take) = self.pass(&mut source, options, known)?;
        if known.is_some() && !contents.damage.is_empty() {
            // What is searched for behind a break depends on all that the file has.
            (contents, take) = self.pass(&mut source, options, None)?;
        }
        take.miss_unplanned(&contents.declared);
        let Take { latched, edges, mut labels, numbers, .. } = take;
        let words = labels.iter_mut().filter_map(TopicLabels::words).collect();
        let labels = labels.into_iter().filter_map(TopicLabels::finish).collect();
        let numbers = numbers.into_iter().filter_map(NumbersTaken::finish).collect();
        let (edges, transform_skew_ns) = (edges.spans, edges.skew_ns);
        let indexed = self.mark(&contents.declared);
        let mark = source.content_mark(contents.read_to(source.len()))?;
        let identity = source.identity();
        self.buffers.take_back(source);
        Ok(BagEntry {
            path: path.clone(),
            identity,
            mark,
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

    fn mark(&mut self, declared: &Arc<Declarations>) -> IndexedMark {
        match &self.last_mark {
            Some((last, mark)) if Arc::ptr_eq(last, declared) => *mark,
            _ => {
                let mark = self.types.mark(declared);
                self.last_mark = Some((declared.clone(), mark));
                mark
            }
        }
    }

    /// Goes over a file, behind what is known of it.
    fn pass(
        &mut self,
        source: &mut Source,
        options: &ReadOptions,
        known: Option<&BagEntry>,
    ) -> Result<(Contents, Take<'_>), BagError> {
        let mut take = Take {
            readers: &mut self.readers,
            texts: &mut self.texts,
            plans: &mut self.plans,
            places: Vec::new(),
            before: known.map(Before::of).unwrap_or_default(),
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
    readers: &'t mut Readers,
    texts: &'t mut Texts,
    /// What to do with each channel, by place in the declarations; from the length of `places` on
    /// it is of the bag before.
    plans: &'t mut Vec<ChannelPlan>,
    places: Vec<ChannelPlaces>,
    /// What is known of a bag of which only what was added is gone over.
    before: Before,
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

/// Where a channel's topic stands in [`Take::labels`] and in [`Take::numbers`].
#[derive(Debug, Clone, Copy)]
struct ChannelPlaces {
    labels: Option<usize>,
    numbers: Option<usize>,
}

impl Visitor for Take<'_> {
    fn message(&mut self, contents: &Contents, message: &ScannedMessage<'_>) {
        let index = message.channel as usize;
        self.plan_up_to(&contents.declared, index);
        let Some(places) = self.places.get(index) else { return };
        let Some(plan) = self.plans.get_mut(index) else { return };
        if let Some((_, edges)) = &mut plan.transforms {
            let is_static = plan.is_latched;
            edges.read(
                &mut (&mut self.edges, &mut *self.texts),
                message.log_time,
                message.payload,
                |(edges, texts), parent, child| edges.place(texts, parent, child, is_static),
                |(edges, _), place, time| edges.add(place, time, message.log_time),
            );
        }
        if let Some(plan) = &plan.labels
            && let Some(labels) = places.labels.and_then(|topic| self.labels.get_mut(topic))
        {
            labels.take(self.texts, plan, message.log_time, message.payload);
        }
        if let Some(compiled) =
            plan.numbers.and_then(|reader| self.readers.numbers.compiled(reader))
            && let Some(numbers) = places.numbers.and_then(|topic| self.numbers.get_mut(topic))
        {
            numbers.take(compiled, message.log_time, message.payload);
        }
        if plan.is_latched {
            let plan = plan.transforms.as_ref().map(|(plan, _)| plan.clone());
            self.keep(message, plan.as_ref());
        }
    }
}

impl Take<'_> {
    /// Finds out what to do with the channels up to a place.
    fn plan_up_to(&mut self, declared: &Declarations, index: usize) {
        while self.places.len() <= index {
            let index = self.places.len();
            let place = u32::try_from(index).unwrap_or(u32::MAX);
            self.readers.plan(self.plans, declared, place);
            let (has_labels, numbers) = match self.plans.get(index) {
                Some(plan) => (plan.labels.is_some(), plan.numbers),
                None => (false, None),
            };
            let labels = has_labels.then(|| self.labels_of(declared, place));
            let numbers = numbers.and_then(|reader| self.numbers_of(declared, place, reader));
            self.places.push(ChannelPlaces { labels, numbers });
        }
    }

    /// Topics of which some channel has no definition that can be used, or is not configured.
    fn miss_unplanned(&mut self, declared: &Declarations) {
        if let Some(last) = declared.channels.len().checked_sub(1) {
            self.plan_up_to(declared, last);
        }
        for (channel, places) in declared.channels.iter().zip(&self.places) {
            let is_same =
                |other: u32| declared.channel(other).is_some_and(|of| of.topic == channel.topic);
            if places.labels.is_none() {
                let same = self.labels.iter_mut().filter(|labels| is_same(labels.channel()));
                same.for_each(TopicLabels::miss);
            }
            if places.numbers.is_none() {
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
        let (compiled, topic) = (self.readers.numbers.compiled(reader)?, topic(place)?);
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

//! Random directories of overlapping bags, kept in plain vectors as the truth.
//!
//! The sets look for the hard places: equal times across topics, bags and publishers, bags that
//! start together, messages out of order inside a chunk, one nanosecond between messages, names
//! whose order is not that of their making, every layout of the format.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use crate::{
    bags::{Compression, Layout, TestChannel, TestMessage, write_bag},
    content::{Content, Detection, Item, Kind, Place},
    payload::ByteOrder,
    prng::Prng,
};

/// One topic of a set; its type is the same in every bag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTopic {
    /// Name of the topic.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Whether its publishers are `transient_local`.
    pub latched: bool,
}

/// One publisher of a topic in a bag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetChannel {
    /// Unique in its bag.
    pub id: u16,
    /// Index into [`RandomSet::topics`].
    pub topic: usize,
}

/// One message of a bag.
#[derive(Debug, Clone, PartialEq)]
pub struct SetMessage {
    /// The `id` of a channel of its bag.
    pub channel: u16,
    /// Index into [`RandomSet::topics`].
    pub topic: usize,
    /// Nanoseconds since the Unix epoch.
    pub log_time_ns: u64,
    /// Nanoseconds since the Unix epoch.
    pub publish_time_ns: u64,
    /// As the record carries it.
    pub sequence: u32,
    /// What it says.
    pub content: Content,
    /// How its numbers are stored.
    pub order: ByteOrder,
}

/// One bag of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct SetBag {
    /// Below the directory of the set.
    pub path: PathBuf,
    /// How it is stored.
    pub layout: Layout,
    /// Declared in this order; some carry no message.
    pub channels: Vec<SetChannel>,
    /// In file order, which is not always the order of time.
    pub messages: Vec<SetMessage>,
}

/// A directory of bags.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomSet {
    /// What it grew from.
    pub seed: u64,
    /// One to five.
    pub topics: Vec<SetTopic>,
    /// One to six.
    pub bags: Vec<SetBag>,
}

/// The words that texts, detections and inventories are made of.
pub const LABELS: [&str; 7] =
    ["cup", "Scissors", "red Cup", "SCREWDRIVER", "\u{c4}pfel", "mug", "cupboard"];

/// Somewhere in 2023, where a double resolves 256 ns.
const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

impl RandomSet {
    /// Grows the set of `seed`, always the same one.
    pub fn new(seed: u64) -> Self {
        Grower::new(seed).grow()
    }

    /// Writes every bag below `dir`.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn write_into(&self, dir: &Path) -> io::Result<()> {
        for bag in &self.bags {
            let (channels, messages) = self.records_of(bag);
            write_bag(&dir.join(&bag.path), &channels, &messages, &bag.layout)?;
        }
        Ok(())
    }

    /// How many messages all bags hold.
    pub fn message_count(&self) -> usize {
        self.bags.iter().map(|bag| bag.messages.len()).sum()
    }

    fn records_of(&self, bag: &SetBag) -> (Vec<TestChannel>, Vec<TestMessage>) {
        let channels = bag.channels.iter().filter_map(|channel| {
            let topic = self.topics.get(channel.topic)?;
            Some(TestChannel {
                id: channel.id,
                topic: topic.name.clone(),
                type_name: topic.kind.type_name().to_owned(),
                definition: topic.kind.definition().to_owned(),
                latched: topic.latched,
            })
        });
        let messages = bag.messages.iter().map(|message| TestMessage {
            channel: message.channel,
            log_time_ns: message.log_time_ns,
            publish_time_ns: message.publish_time_ns,
            sequence: message.sequence,
            payload: message.content.payload(message.order, message.publish_time_ns),
        });
        (channels.collect(), messages.collect())
    }
}

/// Grows one set; the times are `start_ns` plus a few whole `step_ns`, so that ties are frequent.
struct Grower {
    seed: u64,
    prng: Prng,
    serial: u32,
    start_ns: u64,
    step_ns: u64,
    steps: u64,
    /// Added to places, so that some do not fit a single-precision number.
    origin_m: f64,
    splits_of_run: BTreeMap<u64, u32>,
}

impl Grower {
    fn new(seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let step_ns = *prng.pick(&[1, 7, 1_000, 1_000_000, 50_000_000, 100_000_000, 1_000_000_000]);
        Self {
            seed,
            serial: 0,
            start_ns: EPOCH_NS + prng.below(1_000_000_000_000_000),
            step_ns,
            steps: prng.between(3, 120),
            origin_m: *prng.pick(&[0.0, 0.0, -12.5, 16_777_216.0]),
            splits_of_run: BTreeMap::new(),
            prng,
        }
    }

    fn grow(mut self) -> RandomSet {
        let topics = self.topics();
        let mut letters: Vec<char> = ('a'..='f').collect();
        self.prng.shuffle(&mut letters);
        let bag_count = self.prng.index(6) + 1;
        let start_together = self.prng.chance(40);
        let bags = letters
            .iter()
            .take(bag_count)
            .map(|letter| self.bag(*letter, &topics, start_together))
            .collect();
        RandomSet { seed: self.seed, topics, bags }
    }

    fn topics(&mut self) -> Vec<SetTopic> {
        let mut names = ["/speech", "/arm/gripper", "/a", "/seen", "/zone_3/door", "/speech/raw"];
        self.prng.shuffle(&mut names);
        let count = self.prng.index(5) + 1;
        let topic = |name: &&str| SetTopic {
            name: (*name).to_owned(),
            kind: *self.prng.pick(&Kind::ALL),
            latched: self.prng.chance(8),
        };
        names.iter().take(count).map(topic).collect()
    }

    fn bag(&mut self, letter: char, topics: &[SetTopic], start_together: bool) -> SetBag {
        let path = self.path(letter);
        let channels = self.channels(topics.len());
        let first_step = if start_together { 0 } else { self.prng.below(self.steps) };
        let span = self.prng.between(1, self.steps - first_step);
        let mut messages = Vec::new();
        for (index, topic) in topics.iter().enumerate() {
            let publishers: Vec<u16> =
                channels.iter().filter(|c| c.topic == index).map(|c| c.id).collect();
            if publishers.is_empty() {
                continue;
            }
            for _ in 0..self.messages_of_a_topic() {
                let step = first_step + self.prng.below(span);
                let channel = *self.prng.pick(&publishers);
                messages.push(self.message(channel, index, topic.kind, step));
            }
        }
        if start_together && let Some(first) = messages.first_mut() {
            first.log_time_ns = self.start_ns;
        }
        self.put_in_file_order(&mut messages);
        SetBag { path, layout: self.layout(), channels, messages }
    }

    /// A loose file or the next split of a run. No name is such that its order depends on whether
    /// paths are compared by bytes or by components.
    fn path(&mut self, letter: char) -> PathBuf {
        if self.prng.chance(50) {
            let run = self.prng.below(2);
            let split = self.splits_of_run.entry(run).or_insert(0);
            let path = format!("run{run}/run{run}_{split}.mcap");
            *split += 1;
            path.into()
        } else {
            let folder = *self.prng.pick(&["", "", "old", "old/deep", "zone"]);
            Path::new(folder).join(format!("loose{letter}.mcap"))
        }
    }

    fn channels(&mut self, topics: usize) -> Vec<SetChannel> {
        let mut channels = Vec::new();
        let mut id = u16::try_from(self.prng.below(3)).unwrap_or(0);
        for topic in 0..topics {
            let publishers = *self.prng.pick(&[0, 1, 1, 1, 1, 1, 2, 3]);
            for _ in 0..publishers {
                channels.push(SetChannel { id, topic });
                id += u16::try_from(self.prng.between(1, 900)).unwrap_or(1);
            }
        }
        self.prng.shuffle(&mut channels);
        channels
    }

    fn messages_of_a_topic(&mut self) -> u64 {
        match self.prng.below(100) {
            0..15 => 0,
            15..75 => self.prng.between(1, 8),
            75..95 => self.prng.between(9, 25),
            _ => self.prng.between(26, 60),
        }
    }

    fn message(&mut self, channel: u16, topic: usize, kind: Kind, step: u64) -> SetMessage {
        self.serial += 1;
        let jitter_ns = if self.prng.chance(10) { self.prng.below(3) } else { 0 };
        let log_time_ns = self.start_ns + step * self.step_ns + jitter_ns;
        SetMessage {
            channel,
            topic,
            log_time_ns,
            publish_time_ns: log_time_ns - self.prng.below(5_000),
            sequence: self.serial,
            content: self.content(kind),
            order: if self.prng.chance(15) { ByteOrder::Big } else { ByteOrder::Little },
        }
    }

    fn content(&mut self, kind: Kind) -> Content {
        let serial = u64::from(self.serial);
        match kind {
            Kind::Text => Content::Text(self.text()),
            Kind::Number => {
                let size = f64::from(self.serial) + 0.25;
                Content::Number(size * self.prng.pick(&[1.0, -1.0, 1e6]))
            }
            Kind::Flag => Content::Flag(self.prng.chance(30)),
            Kind::Point => Content::Point { serial, place: self.odd_place() },
            Kind::Detections => {
                let seen = (0..self.prng.below(4))
                    .map(|_| Detection { label: self.label(), place: self.place() })
                    .collect();
                Content::Detections { serial, seen }
            }
            Kind::Inventory => {
                let items = (0..self.prng.below(3))
                    .map(|_| Item { label: self.label(), weights: self.weights() })
                    .collect();
                Content::Inventory { serial, items }
            }
        }
    }

    fn text(&mut self) -> String {
        let (label, other, serial) = (self.label(), self.label(), self.serial);
        match self.prng.below(5) {
            0 | 1 => format!("I saw a {label} #{serial}"),
            2 => format!("#{serial} near the {label}, maybe a {other}"),
            _ => format!("[\"{label}\",\"{other}\",\"#{serial}\"]"),
        }
    }

    fn label(&mut self) -> String {
        (*self.prng.pick(&LABELS)).to_owned()
    }

    fn weights(&mut self) -> Vec<f64> {
        (0..self.prng.below(4)).map(|_| self.quarters(40)).collect()
    }

    /// Quarters of a metre, of which sums and squares are exact.
    fn place(&mut self) -> Place {
        let (x, y, z) = (self.quarters(20), self.quarters(20), self.quarters(4));
        Place { x: self.origin_m + x, y: y - self.origin_m, z }
    }

    fn odd_place(&mut self) -> Place {
        let place = self.place();
        match self.prng.below(40) {
            0 => Place { x: f64::NAN, ..place },
            1 => Place { y: f64::INFINITY, ..place },
            2 => Place { x: f64::NEG_INFINITY, ..place },
            _ => place,
        }
    }

    fn quarters(&mut self, most: u32) -> f64 {
        f64::from(u32::try_from(self.prng.below(u64::from(most))).unwrap_or(0)) * 0.25
    }

    /// Sorted by time with ties at random; some bags a little out of order, some wholly.
    fn put_in_file_order(&mut self, messages: &mut [SetMessage]) {
        self.prng.shuffle(messages);
        if self.prng.chance(10) {
            return;
        }
        messages.sort_by_key(|message| message.log_time_ns);
        if messages.len() > 1 && self.prng.chance(30) {
            for _ in 0..=messages.len() / 4 {
                let at = self.prng.index(messages.len() - 1);
                messages.swap(at, at + 1);
            }
        }
    }

    fn layout(&mut self) -> Layout {
        Layout {
            chunked: self.prng.chance(80),
            compression: *self.prng.pick(&[Compression::None, Compression::Lz4, Compression::Zstd]),
            chunk_bytes: *self.prng.pick(&[1, 200, 1_000, 100_000]),
            with_summary: self.prng.chance(75),
            with_statistics: self.prng.chance(70),
            with_message_index: self.prng.chance(70),
            with_crc: self.prng.chance(60),
            repeat_schemas: self.prng.chance(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_set_again() {
        // By its text: NaN is not equal to itself.
        let text = |seed| format!("{:?}", RandomSet::new(seed));
        assert_eq!(text(11), text(11));
        assert_ne!(text(11), text(12));
    }

    #[test]
    fn the_hard_places_all_occur() {
        let sets: Vec<RandomSet> = (0..300).map(RandomSet::new).collect();
        let bags = || sets.iter().flat_map(|set| &set.bags);
        let out_of_order = |bag: &&SetBag| !bag.messages.is_sorted_by_key(|m| m.log_time_ns);
        assert!(bags().filter(out_of_order).count() > 100);
        assert!(bags().filter(|bag| bag.messages.is_empty()).count() > 10);
        assert!(bags().filter(|bag| bag.path.parent() == Some(Path::new("old/deep"))).count() > 10);
        assert!(bags().filter(|bag| bag.path.ends_with("run0_1.mcap")).count() > 10);
        for set in &sets {
            assert!((1..=6).contains(&set.bags.len()));
            assert!((1..=5).contains(&set.topics.len()));
            let paths: BTreeSet<_> = set.bags.iter().map(|bag| &bag.path).collect();
            assert_eq!(paths.len(), set.bags.len());
        }
        let with_ties_across_bags = sets.iter().filter(|set| {
            let mut seen = BTreeSet::new();
            set.bags.iter().any(|bag| {
                let times: BTreeSet<_> =
                    bag.messages.iter().map(|m| (m.topic, m.log_time_ns)).collect();
                let tied = times.iter().any(|time| seen.contains(time));
                seen.extend(times);
                tied
            })
        });
        assert!(with_ties_across_bags.count() > 50);
    }

    #[test]
    fn another_reader_finds_every_message_that_was_written() {
        let dir = tempfile::tempdir().unwrap();
        for seed in 0..10 {
            let set = RandomSet::new(seed);
            let dir = dir.path().join(seed.to_string());
            set.write_into(&dir).unwrap();
            for bag in &set.bags {
                let bytes = std::fs::read(dir.join(&bag.path)).unwrap();
                let read: Vec<_> = mcap::MessageStream::new(&bytes)
                    .unwrap()
                    .map(|message| message.unwrap())
                    .map(|message| (message.channel.id, message.log_time, message.sequence))
                    .collect();
                let written: Vec<_> = bag
                    .messages
                    .iter()
                    .map(|message| (message.channel, message.log_time_ns, message.sequence))
                    .collect();
                assert_eq!(read, written);
            }
        }
    }
}

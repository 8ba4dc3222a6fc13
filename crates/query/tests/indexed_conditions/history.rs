//! Random histories of bags on a disk: bags that are there from the start, that come late, grow,
//! are replaced and go.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::Path,
    time::{Duration, SystemTime},
};

use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, bag_bytes},
    mcap_bytes::walk,
    payload::ByteOrder,
    prng::Prng,
};

use crate::{
    said::{Said, Type},
    speaker::Speaker,
    truth::{Known, record},
};

/// A topic, and the types that it may have, one a channel.
pub(crate) const TOPICS: [(&str, &[Type]); 13] = [
    ("/text/scene_objects", &[Type::Text]),
    ("/text/speech", &[Type::Text, Type::Text, Type::Text, Type::Stamped]),
    ("/text/heard", &[Type::Stamped]),
    ("/text/log", &[Type::Log]),
    ("/seen", &[Type::Seen]),
    ("/number/load", &[Type::Float64, Type::Float64, Type::Float64, Type::Float32]),
    ("/number/small", &[Type::Float32]),
    ("/number/count", &[Type::Int32]),
    ("/number/estop", &[Type::Bool]),
    ("/number/battery", &[Type::Battery]),
    ("/twist", &[Type::Twist]),
    ("/odom", &[Type::Odometry]),
    ("/odom_goal", &[Type::Pose, Type::Pose, Type::Pose, Type::Point]),
];

/// A topic that has one message, long before all others.
pub(crate) const BEACON: &str = "/beacon";

const NONE: Compression = Compression::None;
const EPOCH_NS: u64 = 1_700_000_000_000_000_000;
const HOUR_NS: u64 = 3_600_000_000_000;

/// One message as it was recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) time: u64,
    /// By place in [`TOPICS`]; behind it for the beacon.
    pub(crate) topic: usize,
    pub(crate) of: Type,
    pub(crate) said: Said,
}

/// One file.
#[derive(Debug)]
pub(crate) struct Bag {
    /// Below the directory.
    pub(crate) path: String,
    /// The session that it is a part of.
    pub(crate) run: String,
    /// In file order.
    pub(crate) messages: Vec<Recorded>,
    bytes: Vec<u8>,
    /// Where it may be cut while it is being written, and how many messages it has then.
    cuts: Vec<(usize, usize)>,
    /// How much of it is there, by bytes and messages; none when there is no file.
    shown: (usize, usize),
}

/// What is in a directory, now and later.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) bags: Vec<Bag>,
    prng: Prng,
    /// Whether files without their ending were last written long ago: those that may still be
    /// written to are not written down in the catalog.
    is_old: bool,
    /// Whether no bag ever goes.
    is_kept: bool,
}

impl History {
    /// Writes what is there from the start of the history of `seed`.
    pub(crate) fn begin(seed: u64, dir: &Path) -> Self {
        let mut grower = Grower::new(seed);
        let bags = grower.bags();
        let (is_old, is_kept) = (grower.prng.chance(70), grower.prng.chance(40));
        let mut history = Self { bags, prng: grower.prng, is_old, is_kept };
        for place in 0..history.bags.len() {
            match history.prng.below(100) {
                0..12 if place > 0 => {}
                12..24 => history.show(dir, place, true),
                _ => history.show(dir, place, false),
            }
        }
        history
    }

    /// Lets some bags appear, grow, be replaced and go.
    pub(crate) fn go_on(&mut self, dir: &Path) {
        for place in 1..self.bags.len() {
            let (bag, percent) = (&self.bags[place], self.prng.below(100));
            let is_whole = bag.is_whole();
            match (bag.shown.0, percent) {
                (0, 0..70) => self.show(dir, place, percent < 10),
                (1.., 0..80) if !is_whole => self.show(dir, place, percent < 15),
                (1.., 80..88) if !self.is_kept => self.remove(dir, place),
                (1.., 88..92) if is_whole && !self.is_kept => {
                    let other = self.prng.index(self.bags.len() - 1) + 1;
                    self.replace(dir, place, other);
                }
                _ => {}
            }
        }
    }

    /// The bags of which there is a file.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Bag> {
        self.bags.iter().filter(|bag| bag.shown.0 > 0)
    }

    /// Whether the catalog has written down all that is there.
    pub(crate) fn is_written_down(&self) -> bool {
        self.is_old || self.present().all(Bag::is_whole)
    }

    /// All messages that are there, in the order of time.
    pub(crate) fn known(&self) -> Vec<Known<'_>> {
        let mut known: Vec<Known<'_>> = self.present().flat_map(Bag::known).collect();
        known.sort_by_key(Known::key);
        known
    }

    /// When each session ends.
    pub(crate) fn run_ends(&self) -> BTreeMap<&str, u64> {
        let mut ends = BTreeMap::new();
        for bag in self.present() {
            if let Some(last) = bag.visible().iter().map(|message| message.time).max() {
                let end = ends.entry(&*bag.run).or_insert(last);
                *end = last.max(*end);
            }
        }
        ends
    }

    fn show(&mut self, dir: &Path, place: usize, in_part: bool) {
        let bag = &mut self.bags[place];
        let before = bag.shown.0;
        let later: Vec<_> = bag.cuts.iter().filter(|(bytes, _)| *bytes > before).collect();
        bag.shown = if in_part && !later.is_empty() {
            **self.prng.pick(&later)
        } else {
            (bag.bytes.len(), bag.messages.len())
        };
        let path = dir.join(&bag.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(&bag.bytes[before..bag.shown.0]).unwrap();
        if self.is_old && !bag.is_whole() {
            file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
        }
    }

    fn remove(&mut self, dir: &Path, place: usize) {
        let bag = &mut self.bags[place];
        bag.shown = (0, 0);
        fs::remove_file(dir.join(&bag.path)).unwrap();
    }

    /// Puts the contents of another bag in the place of one.
    fn replace(&mut self, dir: &Path, place: usize, other: usize) {
        self.remove(dir, place);
        if place != other && self.bags[other].shown.0 == 0 {
            let (low, high) = (place.min(other), place.max(other));
            let (head, tail) = self.bags.split_at_mut(high);
            let (a, b) = (&mut head[low], &mut tail[0]);
            std::mem::swap(&mut a.path, &mut b.path);
            std::mem::swap(&mut a.run, &mut b.run);
            self.show(dir, other, false);
        }
    }
}

impl Bag {
    fn is_whole(&self) -> bool {
        self.shown.0 == self.bytes.len()
    }

    /// The messages that are there, in file order.
    pub(crate) fn visible(&self) -> &[Recorded] {
        &self.messages[..self.shown.1]
    }

    pub(crate) fn known(&self) -> impl Iterator<Item = Known<'_>> {
        let bag_start = self.visible().iter().map(|message| message.time).min();
        self.visible().iter().enumerate().map(move |(position, message)| Known {
            time: message.time,
            topic: topic_name(message.topic),
            bag_start: bag_start.unwrap_or_default(),
            bag_path: &self.path,
            position,
            run: &self.run,
            of: message.of,
            said: &message.said,
        })
    }
}

fn topic_name(topic: usize) -> &'static str {
    TOPICS.get(topic).map_or(BEACON, |(name, _)| name)
}

/// Grows the bags of one history.
struct Grower {
    prng: Prng,
    /// Those that are recorded at all.
    topics: Vec<usize>,
    start_ns: u64,
    step_ns: u64,
    /// How many steps a bag lasts.
    steps: u64,
    /// Whether most bags begin where the one before ended.
    is_in_order: bool,
    /// Whether, besides, no session records while another does.
    is_tidy: bool,
    /// Whether some numbers are none, or infinite.
    is_wild: bool,
    n_runs: u64,
    splits: BTreeMap<u64, u32>,
}

impl Grower {
    fn new(seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let mut topics: Vec<usize> = (0..TOPICS.len() - 2).collect();
        prng.shuffle(&mut topics);
        topics.truncate(prng.index(3) + 2);
        for topic in [TOPICS.len() - 2, TOPICS.len() - 1] {
            if prng.chance(65) {
                topics.push(topic);
            }
        }
        Self {
            topics,
            start_ns: EPOCH_NS + prng.below(1_000_000_000_000_000),
            step_ns: *prng.pick(&[1, 1_000_000, 100_000_000, 100_000_000, 1_000_000_000]),
            steps: prng.between(4, 40),
            is_in_order: prng.chance(75),
            is_tidy: prng.chance(60),
            is_wild: prng.chance(35),
            n_runs: prng.between(1, 4),
            splits: BTreeMap::new(),
            prng,
        }
    }

    fn bags(&mut self) -> Vec<Bag> {
        let n_bags = match self.prng.below(10) {
            0..2 => self.prng.between(2, 9),
            2..4 => self.prng.between(10, 24),
            _ => self.prng.between(26, 40),
        };
        let takes_turns = !self.is_tidy && self.prng.chance(30);
        let mut bags = vec![self.beacon()];
        let mut begin = 0;
        let mut last_run = 0;
        for number in 0..n_bags {
            let run = if takes_turns { number } else { number * self.n_runs / n_bags };
            let run = run % self.n_runs;
            let may_overlap = !self.is_tidy || run == last_run;
            last_run = run;
            let first = match self.is_in_order {
                true if may_overlap && self.prng.chance(6) => {
                    begin - self.prng.below(self.steps).min(begin)
                }
                true => begin,
                false => self.prng.below(n_bags * self.steps / 3 + 1),
            };
            begin = begin.max(first + self.steps + self.prng.below(3));
            bags.push(self.bag(number, run, first));
        }
        bags
    }

    fn beacon(&mut self) -> Bag {
        let message = Recorded {
            time: self.start_ns - HOUR_NS,
            topic: TOPICS.len(),
            of: Type::Bool,
            said: Said::Bool(true),
        };
        let declared = BTreeSet::from([TOPICS.len()]);
        self.written("beacon.mcap".into(), "beacon".into(), &declared, vec![message])
    }

    fn bag(&mut self, number: u64, run: u64, first_step: u64) -> Bag {
        let (path, run) = self.path(number, run);
        let mut speaker = Speaker::new(&mut self.prng, self.step_ns, self.is_wild);
        let (mut messages, mut declared) = (Vec::new(), BTreeSet::new());
        for topic in self.topics.clone() {
            let (name, types) = TOPICS[topic];
            if self.prng.chance(12) {
                continue;
            }
            declared.insert(topic);
            let n_messages = match self.prng.below(20) {
                0 => 0,
                1 => self.prng.between(10, 24),
                _ => self.prng.between(1, if name == "/odom" { 8 } else { 4 }),
            };
            let mut times: Vec<u64> = (0..n_messages).map(|_| self.time(first_step)).collect();
            // Poses follow each other on a way.
            times.sort_unstable();
            for time in times {
                let of = *self.prng.pick(types);
                let said = speaker.says(&mut self.prng, name, of, time);
                messages.push(Recorded { time, topic, of, said });
            }
        }
        self.put_in_file_order(&mut messages);
        self.written(path, run, &declared, messages)
    }

    fn time(&mut self, first_step: u64) -> u64 {
        let jitter_ns = if self.prng.chance(5) { self.prng.below(3) } else { 0 };
        let step = first_step + self.prng.below(self.steps);
        self.start_ns + step * self.step_ns + jitter_ns.min(self.step_ns - 1)
    }

    fn path(&mut self, number: u64, run: u64) -> (String, String) {
        if !self.is_tidy && self.prng.chance(8) {
            let name = format!("old/loose{number:03}x");
            return (format!("{name}.mcap"), name);
        }
        let split = self.splits.entry(run).or_default();
        let path = format!("run{run}/run{run}_{split}.mcap");
        *split += 1;
        (path, format!("run{run}"))
    }

    /// Sorted by time with ties as they came; some bags a little out of order.
    fn put_in_file_order(&mut self, messages: &mut [Recorded]) {
        messages.sort_by_key(|message| message.time);
        if messages.len() > 1 && self.prng.chance(8) {
            for _ in 0..=messages.len() / 4 {
                let at = self.prng.index(messages.len() - 1);
                messages.swap(at, at + 1);
            }
        }
    }

    fn written(
        &mut self,
        path: String,
        run: String,
        declared: &BTreeSet<usize>,
        messages: Vec<Recorded>,
    ) -> Bag {
        let layout = self.layout();
        let mut channels: Vec<TestChannel> = Vec::new();
        let mut places = BTreeMap::new();
        let said = messages.iter().map(|message| (message.topic, message.of));
        let empty = declared.iter().map(|topic| (*topic, first_type(*topic)));
        for (topic, of) in said.chain(empty) {
            if places.contains_key(&(topic, of)) {
                continue;
            }
            let id = u16::try_from(channels.len() * 7).unwrap();
            places.insert((topic, of), id);
            channels.push(TestChannel {
                id,
                topic: topic_name(topic).to_owned(),
                type_name: of.name().to_owned(),
                definition: of.definition(),
                latched: false,
            });
        }
        let records: Vec<_> = (0..)
            .zip(&messages)
            .map(|(sequence, message)| {
                let order = if self.prng.chance(5) { ByteOrder::Big } else { ByteOrder::Little };
                let payload = message.said.payload(order, message.time);
                record(places[&(message.topic, message.of)], sequence, message.time, payload)
            })
            .collect();
        let bytes = bag_bytes(&channels, &records, &layout).unwrap();
        let cuts = cuts(&bytes);
        Bag { path, run, messages, bytes, cuts, shown: (0, 0) }
    }

    fn layout(&mut self) -> Layout {
        Layout {
            chunked: self.prng.chance(85),
            // Inflating is tested elsewhere, and takes time.
            compression: *self.prng.pick(&[NONE, NONE, NONE, Compression::Lz4, Compression::Zstd]),
            chunk_bytes: *self.prng.pick(&[1, 400, 2_000, 100_000]),
            with_summary: self.prng.chance(80),
            with_statistics: self.prng.chance(80),
            with_message_index: self.prng.chance(80),
            with_crc: self.prng.chance(70),
            repeat_schemas: self.prng.chance(70),
        }
    }
}

fn first_type(topic: usize) -> Type {
    TOPICS.get(topic).map_or(Type::Bool, |(_, types)| types[0])
}

/// Behind which bytes a writer may have come so far, and how many messages there are then.
fn cuts(bytes: &[u8]) -> Vec<(usize, usize)> {
    let walked = walk(bytes).expect("a whole file");
    let holders = walked.holders.iter().enumerate();
    let cuts = holders.map(|(place, holder)| {
        let is_there = walked.messages.iter().filter(|message| message.holder <= place);
        (holder.record.end, is_there.count())
    });
    cuts.filter(|(_, n_messages)| *n_messages < walked.messages.len()).collect()
}

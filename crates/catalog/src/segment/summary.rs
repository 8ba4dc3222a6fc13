//! What the bags of a segment hold together.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{
    BagEntry, CodecError, EdgeSpan, LatchedMessage,
    codec::{Decoder, Encoder},
};
use ros2_memory_time::LogTime;

/// One topic over some bags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopicTotal {
    pub(crate) topic: Arc<str>,
    /// As the newest of the bags has it; empty when no file says.
    pub(crate) type_name: Arc<str>,
    pub(crate) count: u64,
    /// `None` when it was declared and nothing came.
    pub(crate) span: Option<(LogTime, LogTime)>,
}

/// One recording session over some bags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunTotal {
    pub(crate) key: PathBuf,
    pub(crate) first: LogTime,
    pub(crate) last: LogTime,
}

/// A latched message and the session that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct RunLatched {
    pub(crate) run: PathBuf,
    pub(crate) declared: Arc<Declarations>,
    pub(crate) message: LatchedMessage,
}

/// The totals of some bags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    pub(crate) n_bags: u64,
    pub(crate) n_open: u64,
    pub(crate) bag_bytes: u64,
    pub(crate) topics: Vec<TopicTotal>,
    pub(crate) runs: Vec<RunTotal>,
    pub(crate) edges: Vec<EdgeSpan>,
    /// By time within a bag, the bags in their order; without those that say what the one before
    /// from the same publisher said.
    pub(crate) latched: Vec<RunLatched>,
    /// The bags in which something is wrong.
    pub(crate) damaged: Vec<Arc<BagEntry>>,
}

/// Sums up bags, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Summing {
    summary: Summary,
    topics: HashMap<Arc<str>, usize>,
    runs: HashMap<PathBuf, usize>,
    edges: HashMap<(Arc<str>, Arc<str>, bool), usize>,
    last_latched: HashMap<(PathBuf, Arc<str>, u32), Arc<[u8]>>,
    /// The topics of the declarations that came last, by channel.
    places: Option<(Arc<Declarations>, Vec<usize>)>,
}

impl Summing {
    /// Adds a bag whose file exists; bags come by start time.
    pub(crate) fn add(&mut self, entry: &Arc<BagEntry>, run: &Path) {
        let contents = &entry.contents;
        self.summary.n_bags += 1;
        self.summary.n_open += u64::from(!contents.is_closed());
        if !contents.damage.is_empty() {
            self.summary.damaged.push(entry.clone());
        }
        self.declare(&contents.declared);
        let places = self.places.as_ref().map(|(_, places)| places.as_slice()).unwrap_or_default();
        for seen in contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
            let place = places.get(seen.channel as usize);
            let Some(total) = place.and_then(|place| self.summary.topics.get_mut(*place)) else {
                continue;
            };
            total.count += u64::from(seen.count);
            let (first, last) = total.span.unwrap_or((seen.first, seen.last));
            total.span = Some((first.min(seen.first), last.max(seen.last)));
        }
        if let Some((first, last)) = contents.time_span() {
            self.summary.bag_bytes += entry.identity.size_bytes;
            let place = *self.runs.entry(run.to_owned()).or_insert_with(|| {
                self.summary.runs.push(RunTotal { key: run.to_owned(), first, last });
                self.summary.runs.len() - 1
            });
            if let Some(total) = self.summary.runs.get_mut(place) {
                total.first = total.first.min(first);
                total.last = total.last.max(last);
            }
        }
        for edge in &entry.edges {
            self.add_edge(edge);
        }
        self.add_latched(entry, run);
    }

    /// Adds a bag whose file is gone: what it latched holds on for the rest of its session.
    pub(crate) fn add_gone(&mut self, entry: &BagEntry, run: &Path) {
        if entry.latched.is_empty() {
            return;
        }
        for edge in &entry.edges {
            self.add_edge(edge);
        }
        self.add_latched(entry, run);
    }

    pub(crate) fn finish(self) -> Summary {
        self.summary
    }

    /// Most bags declare what the one before did.
    fn declare(&mut self, declared: &Arc<Declarations>) {
        if self.places.as_ref().is_some_and(|(last, _)| Arc::ptr_eq(last, declared)) {
            return;
        }
        let places = declared
            .channels
            .iter()
            .map(|channel| {
                let type_name = declared.type_name(channel);
                let place = *self.topics.entry(channel.topic.clone()).or_insert_with(|| {
                    self.summary.topics.push(TopicTotal {
                        topic: channel.topic.clone(),
                        type_name: Arc::default(),
                        count: 0,
                        span: None,
                    });
                    self.summary.topics.len() - 1
                });
                if let Some(total) = self.summary.topics.get_mut(place)
                    && *total.type_name != *type_name
                    && !type_name.is_empty()
                {
                    total.type_name = type_name.into();
                }
                place
            })
            .collect();
        self.places = Some((declared.clone(), places));
    }

    fn add_edge(&mut self, edge: &EdgeSpan) {
        let key = (edge.parent.clone(), edge.child.clone(), edge.is_static);
        let known = self.edges.get(&key).and_then(|place| self.summary.edges.get_mut(*place));
        if let Some(known) = known {
            known.count += edge.count;
            known.first = known.first.min(edge.first);
            known.last = known.last.max(edge.last);
        } else {
            self.edges.insert(key, self.summary.edges.len());
            self.summary.edges.push(edge.clone());
        }
    }

    fn add_latched(&mut self, entry: &BagEntry, run: &Path) {
        let declared = &entry.contents.declared;
        for message in &entry.latched {
            let Some(channel) = declared.channel(message.channel) else { continue };
            let key = (run.to_owned(), channel.topic.clone(), message.channel);
            let last = self.last_latched.entry(key).or_default();
            if Arc::ptr_eq(last, &message.payload) || **last == *message.payload {
                continue;
            }
            last.clone_from(&message.payload);
            self.summary.latched.push(RunLatched {
                run: run.to_owned(),
                declared: declared.clone(),
                message: message.clone(),
            });
        }
    }
}

impl Summary {
    /// Without the damaged bags, which are found by their rows.
    pub(crate) fn encode(&self, out: &mut Encoder, declared: &[Arc<Declarations>]) {
        use std::os::unix::ffi::OsStrExt;
        for number in [self.n_bags, self.n_open, self.bag_bytes] {
            out.number(number);
        }
        out.number(self.topics.len() as u64);
        for total in &self.topics {
            out.bytes(total.topic.as_bytes());
            out.bytes(total.type_name.as_bytes());
            out.number(total.count);
            out.number(total.span.is_some().into());
            let (first, last) = total.span.unwrap_or_default();
            out.number(first.as_ns());
            out.near(first.as_ns(), last.as_ns());
        }
        out.number(self.runs.len() as u64);
        for run in &self.runs {
            out.bytes(run.key.as_os_str().as_bytes());
            out.number(run.first.as_ns());
            out.near(run.first.as_ns(), run.last.as_ns());
        }
        out.number(self.edges.len() as u64);
        for edge in &self.edges {
            out.bytes(edge.parent.as_bytes());
            out.bytes(edge.child.as_bytes());
            out.number(edge.is_static.into());
            out.number(edge.count);
            out.number(edge.first.as_ns());
            out.near(edge.first.as_ns(), edge.last.as_ns());
        }
        out.number(self.latched.len() as u64);
        for latched in &self.latched {
            let number = declared.iter().position(|known| Arc::ptr_eq(known, &latched.declared));
            out.bytes(latched.run.as_os_str().as_bytes());
            out.number(number.unwrap_or_default() as u64);
            out.number(latched.message.channel.into());
            out.number(latched.message.log_time.as_ns());
            out.bytes(&latched.message.payload);
        }
    }

    pub(crate) fn decode(
        from: &mut Decoder<'_>,
        declared: &[Arc<Declarations>],
    ) -> Result<Self, CodecError> {
        let (n_bags, n_open, bag_bytes) = (from.number()?, from.number()?, from.number()?);
        let topics = (0..from.count()?)
            .map(|_| {
                let (topic, type_name) = (from.text()?.into(), from.text()?.into());
                let (count, has_span) = (from.number()?, from.number()? != 0);
                let span = span(from)?;
                Ok(TopicTotal { topic, type_name, count, span: has_span.then_some(span) })
            })
            .collect::<Result<_, CodecError>>()?;
        let runs = (0..from.count()?)
            .map(|_| {
                let key = path(from)?;
                let (first, last) = span(from)?;
                Ok(RunTotal { key, first, last })
            })
            .collect::<Result<_, CodecError>>()?;
        let edges = (0..from.count()?)
            .map(|_| {
                let (parent, child) = (from.text()?.into(), from.text()?.into());
                let (is_static, count) = (from.number()? != 0, from.number()?);
                let (first, last) = span(from)?;
                Ok(EdgeSpan { parent, child, is_static, count, first, last })
            })
            .collect::<Result<_, CodecError>>()?;
        let latched = (0..from.count()?)
            .map(|_| {
                let run = path(from)?;
                let number: u32 = from.small("declarations")?;
                let found = number.into();
                let declared = declared.get(number as usize).ok_or(CodecError::Value {
                    offset: 0,
                    what: "declarations",
                    found,
                })?;
                let message = LatchedMessage {
                    channel: from.small("channel")?,
                    log_time: LogTime::from_ns(from.number()?),
                    payload: from.bytes()?.into(),
                };
                Ok(RunLatched { run, declared: declared.clone(), message })
            })
            .collect::<Result<_, CodecError>>()?;
        let damaged = Vec::new();
        Ok(Self { n_bags, n_open, bag_bytes, topics, runs, edges, latched, damaged })
    }
}

fn span(from: &mut Decoder<'_>) -> Result<(LogTime, LogTime), CodecError> {
    let first = from.number()?;
    Ok((LogTime::from_ns(first), LogTime::from_ns(from.near(first)?)))
}

fn path(from: &mut Decoder<'_>) -> Result<PathBuf, CodecError> {
    use std::os::unix::ffi::OsStrExt;
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(from.bytes()?)))
}

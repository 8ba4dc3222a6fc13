//! One call: its snapshot, its clock, what it may cost and what it has cost.

use std::{collections::HashMap, path::Path, sync::Arc};

use ros2_memory_bag::{
    Channel, Declarations, Direction, Message, ReadOptions, Timeline, TimelineReport,
};
use ros2_memory_catalog::{Snapshot, TopicSummary};
use ros2_memory_msg::spread;
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use crate::{
    CallContext, CallStats, ErrorCode, JsonOptions, Settings, TypeCache, TypeView,
    extract::extract, handle::handle, names, refusal::Refusal, steps::Steps,
};

/// From so many bags it is reckoned how much there is to read.
const SAMPLED_BAGS: usize = 16;
/// Data this much older than the wall clock makes `seconds_ago` worth a warning.
pub(crate) const STALE_NS: u64 = 60_000_000_000;

/// A call that is being answered.
pub(crate) struct Query<'m> {
    pub(crate) settings: &'m Settings,
    pub(crate) types: &'m TypeCache,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) context: &'m CallContext,
    pub(crate) read: ReadOptions,
    /// What `seconds_ago` and `"now"` count from.
    pub(crate) now: LogTime,
    /// How values are shown in this reply.
    pub(crate) json: JsonOptions,
    /// What must be said about the whole answer.
    pub(crate) notes: Vec<String>,
    pub(crate) stats: CallStats,
    pub(crate) steps: Arc<Steps>,
    /// The types of channels, by the declarations that hold them and their place there.
    views: HashMap<(*const Declarations, u32), Arc<TypeView>>,
}

impl<'m> Query<'m> {
    pub(crate) fn new(
        settings: &'m Settings,
        types: &'m TypeCache,
        snapshot: Arc<Snapshot>,
        context: &'m CallContext,
        read: ReadOptions,
        now: LogTime,
    ) -> Self {
        let json = JsonOptions {
            max_items: settings.max_array_length,
            max_text_chars: 4000,
            bytes: crate::BytesForm::Length,
            with_angles: true,
        };
        let mut notes = Vec::new();
        match snapshot.progress() {
            Some(progress) if progress.total == 0 => {
                notes.push("still indexing: the bag directory is being looked through".to_owned());
            }
            Some(progress) => notes.push(format!(
                "still indexing: {} of {} bags are known, the newest first",
                progress.done, progress.total
            )),
            None => {}
        }
        Self {
            settings,
            types,
            snapshot,
            context,
            read,
            now,
            json,
            notes,
            stats: CallStats::default(),
            steps: Arc::new(Steps::new()),
            views: HashMap::new(),
        }
    }

    /// The messages of some topics in timeline order. The stream ends when the call must.
    pub(crate) fn timeline(
        &self,
        topics: &[&TopicSummary],
        range: TimeRange,
        direction: Direction,
    ) -> Timeline<'m> {
        let places = self.snapshot.bags_touching(topics, range);
        self.timeline_over(&places, topics, range, direction)
    }

    /// As [`Self::timeline`], over these bags only.
    pub(crate) fn timeline_over(
        &self,
        bags: &[u32],
        topics: &[&TopicSummary],
        range: TimeRange,
        direction: Direction,
    ) -> Timeline<'m> {
        let parts = self.snapshot.timeline_parts(bags.to_vec());
        let mut names: Vec<Arc<str>> = topics.iter().map(|topic| topic.topic.clone()).collect();
        names.sort();
        let select = move |channel: &Channel| {
            let rank = names.binary_search(&channel.topic).ok()?;
            u32::try_from(rank).ok()
        };
        self.steps.expect(self.n_chunks(bags, topics, range));
        Timeline::new(parts, range, direction, self.read, select, self.stop())
    }

    /// Asked in front of every chunk: tells progress, and says when the call must end.
    fn stop(&self) -> impl Fn() -> bool + Send + use<'m> {
        let (context, steps) = (self.context, self.steps.clone());
        move || {
            if context.progress.is_some() {
                steps.add(1, context);
            }
            context.should_stop()
        }
    }

    /// # Errors
    ///
    /// [`ErrorCode::Timeout`] when the call must end; `hint` says how to ask for less.
    pub(crate) fn check_time(&self, hint: &str) -> Result<(), Refusal> {
        if self.context.should_stop() {
            return Err(
                Refusal::new(ErrorCode::Timeout, "the time limit ended the search").hint(hint)
            );
        }
        Ok(())
    }

    /// About how many chunks will be read: for progress, reckoned from a few of the bags.
    pub(crate) fn n_chunks(&self, bags: &[u32], topics: &[&TopicSummary], range: TimeRange) -> u64 {
        if self.context.progress.is_none() {
            return 0;
        }
        let sample: Vec<u32> =
            spread(bags.len(), SAMPLED_BAGS).filter_map(|index| bags.get(index).copied()).collect();
        let n_chunks: usize = sample
            .iter()
            .filter_map(|place| self.snapshot.bag(*place))
            .map(|bag| {
                let declared = &bag.entry.contents.declared;
                let is_wanted = |channel: u32| {
                    let channel = declared.channel(channel);
                    channel.is_some_and(|channel| topics.iter().any(|t| t.topic == channel.topic))
                };
                let chunks = bag.entry.contents.chunks.iter();
                chunks
                    .filter(|chunk| {
                        chunk.channels.iter().any(|seen| {
                            range.touches(seen.first, seen.last) && is_wanted(seen.channel)
                        })
                    })
                    .count()
            })
            .sum();
        (n_chunks * bags.len() / sample.len().max(1)) as u64
    }

    /// Something to be said about the whole answer, once.
    pub(crate) fn note(&mut self, words: String) {
        if !self.notes.contains(&words) {
            self.notes.push(words);
        }
    }

    /// Says so when damaged bags may have lost messages of some topics within a range.
    pub(crate) fn note_losses(&mut self, topics: &[&TopicSummary], range: TimeRange) {
        let n_bags = self.snapshot.losses(topics, range);
        if n_bags > 0 {
            self.note(format!(
                "{n_bags} bags of that time are damaged: what is whole in them was searched"
            ));
        }
    }

    /// Takes what a timeline cost into account, and what it had to pass over.
    ///
    /// # Errors
    ///
    /// `timeout` when the call's limit ended the timeline; `covered` says what was read by then.
    pub(crate) fn account(
        &mut self,
        report: &TimelineReport,
        covered: Option<TimeRange>,
    ) -> Result<(), Refusal> {
        self.stats.bags_opened += report.bags_opened;
        self.stats.chunks_read += report.chunks_read;
        self.stats.chunk_bytes += report.chunk_bytes;
        self.stats.messages_scanned += report.messages_scanned;
        if let Some((path, first)) = report.skipped.first() {
            self.note(format!(
                "{} parts of the recording could not be read and were left out: {}",
                report.skipped.len(),
                self.without_root(path, &first.to_string())
            ));
        }
        if !report.was_stopped {
            return Ok(());
        }
        let detail = match covered {
            Some(range) => format!(
                "the time limit ended the search; read was {} to {}",
                range.start, range.end
            ),
            None => "the time limit ended the search before the first message".to_owned(),
        };
        let refusal = Refusal::new(ErrorCode::Timeout, detail).hint("ask for a shorter range");
        Err(match covered {
            Some(range) => refusal.with(
                "covered",
                json!({"start": range.start.to_unix_s(), "end": range.end.to_unix_s()}),
            ),
            None => refusal,
        })
    }

    /// Words about a bag with its path from the bag directory: where that lies is no answer.
    fn without_root(&self, path: &Path, words: &str) -> String {
        let shown = path.strip_prefix(self.snapshot.root()).unwrap_or(Path::new(""));
        words.replace(&path.display().to_string(), &shown.display().to_string())
    }

    /// How to read the messages of a channel.
    pub(crate) fn view(&mut self, declared: &Arc<Declarations>, place: u32) -> Arc<TypeView> {
        let types = self.types;
        self.views
            .entry((Arc::as_ptr(declared), place))
            .or_insert_with(|| match declared.channel(place) {
                Some(channel) => types.view(declared, channel),
                None => unreachable!("messages are of declared channels"),
            })
            .clone()
    }

    /// A message as the tools show it.
    ///
    /// # Errors
    ///
    /// `decode_failed` with the reason.
    pub(crate) fn sample(&mut self, message: &Message<'_>) -> Result<Json, Refusal> {
        self.sample_of(
            &message.contents.declared,
            message.channel_index,
            message.log_time,
            message.payload,
        )
    }

    /// As [`Self::sample`], for a message that is no part of a timeline.
    pub(crate) fn sample_of(
        &mut self,
        declared: &Arc<Declarations>,
        channel: u32,
        log_time: LogTime,
        payload: &[u8],
    ) -> Result<Json, Refusal> {
        let topic = declared.channel(channel).map_or_else(Arc::default, |c| c.topic.clone());
        let view = self.view(declared, channel);
        let mut map = Map::new();
        map.insert("timestamp".into(), json!(log_time.to_unix_s()));
        map.insert("timestamp_ns".into(), json!(log_time.as_ns().to_string()));
        map.insert("topic".into(), json!(&*topic));
        map.insert("type".into(), json!(&*view.type_name));
        let extracted = extract(&view, payload, self.json).map_err(|reason| {
            Refusal::new(ErrorCode::DecodeFailed, format!("{topic}: {reason}"))
                .with("timestamp", json!(log_time.to_unix_s()))
                .with("timestamp_ns", json!(log_time.as_ns().to_string()))
        })?;
        map.insert("value".into(), extracted.value);
        map.insert("age_s".into(), json!(self.age_s(log_time)));
        map.insert("handle".into(), json!(handle(&topic, log_time)));
        if !extracted.notes.is_empty() {
            map.insert("notes".into(), json!(extracted.notes));
        }
        Ok(Json::Object(map))
    }

    /// How long ago a moment is, in seconds, to the millisecond; negative when it lies ahead.
    pub(crate) fn age_s(&self, at: LogTime) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a span")]
        let ms = (self.now.abs_diff_ns(at) / 1_000_000) as f64;
        let age = ms / 1e3;
        if at > self.now { -age } else { age }
    }

    /// Within which time before the moment asked a message of this topic still answers.
    pub(crate) fn tolerance_ns(&self, topic: &str, argument: Option<u64>) -> u64 {
        let configured = || {
            let per_topic = self.settings.time_tolerance_per_topic_ns.iter();
            per_topic
                .filter(|(pattern, _)| {
                    pattern == topic
                        || (names::is_glob(pattern)
                            && names::glob(pattern).is_some_and(|glob| glob.is_match(topic)))
                })
                .map(|(_, ns)| *ns)
                .next()
        };
        argument.or_else(configured).unwrap_or(self.settings.time_tolerance_ns)
    }

    /// The recorded range, for a refusal.
    pub(crate) fn recorded(&self) -> String {
        match self.snapshot.time_span() {
            Some((first, last)) => format!("recorded is {first} to {last}"),
            None => "nothing is recorded".to_owned(),
        }
    }
}

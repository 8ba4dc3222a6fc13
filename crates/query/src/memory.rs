use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use ros2_memory_bag::{Losses, ReadOptions};
use ros2_memory_catalog::{Catalog, CatalogError, Snapshot};
use ros2_memory_time::LogTime;
use serde_json::{Map, Value};

use crate::{
    CallContext, CallStats, ErrorCode, Now, Reply, SchemaMap, Settings, TypeCache,
    answers::range::{each_sample, end_note},
    budget,
    names::repeated,
    query::{Query, STALE_NS},
    refusal::{Answer, Refusal},
    tools::{Arguments, TOOLS, ToolSpec},
};

/// A robot's memory: the handle through which every carrier asks. Clones share it.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    catalog: Catalog,
    settings: Settings,
    types: TypeCache,
    read: ReadOptions,
    chunks_read: AtomicU64,
    messages_scanned: AtomicU64,
}

/// Why a memory could not be opened.
pub type MemoryError = CatalogError;

/// One number of `/metrics`.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Prometheus name without the `ros2_memory_` prefix; `_total` at the end of a counter.
    pub name: &'static str,
    /// One line for people.
    pub help: &'static str,
    /// `true` for a counter, `false` for a gauge.
    pub is_counter: bool,
    /// The present value.
    pub value: f64,
}

impl Memory {
    /// Opens the memory over a bag directory. Returns at once: answers say so while bags are
    /// still being indexed.
    ///
    /// # Errors
    ///
    /// As [`Catalog::open`].
    pub fn open(
        catalog: ros2_memory_catalog::Settings,
        settings: Settings,
        map: SchemaMap,
    ) -> Result<Self, MemoryError> {
        let types = TypeCache::new(catalog.library.clone(), map);
        let read = catalog.read;
        let catalog = Catalog::open(catalog)?;
        Ok(Self(Arc::new(Inner {
            catalog,
            settings,
            types,
            read,
            chunks_read: AtomicU64::new(0),
            messages_scanned: AtomicU64::new(0),
        })))
    }

    /// Waits until the bag directory was looked through once, at most `limit`; returns whether
    /// it was.
    pub fn wait_until_indexed(&self, limit: Duration) -> bool {
        self.0.catalog.wait_until_indexed(limit)
    }

    /// What is recorded, as of now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.catalog.snapshot()
    }

    /// The bag directory's catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }

    /// How questions are answered.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Answers one tool. Never panics on what the caller gave.
    pub fn call(&self, tool: &str, arguments: &Map<String, Value>, context: &CallContext) -> Reply {
        let Some(spec) = ToolSpec::named(tool) else {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let shown = repeated(tool);
            return Refusal::bad_argument(format!("there is no tool {shown:?}"))
                .hint(format!("the tools are {}", names.join(", ")))
                .into_reply();
        };
        self.answer(context, |query| {
            let given = Arguments::new(spec.arguments, arguments, query.now)?;
            let most = self.0.settings.reply_bytes.saturating_mul(10);
            let max_bytes = given
                .count(crate::tools::MAX_BYTES, most as u64)?
                .unwrap_or(self.0.settings.reply_bytes);
            let mut reply = (spec.answer)(query, &given)?;
            // A list says it in its last element, and null has no place for it.
            if let Value::Object(map) = &mut reply
                && !query.notes.is_empty()
            {
                let own = map.get("note").and_then(Value::as_str).map(ToOwned::to_owned);
                let words: Vec<String> = own.into_iter().chain(query.notes.clone()).collect();
                map.insert("note".into(), Value::String(words.join("; ")));
            }
            Ok(budget::fit(reply, max_bytes))
        })
    }

    /// Hands every sample of a topic's range to `sink` as it is read, downsampled to
    /// `max_samples`; `sink` may stop it. Arguments as for `get_topic_in_range`. The reply is
    /// null, or the error that ended the samples.
    pub fn stream_samples(
        &self,
        arguments: &Map<String, Value>,
        context: &CallContext,
        sink: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Reply {
        let Some(spec) = ToolSpec::named("get_topic_in_range") else {
            unreachable!("the tool is in the list")
        };
        self.answer(context, |query| {
            let given = Arguments::new(spec.arguments, arguments, query.now)?;
            let window = given.window(query)?;
            let thinning = given.thinning()?;
            let mut returned = 0;
            let topic = given.text("topic")?;
            let total = each_sample(query, topic, window, &thinning, &mut |sample| {
                returned += 1;
                sink(sample)
            })?;
            if let Some(end) = end_note(query, window, &thinning, total, returned) {
                // Whether anybody still listens matters no more.
                let _stopped = sink(end);
            }
            Ok(Value::Null)
        })
    }

    /// What the memory holds and has met, for `/metrics` and `/healthz`.
    pub fn metrics(&self) -> Vec<Metric> {
        let snapshot = self.0.catalog.last_snapshot();
        let mut lost = Losses::default();
        for entry in snapshot.damaged() {
            lost += entry.contents.losses();
        }
        let with_damage = snapshot.damaged().len();
        let newest = snapshot.time_span().map_or(0.0, |(_, last)| last.to_unix_s());
        let gauge = |name, help, value| Metric { name, help, is_counter: false, value };
        let counter = |name, help, value| Metric { name, help, is_counter: true, value };
        #[expect(clippy::cast_precision_loss, reason = "metrics are doubles")]
        let number = |n: u64| n as f64;
        vec![
            gauge("bags", "Bags that are known", number(snapshot.n_bags() as u64)),
            gauge("bag_bytes", "Bytes of all bags with messages", number(snapshot.bag_bytes())),
            gauge("messages", "Messages that can be served", number(snapshot.n_messages())),
            gauge("bags_unclosed", "Bags without their ending", number(snapshot.n_open())),
            gauge("bags_damaged", "Bags in which something is wrong", number(with_damage as u64)),
            gauge("chunks_damaged", "Chunks that are not served", number(lost.chunks)),
            gauge(
                "chunks_damaged_bytes",
                "Stored bytes of chunks that are not served",
                number(lost.chunk_bytes),
            ),
            gauge(
                "breaks",
                "Places where no record could be read and the next whole one was searched for",
                number(lost.breaks),
            ),
            gauge(
                "breaks_skipped_bytes",
                "Bytes between these places and the next whole records",
                number(lost.skipped_bytes),
            ),
            gauge(
                "messages_unserved",
                "Messages of no declared channel, or dated after 2262",
                number(lost.messages),
            ),
            gauge(
                "files_refused",
                "Files that bear the name of a recording and cannot be indexed",
                number(snapshot.refused().len() as u64),
            ),
            gauge("newest_message_timestamp_seconds", "The latest log time", newest),
            gauge(
                "indexing",
                "1 while the bag directory is being indexed",
                f64::from(u8::from(self.is_indexing())),
            ),
            counter(
                "refreshes_total",
                "How often the bag directory was looked through",
                number(self.0.catalog.n_refreshes()),
            ),
            counter(
                "chunks_read_total",
                "Chunks that were read to answer",
                number(self.0.chunks_read.load(Ordering::Relaxed)),
            ),
            counter(
                "messages_scanned_total",
                "Messages that were looked at to answer",
                number(self.0.messages_scanned.load(Ordering::Relaxed)),
            ),
        ]
    }

    /// Whether the first index of the directory is still being built.
    pub fn is_indexing(&self) -> bool {
        self.0.catalog.n_refreshes() == 0 || self.0.catalog.last_snapshot().progress().is_some()
    }

    fn answer(
        &self,
        context: &CallContext,
        answer: impl FnOnce(&mut Query<'_>) -> Answer,
    ) -> Reply {
        let started = Instant::now();
        let inner = &self.0;
        let snapshot = inner.catalog.snapshot();
        let now = now(inner.settings.now, &snapshot);
        let mut stats = CallStats::default();
        // The second line behind code that has no panic: one call must not end a server.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut query =
                Query::new(&inner.settings, &inner.types, snapshot, context, inner.read, now);
            let outcome = answer(&mut query);
            stats = query.stats;
            // What could not be searched may be why there is no answer.
            outcome.map_err(|refusal| match query.notes.as_slice() {
                [] => refusal,
                notes => refusal.with("note", notes.join("; ")),
            })
        }));
        let mut reply = match outcome {
            Ok(Ok(value)) => Reply::answer(value),
            Ok(Err(refusal)) => refusal.into_reply(),
            Err(_panic) => {
                Reply::error(ErrorCode::Internal, "a fault of the program; its log says more", None)
            }
        };
        inner.chunks_read.fetch_add(stats.chunks_read, Ordering::Relaxed);
        inner.messages_scanned.fetch_add(stats.messages_scanned, Ordering::Relaxed);
        reply.stats = CallStats { duration: started.elapsed(), ..stats };
        reply
    }
}

/// What "now" is: the wall clock, or the newest recorded time that does not lie in the future.
fn now(setting: Now, snapshot: &Snapshot) -> LogTime {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let wall = LogTime::from_ns(u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX));
    if setting == Now::Wall {
        return wall;
    }
    let limit = wall.saturating_add_ns(STALE_NS);
    let newest_in = |place: u32| {
        let (_, last) = snapshot.span(place)?;
        if last <= limit {
            return Some(last);
        }
        // One message of a broken clock does not take its bag's others along.
        let bag = snapshot.bag(place)?;
        let chunks = bag.entry.contents.chunks.iter().flat_map(|chunk| &chunk.channels);
        chunks.map(|seen| seen.last).filter(|last| *last <= limit).max()
    };
    let mut past = None;
    for place in (0..snapshot.n_places()).rev() {
        if past.is_some() && past >= snapshot.latest_up_to(place) {
            break;
        }
        past = past.max(newest_in(place));
    }
    past.or_else(|| snapshot.time_span().map(|(_, last)| last)).unwrap_or(wall)
}

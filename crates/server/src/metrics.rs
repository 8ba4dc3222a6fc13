use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text},
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::{ConstGauge, Gauge},
        histogram::Histogram,
    },
    registry::Registry,
};
use ros2_memory_query::CallStats;

use crate::port::Port;

/// The content type of what [`Metrics::render`] gives.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds in seconds: from a look-up in the catalog to the default time limit.
const DURATION_BOUNDS_S: [f64; 11] =
    [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 25.0, 60.0];

type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// Counts calls and sessions, and shows them beside the memory's own numbers.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    calls: Family<Labels<3>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    sessions: Family<Labels<1>, Gauge>,
    chunks_read: Counter,
    messages_scanned: Counter,
}

impl Metrics {
    pub(crate) fn new(port: Arc<dyn Port>) -> Self {
        let mut registry = Registry::with_prefix("ros2_memory");
        let calls = Family::default();
        let durations: Family<Labels<1>, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(DURATION_BOUNDS_S));
        let sessions = Family::default();
        let chunks_read = Counter::default();
        let messages_scanned = Counter::default();
        registry.register("calls", "Calls that ended", calls.clone());
        registry.register("call_duration_seconds", "Time from request to reply", durations.clone());
        registry.register("sessions", "Sessions that are open", sessions.clone());
        registry.register("call_chunks_read", "Chunks that calls read", chunks_read.clone());
        registry.register(
            "call_messages_scanned",
            "Message records that calls looked at",
            messages_scanned.clone(),
        );
        registry.register_collector(Box::new(PortCollector(port)));
        Self {
            registry: Mutex::new(registry),
            calls,
            durations,
            sessions,
            chunks_read,
            messages_scanned,
        }
    }

    /// Counts a call that ended. `tool` is the name of a tool that exists, so that what peers
    /// send cannot grow the table.
    pub(crate) fn count_call(
        &self,
        tool: Cow<'static, str>,
        carrier: &'static str,
        outcome: &'static str,
        duration: Duration,
        stats: &CallStats,
    ) {
        let labels =
            [("tool", tool.clone()), ("carrier", carrier.into()), ("outcome", outcome.into())];
        self.calls.get_or_create(&labels).inc();
        self.durations.get_or_create(&[("tool", tool)]).observe(duration.as_secs_f64());
        self.chunks_read.inc_by(stats.chunks_read);
        self.messages_scanned.inc_by(stats.messages_scanned);
    }

    pub(crate) fn set_sessions(&self, carrier: &'static str, open: usize) {
        let open = i64::try_from(open).unwrap_or(i64::MAX);
        self.sessions.get_or_create(&[("carrier", carrier.into())]).set(open);
    }

    /// Writes everything in the `OpenMetrics` text format.
    pub(crate) fn render(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        text::encode(&mut out, &registry)?;
        Ok(out)
    }
}

struct PortCollector(Arc<dyn Port>);

impl fmt::Debug for PortCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PortCollector")
    }
}

impl Collector for PortCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for metric in self.0.metrics() {
            if metric.is_counter {
                // The format adds the suffix itself.
                let name = metric.name.strip_suffix("_total").unwrap_or(metric.name);
                let counter = ConstCounter::new(metric.value);
                let kind = counter.metric_type();
                counter.encode(encoder.encode_descriptor(name, metric.help, None, kind)?)?;
            } else {
                let gauge = ConstGauge::new(metric.value);
                let kind = gauge.metric_type();
                gauge.encode(encoder.encode_descriptor(metric.name, metric.help, None, kind)?)?;
            }
        }
        Ok(())
    }
}

use std::{borrow::Cow, sync::Arc, time::Instant};

use ros2_memory_query::{CallStats, Reply};
use tracing::Span;

use crate::calls::{Caller, Calls, Carrier};

/// The log line and the counters of one call; closed once, where the call really ended.
pub(crate) struct Account {
    calls: Arc<Calls>,
    pub(crate) tool: Cow<'static, str>,
    carrier: Carrier,
    started: Instant,
    /// When the call has to have ended.
    pub(crate) deadline: Instant,
    pub(crate) span: Span,
}

impl Account {
    pub(crate) fn open(calls: &Arc<Calls>, tool: Cow<'static, str>, caller: &Caller) -> Self {
        let started = Instant::now();
        let span = tracing::info_span!(
            "call",
            tool = %tool,
            request_id = %caller.request_id,
            transport = caller.carrier.as_str(),
        );
        Self {
            calls: calls.clone(),
            tool,
            carrier: caller.carrier,
            started,
            deadline: started + calls.settings.time_limit,
            span,
        }
    }

    pub(crate) fn close(self, reply: Reply, was_cancelled: bool) -> Reply {
        let duration = self.started.elapsed();
        let outcome = match reply.error {
            _ if was_cancelled => "cancelled",
            Some(code) => code.as_str(),
            None => "ok",
        };
        let CallStats { bags_opened, chunks_read, messages_scanned, .. } = reply.stats;
        self.span.in_scope(|| {
            let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(
                duration_ms,
                bags_opened,
                chunks_read,
                messages_scanned,
                outcome,
                "call ended"
            );
        });
        let carrier = self.carrier.as_str();
        self.calls.metrics.count_call(self.tool, carrier, outcome, duration, &reply.stats);
        reply
    }
}

use std::{ops::ControlFlow, sync::Arc};

use serde_json::{Map, Value};

use crate::{CallContext, ErrorCode, Reply};

/// A robot's memory: the handle through which every carrier asks. Clones share it.
#[derive(Debug, Clone)]
pub struct Memory(Arc<()>);

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
    /// Answers one tool. Never panics on what the caller gave.
    pub fn call(&self, tool: &str, arguments: Map<String, Value>, context: &CallContext) -> Reply {
        let _ = (tool, arguments, context);
        Reply::error(ErrorCode::Internal, "", None)
    }

    /// Hands every sample of a topic's range to `sink` as it is read, downsampled to
    /// `max_samples`; `sink` may stop it. Arguments as for `get_topic_in_range`.
    ///
    /// # Errors
    ///
    /// The reply that the tool would give, when nothing could be streamed.
    pub fn stream_samples(
        &self,
        arguments: Map<String, Value>,
        context: &CallContext,
        sink: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), Reply> {
        let _ = (arguments, context, sink);
        Ok(())
    }

    /// What the memory holds and has met, for `/metrics` and `/healthz`.
    pub fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// Whether the first index of the directory is still being built.
    pub fn is_indexing(&self) -> bool {
        false
    }
}

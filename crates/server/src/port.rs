use std::{borrow::Cow, ops::ControlFlow};

use ros2_memory_query::{CallContext, Memory, Metric, Reply, tools};
use serde_json::{Map, Value};

/// One tool as peers are told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolListing {
    /// The name, bare snake case.
    pub name: Cow<'static, str>,
    /// For people.
    pub title: Cow<'static, str>,
    /// For the planner.
    pub description: Cow<'static, str>,
    /// The JSON Schema of the arguments.
    pub input_schema: Map<String, Value>,
}

impl ToolListing {
    /// Whether the tool can be called without arguments.
    ///
    /// Such tools tell what the memory holds and open no bag.
    pub(crate) fn needs_no_arguments(&self) -> bool {
        self.input_schema.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty)
    }
}

/// What the server needs of a memory; the methods of [`Memory`] with the same names.
///
/// `call` and `stream_samples` block, and are called on the blocking pool only.
pub trait Port: Send + Sync + 'static {
    /// Every tool, in the order in which clients list them.
    fn tools(&self) -> Vec<ToolListing>;

    /// What a planner must know once; empty for nothing.
    fn instructions(&self) -> Cow<'static, str>;

    /// Answers one tool.
    fn call(&self, tool: &str, arguments: Map<String, Value>, context: &CallContext) -> Reply;

    /// Hands the samples of a topic's range to `sink` as they are read. The reply is null, or
    /// the error that ended them.
    fn stream_samples(
        &self,
        arguments: Map<String, Value>,
        context: &CallContext,
        sink: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Reply;

    /// The memory's own numbers.
    fn metrics(&self) -> Vec<Metric>;

    /// Whether the first index is still being built.
    fn is_indexing(&self) -> bool;
}

impl Port for Memory {
    fn tools(&self) -> Vec<ToolListing> {
        tools::TOOLS
            .iter()
            .map(|tool| ToolListing {
                name: Cow::Borrowed(tool.name),
                title: Cow::Borrowed(tool.title),
                description: Cow::Borrowed(tool.description),
                input_schema: tool.input_schema(),
            })
            .collect()
    }

    fn instructions(&self) -> Cow<'static, str> {
        Cow::Borrowed(tools::INSTRUCTIONS)
    }

    fn call(&self, tool: &str, arguments: Map<String, Value>, context: &CallContext) -> Reply {
        Memory::call(self, tool, &arguments, context)
    }

    fn stream_samples(
        &self,
        arguments: Map<String, Value>,
        context: &CallContext,
        sink: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Reply {
        Memory::stream_samples(self, &arguments, context, sink)
    }

    fn metrics(&self) -> Vec<Metric> {
        Memory::metrics(self)
    }

    fn is_indexing(&self) -> bool {
        Memory::is_indexing(self)
    }
}

//! The tools: name, arguments, reply. MCP, HTTP and the command line carry them as they are.

use serde_json::{Map, Value, json};

/// What a planner must know once, whatever tool it calls.
pub const INSTRUCTIONS: &str = "";

/// One tool as every carrier shows it.
#[derive(Debug)]
pub struct ToolSpec {
    /// Bare snake case.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For the planner: when to use it, units, defaults, an example, what an empty answer is.
    pub description: &'static str,
}

impl ToolSpec {
    /// The JSON Schema of the arguments: an object, self-contained, no numeric formats.
    pub fn input_schema(&self) -> Map<String, Value> {
        match json!({"type": "object", "properties": {}}) {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

/// Every tool, in the order in which clients list them.
pub const TOOLS: &[ToolSpec] = &[];

//! The answers, and the name, arguments and reply of every tool.
//!
//! [`Memory`] is the handle through which every carrier asks: MCP, HTTP and the command line
//! call [`Memory::call`] with a tool's name and JSON arguments and pass its [`Reply`] on as it
//! is. [`tools`] holds what they show of the tools beforehand.

#![forbid(unsafe_code)]

pub mod tools;

mod answers;
mod budget;
mod call;
mod extract;
mod handle;
mod json;
mod memory;
mod names;
mod query;
mod refusal;
mod reply;
mod roles;
mod schema_map;
mod settings;
mod steps;
mod time_argument;
mod types;

pub use call::{CallContext, Cancel, Progress, ProgressSink};
pub use extract::full_message;
pub use json::{BytesForm, JsonOptions};
pub use memory::{Memory, MemoryError, Metric};
pub use reply::{CallStats, ErrorCode, IndexUse, Reply};
pub use schema_map::{SchemaMap, TypePaths};
pub use settings::{Now, Role, Roles, Settings};
pub use time_argument::{Moment, MomentError};
pub use types::{TypeCache, TypeView};

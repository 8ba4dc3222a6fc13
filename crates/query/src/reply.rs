use std::{fmt, time::Duration};

use serde_json::{Map, Value, json};

/// Why a call did not answer, as the `error` key of its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// Nothing recorded there; the detail says which kind of nothing.
    NoData,
    /// A frame that no transform names.
    UnknownFrame,
    /// Two frames with no chain of transforms between them.
    NotConnected,
    /// A moment outside the transforms that are known.
    Extrapolation,
    /// A frame whose parent changed around the moment.
    Reparented,
    /// The time limit ended first; the detail says what was covered.
    Timeout,
    /// Too many calls at once.
    Busy,
    /// A topic that no bag holds; the hint names the nearest ones.
    UnknownTopic,
    /// An argument that is missing, of the wrong type or out of range.
    BadArgument,
    /// A message whose bytes do not fit its definition.
    DecodeFailed,
    /// A fault of the program.
    Internal,
}

impl ErrorCode {
    /// The word in the reply.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoData => "no_data",
            Self::UnknownFrame => "unknown_frame",
            Self::NotConnected => "not_connected",
            Self::Extrapolation => "extrapolation",
            Self::Reparented => "reparented",
            Self::Timeout => "timeout",
            Self::Busy => "busy",
            Self::UnknownTopic => "unknown_topic",
            Self::BadArgument => "bad_argument",
            Self::DecodeFailed => "decode_failed",
            Self::Internal => "internal",
        }
    }

    /// Whether MCP carries it as `isError`; the others are ordinary results.
    pub const fn is_error_result(self) -> bool {
        matches!(self, Self::UnknownTopic | Self::BadArgument | Self::DecodeFailed | Self::Internal)
    }

    /// The HTTP status that carries it.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Busy => 503,
            Self::BadArgument | Self::DecodeFailed => 400,
            Self::UnknownTopic => 404,
            Self::Internal => 500,
            _ => 200,
        }
    }
}

/// What a call cost, for its log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallStats {
    /// Wall time from arguments to reply.
    pub duration: Duration,
    /// Bags whose bytes were read.
    pub bags_opened: u64,
    /// Chunks that were read and, when compressed, inflated.
    pub chunks_read: u64,
    /// Message records that were looked at.
    pub messages_scanned: u64,
    /// How long these chunks are, inflated.
    pub chunk_bytes: u64,
    /// Bags that an index proved to hold nothing that was asked for.
    pub bags_passed_over: u64,
    /// The index that did.
    pub index: IndexUse,
}

/// What an answer was narrowed down by, beside the times of bags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexUse {
    /// Nothing: what was asked for is not indexed, or may be anywhere.
    #[default]
    None,
    /// The labels and words that topics hold.
    Text,
    /// Where numbers lie.
    Numbers,
    /// The cells of positions.
    Places,
    /// The sums of distance.
    Drives,
}

impl fmt::Display for IndexUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Text => "labels and words",
            Self::Numbers => "zone maps of numbers",
            Self::Places => "cells of positions",
            Self::Drives => "running sums of distance",
        })
    }
}

/// The answer to one call: a JSON value, or an error of the closed list.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the caller sees; for an error `{"error", "detail", "hint"}`.
    pub value: Value,
    /// Set when `value` is an error.
    pub error: Option<ErrorCode>,
    /// What it cost.
    pub stats: CallStats,
}

impl Reply {
    /// An answer.
    pub fn answer(value: Value) -> Self {
        Self { value, error: None, stats: CallStats::default() }
    }

    /// An error of the list, with what would work instead when something would.
    pub fn error(code: ErrorCode, detail: &str, hint: Option<&str>) -> Self {
        let mut object = Map::new();
        object.insert("error".into(), json!(code.as_str()));
        object.insert("detail".into(), json!(detail));
        if let Some(hint) = hint {
            object.insert("hint".into(), json!(hint));
        }
        Self { value: Value::Object(object), error: Some(code), stats: CallStats::default() }
    }

    /// Whether MCP carries it as `isError`.
    pub fn is_error_result(&self) -> bool {
        self.error.is_some_and(ErrorCode::is_error_result)
    }
}

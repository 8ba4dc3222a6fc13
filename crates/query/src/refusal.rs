use serde_json::{Map, Value as Json};

use crate::{ErrorCode, Reply};

/// An answer that cannot be given, on its way to becoming a [`Reply`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    /// Apart, so that a result that may hold a refusal stays small.
    words: Box<Words>,
}

#[derive(Debug, Clone, PartialEq)]
struct Words {
    detail: String,
    hint: Option<String>,
    extra: Map<String, Json>,
}

/// What every tool gives: a JSON value or a refusal.
pub(crate) type Answer = Result<Json, Refusal>;

impl Refusal {
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        let words = Words { detail: detail.into(), hint: None, extra: Map::new() };
        Self { code, words: Box::new(words) }
    }

    pub(crate) fn no_data(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::NoData, detail)
    }

    pub(crate) fn bad_argument(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadArgument, detail)
    }

    /// What is wrong, in words.
    pub(crate) fn detail(&self) -> &str {
        &self.words.detail
    }

    /// What would work instead.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.words.hint = Some(hint.into());
        self
    }

    /// A key beside the three of every refusal.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.words.extra.insert(key.to_owned(), value.into());
        self
    }

    pub(crate) fn into_reply(self) -> Reply {
        let Words { detail, hint, extra } = *self.words;
        let mut reply = Reply::error(self.code, &detail, hint.as_deref());
        if let Json::Object(object) = &mut reply.value {
            object.extend(extra);
        }
        reply
    }
}

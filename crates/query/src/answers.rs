//! The answers, one file a question.

pub(crate) mod matching;
pub(crate) mod motion;
pub(crate) mod nearest;
pub(crate) mod range;
pub(crate) mod topics;
pub(crate) mod trajectory;
pub(crate) mod transform;

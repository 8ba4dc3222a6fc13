use std::io;

/// Why bags could not be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// A moment that cannot be read.
    #[error("{argument}: {reason}")]
    Moment {
        /// Which argument.
        argument: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A topic pattern that matches nothing.
    #[error("no recording has a topic {pattern:?}; there are {known}")]
    UnknownTopic {
        /// The pattern.
        pattern: String,
        /// The names that there are.
        known: String,
    },
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

/// Why a condition could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// A kind that is not one of the list.
    #[error("condition_type {kind:?} is not one of contains, equals, near_position, above, below")]
    UnknownKind {
        /// The word.
        kind: String,
    },
    /// A value that does not fit the kind.
    #[error("{kind} needs {expected}")]
    Value {
        /// The kind.
        kind: &'static str,
        /// What it needs.
        expected: &'static str,
    },
}

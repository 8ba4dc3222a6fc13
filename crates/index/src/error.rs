/// Why the bytes of an entry make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A value that would end after the entry.
    #[error("at byte {offset} of an entry: {needed} bytes needed, {available} left")]
    Truncated {
        /// Where in the entry.
        offset: usize,
        /// How many bytes the value takes.
        needed: u64,
        /// How many there are.
        available: usize,
    },
    /// A value outside what its field may hold.
    #[error("at byte {offset} of an entry: {found} is no {what}")]
    Value {
        /// Where in the entry.
        offset: usize,
        /// What the field means.
        what: &'static str,
        /// What stands there.
        found: u64,
    },
}

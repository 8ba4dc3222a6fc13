/// Why a payload could not be read.
///
/// Offsets count from the first byte of the payload, the encapsulation header included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdrError {
    /// A value that would end after the payload.
    #[error("at byte {offset}: {needed} bytes needed, {available} left")]
    Truncated {
        /// Where the value starts.
        offset: usize,
        /// How many bytes it takes.
        needed: usize,
        /// How many bytes there are.
        available: usize,
    },
    /// A string or sequence that declares more elements than the rest of the payload can hold.
    #[error("at byte {offset}: length {declared} does not fit in the {available} bytes left")]
    Length {
        /// Where the length stands.
        offset: usize,
        /// What it says.
        declared: usize,
        /// How many bytes follow it.
        available: usize,
    },
    /// A representation that this reader does not know.
    #[error("unsupported encapsulation {id:#06x} ({name})")]
    Encapsulation {
        /// The representation identifier.
        id: u16,
        /// Its name in the specification, or `unknown`.
        name: &'static str,
    },
    /// A type that has no portable layout.
    #[error("at byte {offset}: {kind} has no layout that all vendors share")]
    Layout {
        /// Where the value starts.
        offset: usize,
        /// The type's name.
        kind: &'static str,
    },
    /// A header of a member that breaks the rules of its list.
    #[error("at byte {offset}: {what}: {found:#x}")]
    Member {
        /// Where the header starts.
        offset: usize,
        /// Which rule.
        what: &'static str,
        /// What stands there.
        found: u32,
    },
    /// A type without fields whose message has some: the definition is not that of the message.
    #[error("the definition has no fields, the message has {found} bytes")]
    Undefined {
        /// How many bytes the payload has.
        found: usize,
    },
    /// A text that is no JSON, or JSON that is nested too deeply.
    #[error("at line {line}, column {column}: {reason}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The byte in it, from 1.
        column: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A message that would become more values than are built of one.
    #[error("at byte {offset}: more than {limit} values")]
    TooManyValues {
        /// Where the value that is too much starts.
        offset: usize,
        /// How many are built at most.
        limit: usize,
    },
}

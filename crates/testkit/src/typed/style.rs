//! What definition texts have besides the types.

use crate::prng::Prng;

/// What a recording says of a message type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DefinitionText {
    /// Name of the message type, in the form that goes with the encoding.
    pub schema_name: String,
    /// Name of the encoding in MCAP.
    pub encoding: &'static str,
    /// The text of the message type and of all types that it refers to.
    pub text: String,
}

/// Which freedoms of writing a text takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a freedom of its own")]
pub struct Style {
    /// Comments on lines of their own and behind fields.
    pub comments: bool,
    /// Constants between the fields.
    pub constants: bool,
    /// Default values; only ROS 2 and IDL have them.
    pub defaults: bool,
    /// Strings without quotes, constants that are empty strings, defaults that are empty lists,
    /// letters behind a backslash.
    pub odd_strings: bool,
    /// Tabs, blank lines, blanks at the ends of lines.
    pub blanks: bool,
    /// Lines end with CR LF.
    pub crlf: bool,
    /// The last line ends too.
    pub final_newline: bool,
    /// Annotations that say nothing of the layout. Only IDL.
    pub annotations: bool,
    /// `#include`, `#ifndef` and the like. Only IDL.
    pub directives: bool,
}

impl Style {
    /// As a careful person writes.
    pub const PLAIN: Self = Self {
        comments: false,
        constants: false,
        defaults: false,
        odd_strings: false,
        blanks: false,
        crlf: false,
        final_newline: true,
        annotations: false,
        directives: false,
    };

    /// Some of the freedoms.
    pub fn random(rng: &mut Prng) -> Self {
        Self {
            comments: rng.chance(70),
            constants: rng.chance(70),
            defaults: rng.chance(60),
            odd_strings: rng.chance(50),
            blanks: rng.chance(60),
            crlf: rng.chance(20),
            final_newline: rng.chance(70),
            annotations: rng.chance(70),
            directives: rng.chance(60),
        }
    }

    /// The text of `lines` with the ends of lines that the style wants.
    pub(super) fn joined(self, lines: &[String]) -> String {
        let newline = if self.crlf { "\r\n" } else { "\n" };
        let mut text = lines
            .iter()
            // Lines of a comment or of a string in several lines are lines too.
            .flat_map(|line| line.split('\n'))
            .collect::<Vec<_>>()
            .join(newline);
        if self.final_newline {
            text.push_str(newline);
        }
        text
    }
}

/// The line between the definitions of different types.
pub(super) fn separator() -> String {
    "=".repeat(80)
}

/// One of `words`.
pub(super) fn one_of(words: &[&'static str], rng: &mut Prng) -> &'static str {
    rng.pick::<&'static str>(words)
}

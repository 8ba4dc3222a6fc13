use std::{fmt, str::FromStr};

use crate::PathError;

/// The way from a message to some of its fields: `pose.pose.position`, `detections[].label`,
/// `ranges[3]`, `grid[][0]`.
///
/// # Examples
///
/// ```
/// use ros2_memory_msg::FieldPath;
///
/// let path: FieldPath = "detections[].point.x".parse().unwrap();
/// assert_eq!(path.to_string(), "detections[].point.x");
/// assert!("a..b".parse::<FieldPath>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath {
    segments: Vec<Segment>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Segment {
    /// The field.
    pub field: String,
    /// Which elements of it, a dimension each; empty for the field itself.
    pub indices: Vec<Index>,
}

/// Which elements of an array a path goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Index {
    /// Each element: `name[]`.
    Each,
    /// One element: `name[n]`, from 0; absent when the array is shorter.
    At(u32),
}

/// A path longer than the deepest type could never match.
const MAX_SEGMENTS: usize = crate::MAX_DEPTH;

impl FieldPath {
    /// The path that takes the message as a whole.
    pub fn whole() -> Self {
        Self { segments: Vec::new() }
    }

    /// The steps from the message's root.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl FromStr for FieldPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let wrong = || PathError::Syntax { path: text.chars().take(200).collect() };
        let segments = text
            .split('.')
            .map(|part| parse_segment(part).ok_or_else(wrong))
            .take(MAX_SEGMENTS + 1)
            .collect::<Result<Vec<_>, _>>()?;
        if segments.len() > MAX_SEGMENTS {
            return Err(wrong());
        }
        Ok(Self { segments })
    }
}

fn parse_segment(part: &str) -> Option<Segment> {
    let (field, brackets) = part.split_at(part.find('[').unwrap_or(part.len()));
    let mut indices = Vec::new();
    let mut rest = brackets;
    while !rest.is_empty() {
        let (index, behind) = rest.strip_prefix('[')?.split_once(']')?;
        indices.push(match index {
            "" => Index::Each,
            number => Index::At(number.parse().ok()?),
        });
        if indices.len() > MAX_SEGMENTS {
            return None;
        }
        rest = behind;
    }
    let is_identifier = field.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_identifier.then(|| Segment { field: field.to_owned(), indices })
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.segments.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            f.write_str(&segment.field)?;
            for index in &segment.indices {
                match index {
                    Index::Each => f.write_str("[]")?,
                    Index::At(n) => write!(f, "[{n}]")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_they_were_written() {
        for text in ["a", "a.b_c", "a[].b", "a[0].b[].c", "_x1[4294967295]", "a[][2][].b"] {
            assert_eq!(text.parse::<FieldPath>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn texts_that_are_no_paths_are_refused() {
        let long = "a.".repeat(1000) + "a";
        for text in [
            "", ".", "a.", ".a", "a[", "a]", "a[x]", "a[-1]", "a[1", "1a", "a b", "a[]b", "a[]]",
            &long,
        ] {
            assert!(text.parse::<FieldPath>().is_err(), "{text}");
        }
    }
}

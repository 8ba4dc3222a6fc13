//! What stands behind `@`.

use ros2_memory_cdr::Extensibility;

use super::{
    Problem,
    parse::Parser,
    token::{Kind, Token},
    types::whole_number,
};

/// The annotations in front of a declaration, as far as they change the wire.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) extensibility: Option<Extensibility>,
    pub(super) id: Option<u32>,
    pub(super) is_optional: bool,
    pub(super) bit_bound: Option<u64>,
}

impl<'t> Parser<'t> {
    pub(super) fn annotations(&mut self) -> Result<Annotations, Problem> {
        let mut found = Annotations::default();
        while self.take_sign(b'@') {
            let mut name = self.name()?;
            // Behind a space it begins the type that the annotation is of.
            while self.tokens.get(self.at).is_some_and(|t| t.kind == Kind::Scope && t.is_joined) {
                self.at += 1;
                name = self.name()?;
            }
            let arguments = self.arguments()?;
            let word = arguments.iter().rev().find_map(|token| match token.kind {
                Kind::Word(word) => Some(word),
                _ => None,
            });
            let number = arguments.iter().rev().find_map(|token| match token.kind {
                Kind::Number(number) => whole_number(number),
                _ => None,
            });
            match name.to_ascii_lowercase().as_str() {
                "final" => found.extensibility = Some(Extensibility::Final),
                "appendable" => found.extensibility = Some(Extensibility::Appendable),
                "mutable" => found.extensibility = Some(Extensibility::Mutable),
                "extensibility" => {
                    found.extensibility = match word {
                        Some("FINAL" | "FINAL_EXTENSIBILITY") => Some(Extensibility::Final),
                        Some("APPENDABLE" | "EXTENSIBLE_EXTENSIBILITY") => {
                            Some(Extensibility::Appendable)
                        }
                        Some("MUTABLE" | "MUTABLE_EXTENSIBILITY") => Some(Extensibility::Mutable),
                        _ => return self.fail("an extensibility that is not known"),
                    };
                }
                "id" => match number.and_then(|number| u32::try_from(number).ok()) {
                    Some(id) => found.id = Some(id),
                    None => return self.fail("an @id that is no whole number"),
                },
                "optional" => found.is_optional = !matches!(word, Some("FALSE" | "false")),
                "bit_bound" if number.is_none() => {
                    return self.fail("a @bit_bound that is no whole number");
                }
                "bit_bound" => found.bit_bound = number,
                "hashid" => return self.fail("@hashid is not supported"),
                "autoid" if word != Some("SEQUENTIAL") => {
                    return self.fail("@autoid other than SEQUENTIAL is not supported");
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// What stands in the parentheses behind an annotation.
    fn arguments(&mut self) -> Result<&'t [Token<'t>], Problem> {
        let start = self.at;
        if !self.take_sign(b'(') {
            return Ok(&[]);
        }
        let mut depth = 1usize;
        while depth > 0 {
            match self.peek() {
                None => return self.fail("an annotation that does not end"),
                Some(Kind::Sign(b'(')) => depth += 1,
                Some(Kind::Sign(b')')) => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(self.tokens.get(start..self.at).unwrap_or_default())
    }
}

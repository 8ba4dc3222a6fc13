//! Types as they are written, names and sizes.

use std::rc::Rc;

use ros2_memory_cdr::Primitive;

use super::{
    Problem,
    parse::{Declaration, Name, Parser, TypeRef, find},
    token::Kind,
};
use crate::MAX_DEPTH;

impl Parser<'_> {
    pub(super) fn type_ref(&mut self, depth: usize) -> Result<TypeRef, Problem> {
        if depth > MAX_DEPTH {
            return self.fail("types are nested too deeply");
        }
        let Some(Kind::Word(word)) = self.peek() else {
            return if self.peek() == Some(Kind::Scope) {
                self.scoped_name().map(TypeRef::Name)
            } else {
                self.fail("a type is missing")
            };
        };
        self.at += 1;
        Ok(match word {
            "boolean" => TypeRef::Primitive(Primitive::Bool),
            "octet" | "uint8" | "char" => TypeRef::Primitive(Primitive::U8),
            "int8" => TypeRef::Primitive(Primitive::I8),
            "short" | "int16" => TypeRef::Primitive(Primitive::I16),
            "uint16" => TypeRef::Primitive(Primitive::U16),
            "int32" => TypeRef::Primitive(Primitive::I32),
            "uint32" => TypeRef::Primitive(Primitive::U32),
            "int64" => TypeRef::Primitive(Primitive::I64),
            "uint64" => TypeRef::Primitive(Primitive::U64),
            "float" => TypeRef::Primitive(Primitive::F32),
            "double" => TypeRef::Primitive(Primitive::F64),
            "long" => self.long_type(),
            "unsigned" => self.unsigned_type()?,
            "wchar" => TypeRef::Unsupported("wchar"),
            "any" => TypeRef::Unsupported("any"),
            "string" | "wstring" => {
                if self.take_sign(b'<') {
                    self.bound()?;
                }
                if word == "string" { TypeRef::String } else { TypeRef::WString }
            }
            "sequence" => {
                self.sign(b'<', "a sequence without its <")?;
                let _of_the_element = self.annotations()?;
                let element = self.type_ref(depth + 1)?;
                if self.take_sign(b',') {
                    self.bound()?;
                } else {
                    self.sign(b'>', "a sequence without its >")?;
                }
                TypeRef::Sequence(Box::new(element))
            }
            "map" => {
                self.sign(b'<', "a map without its <")?;
                drop(self.type_ref(depth + 1)?);
                self.sign(b',', "a map without its second type")?;
                drop(self.type_ref(depth + 1)?);
                if self.take_sign(b',') {
                    self.bound()?;
                } else {
                    self.sign(b'>', "a map without its >")?;
                }
                TypeRef::Unsupported("map")
            }
            _ => {
                self.at -= 1;
                TypeRef::Name(self.scoped_name()?)
            }
        })
    }

    /// What `long` begins.
    fn long_type(&mut self) -> TypeRef {
        if self.take_word("double") {
            TypeRef::Unsupported("long double")
        } else if self.take_word("long") {
            TypeRef::Primitive(Primitive::I64)
        } else {
            TypeRef::Primitive(Primitive::I32)
        }
    }

    /// What `unsigned` begins.
    fn unsigned_type(&mut self) -> Result<TypeRef, Problem> {
        Ok(TypeRef::Primitive(match self.name()? {
            "short" => Primitive::U16,
            "long" if self.take_word("long") => Primitive::U64,
            "long" => Primitive::U32,
            _ => return self.fail("an unsigned type that is not known"),
        }))
    }

    /// A bound and the `>` behind it. Bounds do not show on the wire, so that one which cannot be
    /// worked out is none.
    fn bound(&mut self) -> Result<(), Problem> {
        while !self.take_sign(b'>') {
            if matches!(self.peek(), None | Some(Kind::Sign(b';' | b'}'))) {
                return self.fail("a bound without its >");
            }
            self.at += 1;
        }
        Ok(())
    }

    pub(super) fn scoped_name(&mut self) -> Result<Name, Problem> {
        let is_absolute = self.peek() == Some(Kind::Scope);
        self.at += usize::from(is_absolute);
        let mut text = self.name()?.to_owned();
        while self.peek() == Some(Kind::Scope) {
            self.at += 1;
            text.push_str("::");
            text.push_str(self.name()?);
        }
        let scope = if is_absolute { Rc::default() } else { self.path.clone() };
        Ok(Name { scope, text })
    }

    /// A size: sums and differences of products of whole numbers and constants.
    pub(super) fn size(&mut self) -> Result<usize, Problem> {
        let mut value = self.size_product()?;
        loop {
            let with = if self.take_sign(b'+') {
                u64::checked_add
            } else if self.take_sign(b'-') {
                u64::checked_sub
            } else {
                break;
            };
            let product = self.size_product()?;
            let Some(result) = with(value, product) else { return self.fail("a bad array size") };
            value = result;
        }
        match usize::try_from(value) {
            Ok(size) => Ok(size),
            Err(_too_large) => self.fail("a bad array size"),
        }
    }

    fn size_product(&mut self) -> Result<u64, Problem> {
        let mut value = self.size_term()?;
        while self.take_sign(b'*') {
            let term = self.size_term()?;
            let Some(product) = value.checked_mul(term) else {
                return self.fail("a bad array size");
            };
            value = product;
        }
        Ok(value)
    }

    fn size_term(&mut self) -> Result<u64, Problem> {
        match self.peek() {
            Some(Kind::Number(number)) => {
                let Some(value) = whole_number(number) else {
                    return self.fail("a size that is no whole number");
                };
                self.at += 1;
                Ok(value)
            }
            Some(Kind::Word(_) | Kind::Scope) => {
                let name = self.scoped_name()?;
                match find(&self.scope, &name) {
                    Some((_, Declaration::Const(value))) => Ok(*value),
                    _ => self.fail("a size that is no known constant"),
                }
            }
            _ => self.fail("a size is missing"),
        }
    }
}

pub(super) fn whole_number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => u64::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}

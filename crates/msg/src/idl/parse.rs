//! From tokens to declarations, names as they are written.

use std::collections::HashMap;

use ros2_memory_cdr::{Extensibility, Primitive};

use super::{
    Problem,
    token::{Kind, Token},
};
use crate::{MAX_DEPTH, MAX_FIELDS};

/// Everything that a text declares, by its name from the outermost scope: `a::b::C`.
pub(super) type Scope = HashMap<String, Declaration>;

#[derive(Debug, Clone)]
pub(super) enum Declaration {
    Struct(StructDecl),
    Typedef(TypeRef),
    Enum(Primitive),
    Const(u64),
    /// Something that is read over: a union, a bitmask, a bitset.
    Other(&'static str),
}

#[derive(Debug, Clone)]
pub(super) struct StructDecl {
    /// Its place among the structs of the text.
    pub(super) place: usize,
    pub(super) base: Option<Name>,
    pub(super) members: Vec<MemberDecl>,
    pub(super) extensibility: Option<Extensibility>,
}

#[derive(Debug, Clone)]
pub(super) struct MemberDecl {
    pub(super) name: String,
    pub(super) ty: TypeRef,
    pub(super) id: Option<u32>,
    pub(super) is_optional: bool,
}

/// A name as it is written, and the scope it is written in.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) scope: Vec<String>,
    pub(super) text: String,
}

#[derive(Debug, Clone)]
pub(super) enum TypeRef {
    Primitive(Primitive),
    String,
    WString,
    Name(Name),
    Sequence(Box<TypeRef>),
    Array(Box<TypeRef>, usize),
    Unsupported(&'static str),
}

/// The annotations in front of a declaration, as far as they change the wire.
#[derive(Debug, Default)]
struct Annotations {
    extensibility: Option<Extensibility>,
    id: Option<u32>,
    is_optional: bool,
    bit_bound: Option<u64>,
}

pub(super) fn parse(tokens: &[Token<'_>]) -> Result<Scope, Problem> {
    let mut parser = Parser {
        tokens,
        at: 0,
        scope: Scope::new(),
        modules: Vec::new(),
        n_structs: 0,
        n_members: 0,
    };
    while parser.peek().is_some() {
        parser.declaration()?;
    }
    Ok(parser.scope)
}

struct Parser<'t> {
    tokens: &'t [Token<'t>],
    at: usize,
    scope: Scope,
    modules: Vec<String>,
    n_structs: usize,
    n_members: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<Kind<'t>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn fail<T>(&self, problem: &'static str) -> Result<T, Problem> {
        Err((self.line(), problem))
    }

    fn take_sign(&mut self, sign: u8) -> bool {
        let is_there = self.peek() == Some(Kind::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    fn sign(&mut self, sign: u8, problem: &'static str) -> Result<(), Problem> {
        if self.take_sign(sign) { Ok(()) } else { self.fail(problem) }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.peek() == Some(Kind::Word(word));
        self.at += usize::from(is_there);
        is_there
    }

    fn name(&mut self) -> Result<&'t str, Problem> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.fail("a name is missing"),
        }
    }

    /// One declaration with its annotations, or a stray semicolon.
    fn declaration(&mut self) -> Result<(), Problem> {
        let annotations = self.annotations()?;
        match self.peek() {
            Some(Kind::Sign(b';')) => {
                self.at += 1;
                Ok(())
            }
            Some(Kind::Word(word)) => {
                self.at += 1;
                match word {
                    "module" => self.module(),
                    "struct" => self.structure(&annotations),
                    "typedef" => self.typedef(),
                    "enum" => self.enumeration(&annotations),
                    "const" => self.constant(),
                    "union" => self.other("union"),
                    "bitmask" => self.other("bitmask"),
                    "bitset" => self.other("bitset"),
                    "native" | "import" => self.skip_statement(),
                    _ => {
                        self.at -= 1;
                        self.fail("a declaration that is not known")
                    }
                }
            }
            _ => self.fail("a declaration is missing"),
        }
    }

    fn module(&mut self) -> Result<(), Problem> {
        let name = self.name()?.to_owned();
        if self.modules.len() >= MAX_DEPTH {
            return self.fail("modules are nested too deeply");
        }
        self.modules.push(name);
        self.sign(b'{', "a module without its {")?;
        while !self.take_sign(b'}') {
            if self.peek().is_none() {
                return self.fail("a module that does not end");
            }
            self.declaration()?;
        }
        self.modules.pop();
        Ok(())
    }

    fn structure(&mut self, annotations: &Annotations) -> Result<(), Problem> {
        let name = self.name()?;
        if self.take_sign(b';') {
            return Ok(());
        }
        let base = if self.take_sign(b':') { Some(self.scoped_name()?) } else { None };
        self.sign(b'{', "a struct without its {")?;
        let mut members = Vec::new();
        while !self.take_sign(b'}') {
            self.members(&mut members)?;
        }
        let place = self.n_structs;
        self.n_structs += 1;
        let extensibility = annotations.extensibility;
        self.declare(name, Declaration::Struct(StructDecl { place, base, members, extensibility }));
        Ok(())
    }

    /// One line of a struct, which may declare several members.
    fn members(&mut self, members: &mut Vec<MemberDecl>) -> Result<(), Problem> {
        let annotations = self.annotations()?;
        let ty = self.type_ref(0)?;
        loop {
            self.n_members += 1;
            if self.n_members > MAX_FIELDS {
                return self.fail("too many members");
            }
            let (name, ty) = self.declarator(ty.clone())?;
            let (id, is_optional) = (annotations.id, annotations.is_optional);
            members.push(MemberDecl { name: name.to_owned(), ty, id, is_optional });
            if !self.take_sign(b',') {
                return self.sign(b';', "a member without its ;");
            }
        }
    }

    fn typedef(&mut self) -> Result<(), Problem> {
        let ty = self.type_ref(0)?;
        loop {
            let (name, ty) = self.declarator(ty.clone())?;
            self.declare(name, Declaration::Typedef(ty));
            if !self.take_sign(b',') {
                return self.sign(b';', "a typedef without its ;");
            }
        }
    }

    fn enumeration(&mut self, annotations: &Annotations) -> Result<(), Problem> {
        let name = self.name()?;
        let kind = match annotations.bit_bound {
            Some(0..=8) => Primitive::I8,
            Some(9..=16) => Primitive::I16,
            _ => Primitive::I32,
        };
        self.block()?;
        self.declare(name, Declaration::Enum(kind));
        Ok(())
    }

    fn constant(&mut self) -> Result<(), Problem> {
        drop(self.type_ref(0)?);
        let name = self.name()?;
        self.sign(b'=', "a constant without its value")?;
        // Only whole numbers can be sizes; other constants are read over.
        let before = self.at;
        match self.size() {
            Ok(value) if self.peek() == Some(Kind::Sign(b';')) => {
                self.declare(name, Declaration::Const(value as u64));
            }
            _ => self.at = before,
        }
        self.skip_statement()
    }

    /// A declaration that is read over, under its name.
    fn other(&mut self, what: &'static str) -> Result<(), Problem> {
        let name = self.name()?;
        while !matches!(self.peek(), None | Some(Kind::Sign(b'{' | b';'))) {
            self.at += 1;
        }
        if self.peek() == Some(Kind::Sign(b'{')) {
            self.block()?;
        }
        self.declare(name, Declaration::Other(what));
        Ok(())
    }

    /// Moves behind a block in braces.
    fn block(&mut self) -> Result<(), Problem> {
        self.sign(b'{', "a declaration without its {")?;
        let mut depth = 1usize;
        while depth > 0 {
            match self.peek() {
                None => return self.fail("a declaration that does not end"),
                Some(Kind::Sign(b'{')) => depth += 1,
                Some(Kind::Sign(b'}')) => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn skip_statement(&mut self) -> Result<(), Problem> {
        while !self.take_sign(b';') {
            if self.peek().is_none() {
                return self.fail("a declaration that does not end");
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The first declaration of a name holds: a repeated file changes nothing.
    fn declare(&mut self, name: &str, declaration: Declaration) {
        let mut full = self.modules.join("::");
        if !full.is_empty() {
            full.push_str("::");
        }
        full.push_str(name);
        self.scope.entry(full).or_insert(declaration);
    }

    fn annotations(&mut self) -> Result<Annotations, Problem> {
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
                "id" => found.id = number.and_then(|number| u32::try_from(number).ok()),
                "optional" => found.is_optional = !matches!(word, Some("FALSE" | "false")),
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

    /// A declared name with its dimensions; the last one is the innermost.
    fn declarator(&mut self, ty: TypeRef) -> Result<(&'t str, TypeRef), Problem> {
        let name = self.name()?;
        let mut sizes = Vec::new();
        while self.take_sign(b'[') {
            let size = self.size()?;
            if size == 0 || sizes.len() >= MAX_DEPTH {
                return self.fail("a bad array size");
            }
            sizes.push(size);
            self.sign(b']', "an array size without its ]")?;
        }
        let array = |ty, size: &usize| TypeRef::Array(Box::new(ty), *size);
        Ok((name, sizes.iter().rev().fold(ty, array)))
    }

    fn type_ref(&mut self, depth: usize) -> Result<TypeRef, Problem> {
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

    fn scoped_name(&mut self) -> Result<Name, Problem> {
        let is_absolute = self.peek() == Some(Kind::Scope);
        self.at += usize::from(is_absolute);
        let mut text = self.name()?.to_owned();
        while self.peek() == Some(Kind::Scope) {
            self.at += 1;
            text.push_str("::");
            text.push_str(self.name()?);
        }
        let scope = if is_absolute { Vec::new() } else { self.modules.clone() };
        Ok(Name { scope, text })
    }

    /// A size: products and sums of whole numbers and constants, from left to right.
    fn size(&mut self) -> Result<usize, Problem> {
        let mut value = self.size_term()?;
        loop {
            let with = if self.take_sign(b'*') {
                u64::checked_mul
            } else if self.take_sign(b'+') {
                u64::checked_add
            } else if self.take_sign(b'-') {
                u64::checked_sub
            } else {
                break;
            };
            let term = self.size_term()?;
            let Some(result) = with(value, term) else { return self.fail("a bad array size") };
            value = result;
        }
        match usize::try_from(value) {
            Ok(size) => Ok(size),
            Err(_too_large) => self.fail("a bad array size"),
        }
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

/// Looks for a name from the scope it is written in outwards.
pub(super) fn find<'s>(scope: &'s Scope, name: &Name) -> Option<(&'s str, &'s Declaration)> {
    (0..=name.scope.len()).rev().find_map(|depth| {
        let mut full = name.scope.get(..depth)?.join("::");
        if depth > 0 {
            full.push_str("::");
        }
        full.push_str(&name.text);
        scope.get_key_value(&full).map(|(name, declaration)| (name.as_str(), declaration))
    })
}

fn whole_number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => u64::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}

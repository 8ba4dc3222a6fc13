//! From tokens to declarations, names as they are written.

use std::{collections::HashMap, rc::Rc};

use ros2_memory_cdr::{Extensibility, Primitive};

use super::{
    Problem,
    annotations::Annotations,
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
    pub(super) scope: Rc<[String]>,
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

/// The names of the modules around a declaration may be this long together.
const MAX_SCOPE_LEN: usize = 1024;

pub(super) fn parse(tokens: &[Token<'_>]) -> Result<Scope, Problem> {
    let mut parser = Parser {
        tokens,
        at: 0,
        scope: Scope::new(),
        modules: Vec::new(),
        path: Rc::default(),
        n_structs: 0,
        n_members: 0,
    };
    while parser.peek().is_some() {
        parser.declaration()?;
    }
    Ok(parser.scope)
}

pub(super) struct Parser<'t> {
    pub(super) tokens: &'t [Token<'t>],
    pub(super) at: usize,
    pub(super) scope: Scope,
    modules: Vec<String>,
    /// The modules around the declaration at hand.
    pub(super) path: Rc<[String]>,
    n_structs: usize,
    n_members: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> Option<Kind<'t>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    pub(super) fn fail<T>(&self, problem: &'static str) -> Result<T, Problem> {
        Err((self.line(), problem))
    }

    pub(super) fn take_sign(&mut self, sign: u8) -> bool {
        let is_there = self.peek() == Some(Kind::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn sign(&mut self, sign: u8, problem: &'static str) -> Result<(), Problem> {
        if self.take_sign(sign) { Ok(()) } else { self.fail(problem) }
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.peek() == Some(Kind::Word(word));
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn name(&mut self) -> Result<&'t str, Problem> {
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
        let len: usize = self.modules.iter().map(String::len).sum();
        if self.modules.len() >= MAX_DEPTH || len > MAX_SCOPE_LEN {
            return self.fail("modules are nested too deeply");
        }
        self.modules.push(name);
        self.path = self.modules.as_slice().into();
        self.sign(b'{', "a module without its {")?;
        while !self.take_sign(b'}') {
            if self.peek().is_none() {
                return self.fail("a module that does not end");
            }
            self.declaration()?;
        }
        self.modules.pop();
        self.path = self.modules.as_slice().into();
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
        self.declare(name, Declaration::Struct(StructDecl { place, base, members, extensibility }))
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
            self.declare(name, Declaration::Typedef(ty))?;
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
        self.declare(name, Declaration::Enum(kind))
    }

    fn constant(&mut self) -> Result<(), Problem> {
        drop(self.type_ref(0)?);
        let name = self.name()?;
        self.sign(b'=', "a constant without its value")?;
        // Only whole numbers can be sizes; other constants are read over.
        let before = self.at;
        match self.size() {
            Ok(value) if self.peek() == Some(Kind::Sign(b';')) => {
                self.declare(name, Declaration::Const(value as u64))?;
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
        self.declare(name, Declaration::Other(what))
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
    fn declare(&mut self, name: &str, declaration: Declaration) -> Result<(), Problem> {
        if self.scope.len() >= MAX_FIELDS {
            return self.fail("too many declarations");
        }
        let mut full = self.modules.join("::");
        if !full.is_empty() {
            full.push_str("::");
        }
        full.push_str(name);
        self.scope.entry(full).or_insert(declaration);
        Ok(())
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

//! From declarations to definitions: typedefs, enums and base structs are gone.

use super::parse::{Declaration, Name, Scope, StructDecl, TypeRef, find};
use crate::{
    Definition, DefinitionError, FieldSpec, MAX_DEPTH, MAX_FIELDS, TypeSpec, canonical_type_name,
};

/// What rosidl puts into a struct without members, since IDL has none such.
const FILLER_MEMBER: &str = "structure_needs_at_least_one_member";

/// The definitions of all structs, in the order of the text.
pub(super) fn definitions(scope: &Scope) -> Result<Vec<Definition>, DefinitionError> {
    let mut structs: Vec<(&str, &StructDecl)> = scope
        .iter()
        .filter_map(|(name, declaration)| match declaration {
            Declaration::Struct(decl) => Some((name.as_str(), decl)),
            _ => None,
        })
        .collect();
    structs.sort_by_key(|(_, decl)| decl.place);
    let mut resolver = Resolver { scope, n_fields: 0 };
    structs.into_iter().map(|(name, decl)| resolver.definition(name, decl)).collect()
}

struct Resolver<'s> {
    scope: &'s Scope,
    /// Counted with those that derived structs repeat.
    n_fields: usize,
}

impl Resolver<'_> {
    fn definition(&mut self, name: &str, decl: &StructDecl) -> Result<Definition, DefinitionError> {
        let mut definition = Definition {
            name: canonical_type_name(name).into_owned(),
            fields: Vec::new(),
            extensibility: decl.extensibility,
            filler_bytes: 0,
        };
        self.add_members(name, decl, &mut definition, 0)?;
        if let [only] = definition.fields.as_slice()
            && only.name == FILLER_MEMBER
        {
            definition.fields.clear();
            definition.filler_bytes = 1;
        }
        Ok(definition)
    }

    /// Appends the members of a struct, those of its base first.
    fn add_members(
        &mut self,
        name: &str,
        decl: &StructDecl,
        definition: &mut Definition,
        depth: usize,
    ) -> Result<(), DefinitionError> {
        if let Some(base) = &decl.base {
            if depth >= MAX_DEPTH {
                return Err(DefinitionError::Recursive { name: definition.name.clone() });
            }
            match find(self.scope, base) {
                Some((base, Declaration::Struct(decl))) => {
                    self.add_members(base, decl, definition, depth + 1)?;
                }
                _ => return Err(unknown(name, base)),
            }
        }
        for member in &decl.members {
            self.n_fields += 1;
            if self.n_fields > MAX_FIELDS {
                return Err(DefinitionError::TooLarge {
                    what: "fields",
                    found: self.n_fields,
                    limit: MAX_FIELDS,
                });
            }
            let next = definition.fields.last().map_or(0, |last| last.id.saturating_add(1));
            definition.fields.push(FieldSpec {
                name: member.name.clone(),
                ty: self.type_spec(name, &member.ty, 0)?,
                id: member.id.unwrap_or(next),
                is_optional: member.is_optional,
            });
        }
        Ok(())
    }

    fn type_spec(
        &self,
        owner: &str,
        ty: &TypeRef,
        depth: usize,
    ) -> Result<TypeSpec, DefinitionError> {
        if depth > MAX_DEPTH {
            // Typedefs that lead to each other have no end.
            return Err(DefinitionError::TooLarge {
                what: "levels of typedefs",
                found: depth,
                limit: MAX_DEPTH,
            });
        }
        let inner = |ty: &TypeRef| self.type_spec(owner, ty, depth + 1).map(Box::new);
        Ok(match ty {
            TypeRef::Primitive(kind) => TypeSpec::Primitive(*kind),
            TypeRef::String => TypeSpec::String,
            TypeRef::WString => TypeSpec::WString,
            TypeRef::Sequence(element) => TypeSpec::Sequence(inner(element)?),
            TypeRef::Array(element, len) => TypeSpec::Array(inner(element)?, *len),
            TypeRef::Unsupported(what) => TypeSpec::Unsupported((*what).to_owned()),
            TypeRef::Name(name) => match find(self.scope, name) {
                Some((full, Declaration::Struct(_))) => {
                    TypeSpec::Named(canonical_type_name(full).into_owned())
                }
                Some((_, Declaration::Typedef(ty))) => self.type_spec(owner, ty, depth + 1)?,
                Some((_, Declaration::Enum(kind))) => TypeSpec::Primitive(*kind),
                Some((full, Declaration::Other(what))) => {
                    TypeSpec::Unsupported(format!("{what} {full}"))
                }
                // Another file may define it: rosidl names the types of its includes in full.
                None if name.text.contains("::") => {
                    TypeSpec::Named(canonical_type_name(&name.text).into_owned())
                }
                Some((_, Declaration::Const(_))) | None => return Err(unknown(owner, name)),
            },
        })
    }
}

fn unknown(owner: &str, name: &Name) -> DefinitionError {
    DefinitionError::UnknownType {
        in_type: canonical_type_name(owner).into_owned(),
        missing: name.text.clone(),
    }
}

//! What the message type refers to, of all that was made.

#![expect(clippy::indexing_slicing, reason = "indices are those of the lists given")]

use std::collections::BTreeSet;

use crate::typed::model::{StructDef, Type, Typedef};

/// Indices of what a type refers to, and their numbers once all others are dropped.
#[derive(Debug, Default)]
pub(super) struct Used {
    pub(super) structs: BTreeSet<usize>,
    pub(super) typedefs: BTreeSet<usize>,
    pub(super) enums: BTreeSet<usize>,
}

impl Used {
    pub(super) fn visit(&mut self, ty: &Type, structs: &[StructDef], typedefs: &[Typedef]) {
        match ty {
            Type::Prim(_) | Type::Text { .. } => {}
            Type::Enum(index) => {
                self.enums.insert(*index);
            }
            Type::Typedef(index) => {
                if self.typedefs.insert(*index) {
                    self.visit(&typedefs[*index].ty, structs, typedefs);
                }
            }
            Type::Struct(index) => {
                if self.structs.insert(*index) {
                    for field in &structs[*index].fields {
                        self.visit(&field.ty, structs, typedefs);
                    }
                }
            }
            Type::Array { elem, .. } | Type::Sequence { elem, .. } => {
                self.visit(elem, structs, typedefs);
            }
        }
    }

    pub(super) fn renumbered(&self, ty: &Type) -> Type {
        let rank = |used: &BTreeSet<usize>, index: &usize| used.range(..index).count();
        match ty {
            Type::Prim(_) | Type::Text { .. } => ty.clone(),
            Type::Enum(index) => Type::Enum(rank(&self.enums, index)),
            Type::Typedef(index) => Type::Typedef(rank(&self.typedefs, index)),
            Type::Struct(index) => Type::Struct(rank(&self.structs, index)),
            Type::Array { elem, dims } => {
                Type::Array { elem: Box::new(self.renumbered(elem)), dims: dims.clone() }
            }
            Type::Sequence { elem, bound } => {
                Type::Sequence { elem: Box::new(self.renumbered(elem)), bound: *bound }
            }
        }
    }
}

//! The order in which definitions are written.

#![expect(clippy::indexing_slicing, reason = "indices are those of the set")]

use std::collections::BTreeSet;

use crate::typed::model::{Type, TypeSet};

/// One definition of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Def {
    Enum(usize),
    Typedef(usize),
    Struct(usize),
}

/// Definitions in an order in which each comes before its first use.
pub(super) struct Order<'a> {
    set: &'a TypeSet,
    seen: BTreeSet<Def>,
    pub(super) defs: Vec<Def>,
}

impl<'a> Order<'a> {
    pub(super) const fn new(set: &'a TypeSet) -> Self {
        Self { set, seen: BTreeSet::new(), defs: Vec::new() }
    }

    /// Adds a structure behind the enums and typedefs that it uses and, if `is_deep`, behind the
    /// structures that it uses.
    pub(super) fn visit_struct(&mut self, index: usize, is_deep: bool) {
        if self.seen.insert(Def::Struct(index)) {
            let set = self.set;
            for field in &set.structs[index].fields {
                self.visit(&field.ty, is_deep);
            }
            self.defs.push(Def::Struct(index));
        }
    }

    fn visit(&mut self, ty: &Type, is_deep: bool) {
        let set = self.set;
        match ty {
            Type::Prim(_) | Type::Text { .. } => {}
            Type::Enum(index) => {
                if self.seen.insert(Def::Enum(*index)) {
                    self.defs.push(Def::Enum(*index));
                }
            }
            Type::Typedef(index) => {
                if self.seen.insert(Def::Typedef(*index)) {
                    self.visit(&set.typedefs[*index].ty, is_deep);
                    self.defs.push(Def::Typedef(*index));
                }
            }
            Type::Struct(index) => {
                if is_deep {
                    self.visit_struct(*index, true);
                }
            }
            Type::Array { elem, .. } | Type::Sequence { elem, .. } => self.visit(elem, is_deep),
        }
    }
}

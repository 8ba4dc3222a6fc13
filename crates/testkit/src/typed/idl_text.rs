//! Definitions in OMG IDL: one file with everything (`omgidl`), or a block for each structure
//! behind a line of 80 `=` and a line `IDL: package/msg/Name` (`ros2idl`).
//!
//! Source: OMG IDL 4.2; OMG DDS-XTypes 1.3, 7.3.1.2; "IDL - Interface definition and language
//! mapping" of the ROS 2 design; the notes on `omgidl` and `ros2idl` in the MCAP registry.

#![expect(clippy::indexing_slicing, reason = "indices are those of the set")]

mod decoration;
mod order;

use std::collections::BTreeSet;

use order::{Def, Order};

use super::{
    model::{Extensibility, Family, Field, Prim, StructDef, Type, TypeSet},
    style::{DefinitionText, Style, one_of, separator},
};
use crate::prng::Prng;

/// Writes everything into one IDL file, each definition before its first use.
///
/// A structure of ROS without fields has the member that ROS 2 gives it,
/// `structure_needs_at_least_one_member`. Definitions of ROS sets do not say their extensibility;
/// those of IDL sets always do.
///
/// # Panics
///
/// When the set is of ROS 1.
pub fn omgidl(set: &TypeSet, style: Style, rng: &mut Prng) -> DefinitionText {
    assert_ne!(set.family, Family::Ros1, "a set with IDL");
    let has_msg_module = rng.chance(70);
    let mut file = File::new(set, style, rng, has_msg_module, false);
    let mut lines = file.top(&[]);
    let mut order = Order::new(set);
    order.visit_struct(0, true);
    for def in order.defs {
        if style.directives && file.rng.chance(10) {
            let ahead = file.rng.index(set.structs.len());
            let ahead = &set.structs[ahead];
            let declaration = vec![format!("struct {};", ahead.name)];
            lines.extend(file.in_modules(&ahead.package, declaration));
        }
        lines.extend(file.definition(def));
    }
    lines.extend(file.bottom());
    let root = &set.structs[0];
    DefinitionText {
        schema_name: file.full_name(&root.package, &root.name),
        encoding: "omgidl",
        text: style.joined(&lines),
    }
}

/// Writes a block for each structure, in any order.
///
/// Enums and typedefs stand in the first block that uses them. As to structures
/// without fields and extensibility, see [`omgidl`].
///
/// # Panics
///
/// When the set is of ROS 1.
pub fn ros2idl(set: &TypeSet, style: Style, rng: &mut Prng) -> DefinitionText {
    assert_ne!(set.family, Family::Ros1, "a set with IDL");
    let mut lines = Vec::new();
    let mut order = Order::new(set);
    let mut indices: Vec<usize> = (0..set.structs.len()).collect();
    // Mostly the message type first, as recorders write it.
    let first = usize::from(rng.chance(60));
    rng.shuffle(indices.get_mut(first..).unwrap_or_default());
    for index in indices {
        let def = &set.structs[index];
        lines.push(separator());
        lines.push(format!("IDL: {}/msg/{}", def.package, def.name));
        let mut file = File::new(set, style, rng, true, set.family == Family::Ros2);
        lines.extend(file.top(&includes(set, def)));
        order.defs.clear();
        order.visit_struct(index, false);
        for def in &order.defs {
            lines.extend(file.definition(*def));
        }
        lines.extend(file.bottom());
    }
    let root = &set.structs[0];
    DefinitionText {
        schema_name: format!("{}/msg/{}", root.package, root.name),
        encoding: "ros2idl",
        text: style.joined(&lines),
    }
}

/// The files of the structures that `def` names.
fn includes(set: &TypeSet, def: &StructDef) -> Vec<String> {
    fn structs<'a>(set: &'a TypeSet, ty: &Type, found: &mut Vec<&'a StructDef>) {
        match ty {
            Type::Struct(index) => found.push(&set.structs[*index]),
            Type::Typedef(index) => structs(set, &set.typedefs[*index].ty, found),
            Type::Array { elem, .. } | Type::Sequence { elem, .. } => structs(set, elem, found),
            Type::Prim(_) | Type::Text { .. } | Type::Enum(_) => {}
        }
    }
    let mut found = Vec::new();
    for field in &def.fields {
        structs(set, &field.ty, &mut found);
    }
    let files: BTreeSet<String> =
        found.iter().map(|def| format!("{}/msg/{}.idl", def.package, def.name)).collect();
    files.into_iter().collect()
}

struct File<'a> {
    set: &'a TypeSet,
    style: Style,
    rng: &'a mut Prng,
    /// Whether definitions are in `package::msg` rather than in `package`.
    has_msg_module: bool,
    /// Whether the text looks as the tools of ROS 2 make it out of message files.
    is_generated: bool,
    /// Names made up for typedefs and constants, with their package.
    made_up: BTreeSet<(String, String)>,
    constants: u32,
}

impl<'a> File<'a> {
    const fn new(
        set: &'a TypeSet,
        style: Style,
        rng: &'a mut Prng,
        has_msg_module: bool,
        is_generated: bool,
    ) -> Self {
        let made_up = BTreeSet::new();
        Self { set, style, rng, has_msg_module, is_generated, made_up, constants: 0 }
    }

    fn full_name(&self, package: &str, name: &str) -> String {
        let infix = if self.has_msg_module { "::msg" } else { "" };
        format!("{package}{infix}::{name}")
    }

    fn definition(&mut self, def: Def) -> Vec<String> {
        let set = self.set;
        match def {
            Def::Enum(index) => {
                let def = &set.enums[index];
                let mut lines = self.decorated();
                if self.style.annotations && self.rng.chance(20) {
                    lines.push("@bit_bound(32)".to_owned());
                }
                let mut next = 0;
                let items: Vec<String> = def
                    .enumerators
                    .iter()
                    .map(|(name, value)| {
                        let is_next = *value == next;
                        next = value + 1;
                        if is_next { name.clone() } else { format!("@value({value}) {name}") }
                    })
                    .collect();
                if self.rng.chance(50) {
                    lines.push(format!("enum {} {{ {} }};", def.name, items.join(", ")));
                } else {
                    lines.push(format!("enum {} {{", def.name));
                    lines.push(format!("  {}", items.join(",\n  ")));
                    lines.push("};".to_owned());
                }
                self.in_modules(&def.package, lines)
            }
            Def::Typedef(index) => {
                let def = &set.typedefs[index];
                let mut lines = self.decorated();
                let declarator = self.declarator(&def.package, &def.ty, &def.name, &mut lines);
                lines.push(format!("typedef {declarator};"));
                self.in_modules(&def.package, lines)
            }
            Def::Struct(index) => {
                let def = &set.structs[index];
                let lines = self.structure(def);
                self.in_modules(&def.package, lines)
            }
        }
    }

    fn structure(&mut self, def: &StructDef) -> Vec<String> {
        let mut lines = self.constants(&def.name);
        let mut members = Vec::new();
        for field in &def.fields {
            let annotations = self.member_annotations(field);
            let declarator = self.declarator(&def.package, &field.ty, &field.name, &mut lines);
            members.extend(self.comment());
            if self.is_generated || self.rng.chance(40) {
                members.extend(annotations);
                members.push(format!("{declarator};"));
            } else {
                let mut words = annotations;
                words.push(format!("{declarator};{}", self.trailing_comment()));
                members.push(words.join(" "));
            }
            if self.style.blanks && self.rng.chance(20) {
                members.push(String::new());
            }
        }
        if def.fields.is_empty() && self.set.family != Family::Idl {
            members.push("uint8 structure_needs_at_least_one_member;".to_owned());
        }
        lines.extend(self.comment());
        lines.extend(self.struct_annotations(def));
        let brace = if self.style.blanks && self.rng.chance(30) { "\n{" } else { " {" };
        lines.push(format!("struct {}{brace}", def.name));
        lines.extend(indented(members));
        lines.push("};".to_owned());
        lines
    }

    fn struct_annotations(&mut self, def: &StructDef) -> Vec<String> {
        let mut annotations = Vec::new();
        if self.set.family == Family::Idl {
            let (short, long) = match def.extensibility {
                Extensibility::Final => ("@final", "@extensibility(FINAL)"),
                Extensibility::Appendable => ("@appendable", "@extensibility(APPENDABLE)"),
                Extensibility::Mutable => ("@mutable", "@extensibility(MUTABLE)"),
            };
            annotations.push(if self.rng.chance(70) { short } else { long }.to_owned());
        }
        if self.style.annotations {
            annotations.extend(self.idle_struct_annotations());
        }
        self.rng.shuffle(&mut annotations);
        annotations
    }

    fn member_annotations(&mut self, field: &Field) -> Vec<String> {
        let mut annotations = Vec::new();
        if field.optional {
            annotations
                .push(if self.rng.chance(85) { "@optional" } else { "@optional(TRUE)" }.to_owned());
        }
        if let Some(id) = field.id {
            annotations.push(match self.rng.below(4) {
                0 => format!("@id(value={id})"),
                1 => format!("@id(0x{id:x})"),
                _ => format!("@id({id})"),
            });
        }
        if self.style.annotations {
            annotations.extend(self.idle_member_annotations(field));
        }
        self.rng.shuffle(&mut annotations);
        annotations
    }

    /// A type and a name of that type. What must stand before goes to `before`.
    fn declarator(
        &mut self,
        package: &str,
        ty: &Type,
        name: &str,
        before: &mut Vec<String>,
    ) -> String {
        let Type::Array { elem, dims } = ty else {
            return format!("{} {name}", self.type_name(package, ty, before));
        };
        let elem_name = self.type_name(package, elem, before);
        let mut brackets = String::new();
        for dim in dims {
            let size = self.size(package, *dim, before);
            brackets.extend(["[", &size, "]"]);
        }
        if !self.is_generated && self.rng.chance(70) {
            return format!("{elem_name} {name}{brackets}");
        }
        let plain_name: String = elem_name
            .trim_start_matches("::")
            .replace("::", "__")
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
            .collect();
        let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
        let alias = format!("{plain_name}__{}", dims.join("__"));
        if self.made_up.insert((package.to_owned(), alias.clone())) {
            before.push(format!("typedef {elem_name} {alias}{brackets};"));
        }
        format!("{alias} {name}")
    }

    fn type_name(&mut self, package: &str, ty: &Type, before: &mut Vec<String>) -> String {
        let set = self.set;
        match ty {
            Type::Prim(prim) => self.prim_name(*prim).to_owned(),
            Type::Text { bound: None } => "string".to_owned(),
            Type::Text { bound: Some(bound) } => {
                format!("string<{}>", self.size(package, *bound, before))
            }
            Type::Enum(index) => {
                let def = &set.enums[*index];
                self.reference(package, &def.package, &def.name)
            }
            Type::Typedef(index) => {
                let def = &set.typedefs[*index];
                self.reference(package, &def.package, &def.name)
            }
            Type::Struct(index) => {
                let def = &set.structs[*index];
                self.reference(package, &def.package, &def.name)
            }
            Type::Sequence { elem, bound } => {
                let mut inner = self.type_name(package, elem, before);
                if let Some(bound) = bound {
                    let comma = *self.rng.pick(&[",", ", "]);
                    inner = format!("{inner}{comma}{}", self.size(package, *bound, before));
                }
                let blank = if inner.ends_with('>') && self.rng.chance(50) { " " } else { "" };
                format!("sequence<{inner}{blank}>")
            }
            Type::Array { .. } => panic!("{ty:?} needs a name to be an element"),
        }
    }

    fn prim_name(&mut self, prim: Prim) -> &'static str {
        let is_idl = self.set.family == Family::Idl;
        let names: [&str; 2] = match prim {
            Prim::Bool => ["boolean"; 2],
            Prim::Byte => ["octet"; 2],
            Prim::Char if is_idl => ["char"; 2],
            Prim::I8 => ["int8"; 2],
            Prim::Char | Prim::U8 => ["uint8"; 2],
            Prim::I16 => ["int16", "short"],
            Prim::U16 => ["uint16", "unsigned short"],
            Prim::I32 => ["int32", "long"],
            Prim::U32 => ["uint32", "unsigned long"],
            Prim::I64 => ["int64", "long long"],
            Prim::U64 => ["uint64", "unsigned long long"],
            Prim::F32 => ["float"; 2],
            Prim::F64 => ["double"; 2],
        };
        if self.is_generated { names[0] } else { one_of(&names, self.rng) }
    }

    /// A bound, as a number or as a constant of that value.
    fn size(&mut self, package: &str, size: usize, before: &mut Vec<String>) -> String {
        if self.is_generated || !self.style.constants || self.rng.chance(75) {
            return size.to_string();
        }
        let name = format!("SIZE_{size}");
        if self.made_up.insert((package.to_owned(), name.clone())) {
            let ty = *self.rng.pick(&["long", "unsigned long", "uint32", "short"]);
            before.push(format!("const {ty} {name} = {size};"));
        }
        name
    }

    fn reference(&mut self, from: &str, package: &str, name: &str) -> String {
        let full = self.full_name(package, name);
        if self.is_generated {
            return full;
        }
        match self.rng.below(10) {
            0..5 if from == package => name.to_owned(),
            5 if from == package && self.has_msg_module => format!("msg::{name}"),
            6..8 => format!("::{full}"),
            _ => full,
        }
    }

    fn in_modules(&mut self, package: &str, lines: Vec<String>) -> Vec<String> {
        let mut lines = indented(lines);
        if self.has_msg_module {
            lines.insert(0, "module msg {".to_owned());
            lines.push("};".to_owned());
            lines = indented(lines);
        }
        lines.insert(0, format!("module {package} {{"));
        lines.push("};".to_owned());
        if self.style.blanks {
            lines.push(String::new());
        }
        lines
    }
}

fn indented(lines: Vec<String>) -> Vec<String> {
    lines
        .into_iter()
        .map(
            |line| if line.is_empty() { line } else { format!("  {}", line.replace('\n', "\n  ")) },
        )
        .collect()
}

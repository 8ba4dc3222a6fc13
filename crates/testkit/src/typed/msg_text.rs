//! Message files of ROS, one behind the other as recordings hold them.
//!
//! The message type comes first. Every other type follows after a line of 80 `=` and a line
//! `MSG: package/Name`.
//!
//! Source: the `msg` page of the ROS wiki; "Interfaces" of the ROS 2 documentation; the notes on
//! `ros1msg` and `ros2msg` in the MCAP registry.

#![expect(clippy::indexing_slicing, reason = "indices are those of the set")]

use super::{
    model::{Family, Field, Prim, StructDef, Type, TypeSet},
    style::{DefinitionText, Style, one_of, separator},
};
use crate::prng::Prng;

/// Writes the definition of a set of ROS 1.
///
/// # Panics
///
/// When the set is not of ROS 1.
pub fn ros1msg(set: &TypeSet, style: Style, rng: &mut Prng) -> DefinitionText {
    assert_eq!(set.family, Family::Ros1, "a set of ROS 1");
    let style = Style { defaults: false, ..style };
    concatenated(set, style, rng, "ros1msg")
}

/// Writes the definition of a set of ROS 2.
///
/// # Panics
///
/// When the set is not of ROS 2.
pub fn ros2msg(set: &TypeSet, style: Style, rng: &mut Prng) -> DefinitionText {
    assert_eq!(set.family, Family::Ros2, "a set of ROS 2");
    concatenated(set, style, rng, "ros2msg")
}

/// Comments that have misled parsers before.
const COMMENTS: &[&str] = &[
    "# plain words",
    "#",
    "#no blank",
    "# a = b",
    "# 'single' and \"double\" quotes, one \" alone, and one ' too",
    "# x # y",
    "#[m]",
    "# MSG: not/AType",
    "# uint8 FAKE=1",
    "# @unit m",
    "# int32[<=3] bounds [1, 2]",
    "################",
    "# 20 \u{b0}C",
    "# ==============================================================================",
    "#===============================================================================",
];

fn concatenated(
    set: &TypeSet,
    style: Style,
    rng: &mut Prng,
    encoding: &'static str,
) -> DefinitionText {
    let mut lines = Writer { set, style, rng }.message(&set.structs[0]);
    let mut others: Vec<&StructDef> = set
        .structs
        .iter()
        .skip(1)
        .filter(|def| !(set.family == Family::Ros1 && def.package == "builtin_interfaces"))
        .collect();
    rng.shuffle(&mut others);
    let infix = if set.family == Family::Ros2 && rng.chance(30) { "/msg" } else { "" };
    for def in others {
        lines.push(separator());
        lines.push(format!("MSG: {}{infix}/{}", def.package, def.name));
        lines.extend(Writer { set, style, rng }.message(def));
    }
    let root = &set.structs[0];
    let infix = if set.family == Family::Ros2 { "/msg" } else { "" };
    DefinitionText {
        schema_name: format!("{}{infix}/{}", root.package, root.name),
        encoding,
        text: style.joined(&lines),
    }
}

struct Writer<'a> {
    set: &'a TypeSet,
    style: Style,
    rng: &'a mut Prng,
}

impl Writer<'_> {
    fn message(&mut self, def: &StructDef) -> Vec<String> {
        let mut lines = Vec::new();
        let mut constants = 0;
        for field in &def.fields {
            self.between(&mut lines, &mut constants);
            let line = self.field(def, field);
            lines.push(self.finished(line));
        }
        self.between(&mut lines, &mut constants);
        lines
    }

    /// What may stand before, between and behind fields.
    fn between(&mut self, lines: &mut Vec<String>, constants: &mut u32) {
        if self.style.comments && self.rng.chance(20) {
            let indent = if self.style.blanks && self.rng.chance(30) { "  " } else { "" };
            lines.push(format!("{indent}{}", self.rng.pick(COMMENTS)));
        }
        if self.style.blanks && self.rng.chance(20) {
            lines.push((*self.rng.pick(&["", "", "  ", "\t"])).to_owned());
        }
        while self.style.constants && self.rng.chance(15) {
            *constants += 1;
            lines.push(self.constant(*constants));
        }
    }

    /// A line of a field or constant, maybe with blanks and a comment behind it.
    fn finished(&mut self, mut line: String) -> String {
        if self.style.blanks && self.rng.chance(10) {
            line.insert_str(0, one_of(&[" ", "\t"], self.rng));
        }
        if self.style.comments && self.rng.chance(25) {
            line.push_str(one_of(&[" ", "  ", "\t"], self.rng));
            line.push_str(one_of(COMMENTS, self.rng));
        } else if self.style.blanks && self.rng.chance(10) {
            line.push_str("  ");
        }
        line
    }

    fn constant(&mut self, number: u32) -> String {
        let prim = *self.rng.pick(&Prim::ALL);
        let equals = if self.style.blanks {
            *self.rng.pick(&["=", " = ", " =", "= ", "\t=\t"])
        } else {
            "="
        };
        if self.rng.chance(70) {
            let gap = self.gap();
            let line = format!("{}{gap}K{number}{equals}{}", prim.ros_name(), self.literal(prim));
            return self.finished(line);
        }
        if self.style.odd_strings && self.rng.chance(60) {
            // The rest of the line is the value, so that nothing may follow.
            let value = *self.rng.pick(&[
                "",
                "hello world",
                "no quotes = no escapes",
                "\"#comments\" are ignored, and leading and trailing whitespace removed",
                "it's",
            ]);
            return format!("string K{number}={value}");
        }
        let line = format!("string K{number}{equals}{}", self.quoted());
        self.finished(line)
    }

    fn literal(&mut self, prim: Prim) -> String {
        let literals: &[&str] = match prim {
            Prim::Bool => &["true", "false", "True", "False", "1", "0"],
            Prim::F32 | Prim::F64 => {
                &[".5", "1.", "1e-3", "-0.5", "3", "-1", "1.5e10", "2E5", "+1.0", "0.0", "-.25"]
            }
            Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 => &["0", "-1", "-128", "127", "0x1F"],
            _ => &["0", "1", "127", "0x7f"],
        };
        (*self.rng.pick(literals)).to_owned()
    }

    fn quoted(&mut self) -> String {
        (*self.rng.pick(&[
            "\"\"",
            "''",
            "\"text\"",
            "'text'",
            "\"a # b\"",
            "'x=y'",
            "\"it's\"",
            "'say \"so\"'",
            "\"a \\\"quoted\\\" word\"",
            "\"uint8 x\"",
        ]))
        .to_owned()
    }

    fn field(&mut self, def: &StructDef, field: &Field) -> String {
        let ty = self.type_name(def, &field.ty);
        let gap = self.gap();
        let mut line = format!("{ty}{gap}{}", field.name);
        let has_default = self.style.defaults && self.rng.chance(30);
        if let Some(default) = self.default(&field.ty).filter(|_| has_default) {
            line.push_str(if gap == "\t" { "\t" } else { " " });
            line.push_str(&default);
        }
        line
    }

    /// What stands between a type and a name.
    fn gap(&mut self) -> &'static str {
        if self.style.blanks { one_of(&[" ", "   ", "\t", " \t "], self.rng) } else { " " }
    }

    /// A value that suits the type, if it is one that may have a default.
    fn default(&mut self, ty: &Type) -> Option<String> {
        match ty {
            Type::Prim(prim) => Some(self.literal(*prim)),
            // Long enough for the quoted ones.
            Type::Text { bound } if bound.is_none_or(|bound| bound >= 20) => {
                let has_quotes = !self.style.odd_strings || self.rng.chance(60);
                Some(if has_quotes { self.quoted() } else { "bare".to_owned() })
            }
            Type::Array { elem, dims } => self.defaults(elem, dims[0]),
            Type::Sequence { elem, bound } => {
                let count = self.rng.index(bound.unwrap_or(4).min(4) + 1);
                self.defaults(elem, count)
            }
            _ => None,
        }
    }

    fn defaults(&mut self, elem: &Type, count: usize) -> Option<String> {
        if count == 0 && !self.style.odd_strings {
            return None;
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(match elem {
                Type::Prim(prim) => self.literal(*prim),
                Type::Text { bound: None } => self.quoted(),
                _ => return None,
            });
        }
        let comma = if self.style.blanks { *self.rng.pick(&[",", ", ", " , "]) } else { ", " };
        (count > 0 || matches!(elem, Type::Prim(_))).then(|| format!("[{}]", items.join(comma)))
    }

    fn type_name(&mut self, def: &StructDef, ty: &Type) -> String {
        match ty {
            Type::Prim(prim) => prim.ros_name().to_owned(),
            Type::Text { bound: None } => "string".to_owned(),
            Type::Text { bound: Some(bound) } => format!("string<={bound}"),
            Type::Struct(index) => self.reference(def, &self.set.structs[*index]),
            Type::Array { elem, dims } => format!("{}[{}]", self.type_name(def, elem), dims[0]),
            Type::Sequence { elem, bound: None } => format!("{}[]", self.type_name(def, elem)),
            Type::Sequence { elem, bound: Some(bound) } => {
                format!("{}[<={bound}]", self.type_name(def, elem))
            }
            Type::Enum(_) | Type::Typedef(_) => panic!("{ty:?} is none of ROS"),
        }
    }

    fn reference(&mut self, from: &StructDef, to: &StructDef) -> String {
        let is_ros1 = self.set.family == Family::Ros1;
        if is_ros1 && to.package == "builtin_interfaces" {
            return to.name.to_lowercase();
        }
        // In ROS 1 a bare `Header` is that of `std_msgs`, even in a package that has its own.
        let is_header = to.is_named("std_msgs", "Header");
        let may_be_bare = if to.name == "Header" {
            is_header && (is_ros1 || from.package == to.package)
        } else {
            from.package == to.package
        };
        if may_be_bare && self.rng.chance(70) {
            to.name.clone()
        } else if !is_ros1 && self.rng.chance(20) {
            format!("{}/msg/{}", to.package, to.name)
        } else {
            format!("{}/{}", to.package, to.name)
        }
    }
}

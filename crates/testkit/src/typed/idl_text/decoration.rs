//! What IDL files have that says nothing of the layout: comments, directives, constants, and
//! annotations.

use super::File;
use crate::{
    prng::Prng,
    typed::model::{Field, Prim, Type},
};

/// Comments that have misled parsers before.
const COMMENTS: &[&str] = &[
    "// plain words",
    "//",
    "//no blank",
    "// struct Fake { long x; };",
    "// a \" alone, and one ' too",
    "// /* not the start of another",
    "/* in one line */",
    "/* struct Fake {\n   long x; // inner\n }; \" */",
    "/** for a tool\n * @key long x;\n **/",
    "/**/",
    "/* http://example.org */",
    "// ==============================================================================",
    "// 20 \u{b0}C",
];

impl File<'_> {
    pub(super) fn comment(&mut self) -> Option<String> {
        let is_wanted = self.style.comments && self.rng.chance(20);
        is_wanted.then(|| (*self.rng.pick(COMMENTS)).to_owned())
    }

    pub(super) fn trailing_comment(&mut self) -> String {
        self.comment().map_or_else(String::new, |comment| format!(" {comment}"))
    }

    /// What may stand before any definition.
    pub(super) fn decorated(&mut self) -> Vec<String> {
        self.comment().into_iter().collect()
    }

    /// The first lines of a file.
    pub(super) fn top(&mut self, includes: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        if self.is_generated {
            lines.push("// generated from rosidl_adapter/resource/msg.idl.em".to_owned());
            lines.push("// generated code does not contain a copyright notice".to_owned());
            lines.push(String::new());
        }
        lines.extend(self.comment());
        if self.style.directives && !self.is_generated {
            lines.push("#ifndef A_FILE_IDL_".to_owned());
            lines.push("#define A_FILE_IDL_".to_owned());
            lines.push((*self.rng.pick(&["#include <orb.idl>", "#pragma once"])).to_owned());
        }
        if self.style.directives || self.is_generated {
            lines.extend(includes.iter().map(|file| format!("#include \"{file}\"")));
        }
        lines
    }

    /// The last lines of a file.
    pub(super) fn bottom(&mut self) -> Vec<String> {
        let mut lines: Vec<String> = self.comment().into_iter().collect();
        if self.style.directives && !self.is_generated {
            lines.push("#endif // A_FILE_IDL_".to_owned());
        }
        lines
    }

    /// Some constants, in the module that the tools of ROS 2 make for those of a message.
    pub(super) fn constants(&mut self, name: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.style.constants {
            return lines;
        }
        while self.rng.chance(30) {
            self.constants += 1;
            let (ty, value) = if self.style.odd_strings && self.rng.chance(10) {
                ("char", "'\\''")
            } else {
                constant(self.rng)
            };
            lines.push(format!("const {ty} K{}_{name} = {value};", self.constants));
        }
        if !lines.is_empty() && (self.is_generated || self.rng.chance(30)) {
            lines = super::indented(lines);
            lines.insert(0, format!("module {name}_Constants {{"));
            lines.push("};".to_owned());
        }
        lines
    }

    pub(super) fn idle_struct_annotations(&mut self) -> Vec<String> {
        let mut annotations = Vec::new();
        if self.rng.chance(30) {
            annotations.push(self.verbatim());
        }
        if !self.is_generated {
            for annotation in
                ["@transfer_mode(SHMEM_REF)", "@topic", "@nested(FALSE)", "@my::own(a=1, b=\"}\")"]
            {
                if self.rng.chance(12) {
                    annotations.push(annotation.to_owned());
                }
            }
        }
        annotations
    }

    pub(super) fn idle_member_annotations(&mut self, field: &Field) -> Vec<String> {
        let mut annotations = Vec::new();
        if self.rng.chance(15) {
            annotations.push(self.verbatim());
        }
        let blank = if self.is_generated { " " } else { "" };
        if self.rng.chance(20) {
            annotations.push(format!("@unit{blank}(value=\"m/s^2 (\\\"x\\\")\")"));
        }
        if !self.is_generated && !field.optional && self.rng.chance(15) {
            annotations.push("@key".to_owned());
        }
        let default = match &field.ty {
            Type::Prim(Prim::Bool) => "TRUE",
            Type::Prim(Prim::F32 | Prim::F64) => "-1.5e-3",
            Type::Prim(Prim::Char) if !self.is_generated => "'x'",
            Type::Prim(_) => "5",
            Type::Text { .. } => "\"a; b }\"",
            _ => return annotations,
        };
        if self.rng.chance(20) {
            annotations.push(if self.is_generated || self.rng.chance(50) {
                format!("@default{blank}(value={default})")
            } else {
                format!("@default({default})")
            });
        } else if matches!(field.ty, Type::Prim(Prim::I32 | Prim::F64)) && self.rng.chance(10) {
            annotations.push("@range(min=0, max=10)".to_owned());
        }
        annotations
    }

    fn verbatim(&mut self) -> String {
        (*self.rng.pick(&[
            "@verbatim (language=\"comment\", text=\n  \"first; line {\" \"\\n\"\n  \"second\")",
            "@verbatim(language=\"comment\", text=\"in one line\")",
            "@verbatim (language=\"comment\", text=\"\")",
        ]))
        .to_owned()
    }
}

fn constant(rng: &mut Prng) -> (&'static str, &'static str) {
    *rng.pick(&[
        ("long", "5"),
        ("int32", "-7"),
        ("uint8", "0x1F"),
        ("octet", "255"),
        ("unsigned long long", "18446744073709551615"),
        ("double", "1.5e-3"),
        ("float", ".5"),
        ("boolean", "TRUE"),
        ("char", "'x'"),
        ("string", "\"\""),
        ("string", "\"two \" \"parts\""),
        ("string", "\"a // b; }\""),
        ("string", "\"a \\\"quoted\\\" word\""),
    ])
}

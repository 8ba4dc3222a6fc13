//! Random types.
//!
//! Structures are made from the last to the first, and each refers only to later ones, so that
//! none contains itself. Each structure but the first is a field of an earlier one.

#![expect(clippy::indexing_slicing, reason = "indices are made here, for lists made here")]

mod used;

use std::collections::BTreeSet;

use used::Used;

use super::model::{
    EnumDef, Extensibility, Family, Field, Prim, StructDef, Type, TypeSet, Typedef,
};
use crate::prng::Prng;

/// How large random types get, and of what family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What the types may use.
    pub family: Family,
    /// Greatest number of structures, besides the well-known ones; at least 1.
    pub max_structs: u64,
    /// Greatest number of fields of a structure.
    pub max_fields: u64,
    /// Whether a structure may have no fields.
    pub empty_structs: bool,
    /// Whether a typedef of an array may be the element of an array. By the specification such
    /// an array says its size in version 2; vendors treat it as one of two dimensions.
    pub arrays_of_arrays: bool,
}

impl Options {
    /// Types that ROS 1 can express.
    pub const fn ros1() -> Self {
        Self {
            family: Family::Ros1,
            max_structs: 7,
            max_fields: 15,
            empty_structs: true,
            arrays_of_arrays: false,
        }
    }

    /// Types that ROS 2 message files can express.
    pub const fn ros2() -> Self {
        Self {
            family: Family::Ros2,
            max_structs: 7,
            max_fields: 15,
            empty_structs: true,
            arrays_of_arrays: false,
        }
    }

    /// Types that only IDL can express. Whether an empty structure of IDL takes a byte is disputed
    /// among vendors, so there are none unless asked for; then they take no byte.
    pub const fn idl() -> Self {
        Self {
            family: Family::Idl,
            max_structs: 7,
            max_fields: 15,
            empty_structs: false,
            arrays_of_arrays: false,
        }
    }
}

/// Makes a random message type.
pub fn random_types(options: Options, rng: &mut Prng) -> TypeSet {
    let mut maker = Maker::new(options, rng);
    for index in (0..maker.own).rev() {
        maker.fill(index);
    }
    maker.finish()
}

/// How deep a chain of structures may get, leaving out the well-known ones.
const MAX_HEIGHT: usize = 5;
/// The least number of single values in a structure, at which it gets no more fields.
const HEAVY: usize = 200;

const PACKAGES: &[&str] = &["demo_msgs", "alpha_interfaces", "b2_msgs", "nav_things"];
const TYPE_NAMES: &[&str] = &[
    "Pose",
    "Marker",
    "State",
    "Sample",
    "Inner",
    "Cell",
    "Entry",
    "Report",
    "Int32Stamped",
    "StringArray",
    "Header",
    "MapMetaData2D",
];
/// Some start with the name of a type, which has misled parsers before.
const FIELD_NAMES: &[&str] = &[
    "x",
    "data",
    "string_value",
    "int32_count",
    "timestamp",
    "time_ref",
    "header",
    "pose",
    "covariance",
    "frame_id",
    "id",
    "name",
    "uint8_flags",
    "duration_s",
    "position",
    "float64_z",
    "bool_ok",
    "msg_text",
    "a",
    "b1",
    "constant_x",
    "sequence_no",
    "module_id",
    "struct_kind",
    "time",
    "duration",
    "stamp",
    "byte_count",
    "char_code",
    "optional_part",
    "key_id",
];

struct Maker<'a> {
    options: Options,
    rng: &'a mut Prng,
    /// Structures that are not well-known ones; these come first.
    own: usize,
    structs: Vec<StructDef>,
    enums: Vec<EnumDef>,
    typedefs: Vec<Typedef>,
    /// Of each structure, which later ones it must refer to.
    children: Vec<Vec<usize>>,
    /// Of each structure, the longest chain of structures below it.
    heights: Vec<usize>,
    /// Of each structure, the least number of single values in it.
    weights: Vec<usize>,
}

impl<'a> Maker<'a> {
    fn new(options: Options, rng: &'a mut Prng) -> Self {
        let own = usize::try_from(rng.between(1, options.max_structs.max(1))).unwrap_or(1);
        let mut levels = vec![0; own];
        let mut children = vec![Vec::new(); own];
        for index in 1..own {
            let above: Vec<usize> =
                (0..index).filter(|above| levels[*above] + 1 < MAX_HEIGHT).collect();
            // Mostly the one before, for depth.
            let parent = if rng.chance(50) { above[above.len() - 1] } else { *rng.pick(&above) };
            levels[index] = levels[parent] + 1;
            children[parent].push(index);
        }
        let mut structs = Vec::new();
        let mut taken = BTreeSet::new();
        while structs.len() < own {
            let package = (*rng.pick(PACKAGES)).to_owned();
            let name = (*rng.pick(TYPE_NAMES)).to_owned();
            if taken.insert((package.clone(), name.clone())) {
                let extensibility = match (options.family, rng.below(3)) {
                    (Family::Idl, 0) => Extensibility::Appendable,
                    (Family::Idl, 1) => Extensibility::Mutable,
                    _ => Extensibility::Final,
                };
                structs.push(StructDef { package, name, extensibility, fields: Vec::new() });
            }
        }
        let mut maker = Self {
            options,
            rng,
            own,
            structs,
            enums: Vec::new(),
            typedefs: Vec::new(),
            children,
            heights: vec![0; own],
            weights: vec![0; own],
        };
        if options.family != Family::Idl {
            maker.add_well_known();
        }
        maker
    }

    /// Adds `Header`, `Time` and `Duration`, as the version of ROS defines them.
    fn add_well_known(&mut self) {
        let is_ros1 = self.options.family == Family::Ros1;
        let time = self.own + 1;
        let mut header =
            vec![field("stamp", Type::Struct(time)), field("frame_id", Type::Text { bound: None })];
        if is_ros1 {
            header.insert(0, field("seq", Type::Prim(Prim::U32)));
        }
        let pair = |seconds, nanoseconds| {
            vec![field("sec", Type::Prim(seconds)), field("nanosec", Type::Prim(nanoseconds))]
        };
        let time = pair(if is_ros1 { Prim::U32 } else { Prim::I32 }, Prim::U32);
        let duration = pair(Prim::I32, if is_ros1 { Prim::I32 } else { Prim::U32 });
        for (package, name, fields, height) in [
            ("std_msgs", "Header", header, 1),
            ("builtin_interfaces", "Time", time, 0),
            ("builtin_interfaces", "Duration", duration, 0),
        ] {
            self.structs.push(StructDef {
                package: package.to_owned(),
                name: name.to_owned(),
                extensibility: Extensibility::Final,
                fields,
            });
            self.heights.push(height);
            self.weights.push(4);
        }
    }

    fn fill(&mut self, index: usize) {
        let mut wanted: Vec<Type> = Vec::new();
        for child in self.children[index].clone() {
            let ty = self.wrapped(Type::Struct(child), 1);
            wanted.push(ty);
        }
        let is_empty = wanted.is_empty() && self.options.empty_structs && self.rng.chance(12);
        if !is_empty {
            let few = if self.rng.chance(60) { 6 } else { self.options.max_fields };
            let fields = self.rng.between(1, few.min(self.options.max_fields).max(1));
            while (wanted.len() as u64) < fields
                && wanted.iter().map(|ty| self.weight(ty)).sum::<usize>() < HEAVY
            {
                let base = self.base(index);
                let ty = self.wrapped(base, 0);
                wanted.push(ty);
            }
        }
        self.rng.shuffle(&mut wanted);
        self.weights[index] = wanted.iter().map(|ty| self.weight(ty)).sum::<usize>().max(1);
        self.heights[index] = wanted.iter().map(|ty| self.height(ty)).max().unwrap_or(0);
        let names = self.names(wanted.len());
        let ids = self.ids(wanted.len());
        let is_idl = self.options.family == Family::Idl;
        self.structs[index].fields = wanted
            .into_iter()
            .zip(names)
            .zip(ids)
            .map(|((ty, name), id)| Field { name, ty, optional: is_idl && self.rng.chance(20), id })
            .collect();
    }

    fn base(&mut self, index: usize) -> Type {
        let is_idl = self.options.family == Family::Idl;
        match self.rng.below(100) {
            0..15 => {
                let is_bounded = self.options.family != Family::Ros1 && self.rng.chance(30);
                let bound = is_bounded.then(|| 1 + self.rng.index(20));
                Type::Text { bound }
            }
            15..32 => {
                let below: Vec<usize> = (index + 1..self.structs.len())
                    .filter(|below| {
                        self.heights[*below] < MAX_HEIGHT && self.weights[*below] < HEAVY / 4
                    })
                    .collect();
                if below.is_empty() {
                    Type::Prim(*self.rng.pick(&Prim::ALL))
                } else {
                    Type::Struct(*self.rng.pick(&below))
                }
            }
            32..42 if is_idl => self.an_enum(),
            42..54 if is_idl => self.a_typedef(index),
            _ => Type::Prim(*self.rng.pick(&Prim::ALL)),
        }
    }

    /// Maybe a list of `base`; in IDL sets maybe a list of lists.
    fn wrapped(&mut self, base: Type, depth: u32) -> Type {
        let is_idl = self.options.family == Family::Idl;
        let ty = match self.rng.below(100) {
            0..15 if self.may_be_in_array(&base) => {
                Type::Array { dims: self.dims(&base), elem: Box::new(base) }
            }
            0..40 => {
                let is_bounded = self.options.family != Family::Ros1 && self.rng.chance(30);
                let bound = is_bounded.then(|| 1 + self.rng.index(12));
                Type::Sequence { elem: Box::new(base), bound }
            }
            _ => return base,
        };
        let is_deeper = is_idl && depth < 2 && self.rng.chance(30);
        if !is_deeper {
            ty
        } else if matches!(ty, Type::Array { .. }) {
            // Only a typedef can be the element of another list.
            let alias = self.new_typedef(ty);
            self.wrapped(alias, depth + 1)
        } else {
            self.wrapped(ty, depth + 1)
        }
    }

    fn may_be_in_array(&self, elem: &Type) -> bool {
        match elem {
            Type::Typedef(index) => self.may_be_in_array(&self.typedefs[*index].ty),
            Type::Array { .. } => self.options.arrays_of_arrays,
            _ => true,
        }
    }

    fn dims(&mut self, elem: &Type) -> Vec<usize> {
        let weight = self.weight(elem);
        let is_long = weight == 1 && matches!(elem, Type::Prim(_)) && self.rng.chance(30);
        let most = if is_long { 36 } else { (60 / weight.max(1)).clamp(1, 4) };
        let mut dims = vec![1 + self.rng.index(most)];
        let has_more = self.options.family == Family::Idl && weight * dims[0] <= 12;
        if has_more && self.rng.chance(35) {
            dims.push(1 + self.rng.index(3));
            if self.rng.chance(20) {
                dims.push(1 + self.rng.index(2));
            }
        }
        dims
    }

    fn an_enum(&mut self) -> Type {
        if self.enums.len() < 3 && (self.enums.is_empty() || self.rng.chance(40)) {
            let index = self.enums.len();
            let mut value = -1;
            let has_values = self.rng.chance(40);
            let enumerators = (0..self.rng.between(1, 6))
                .map(|number| {
                    let step = if has_values { self.rng.between(1, 1000) } else { 1 };
                    value += i32::try_from(step).unwrap_or(1);
                    (format!("MODE{index}_{number}"), value)
                })
                .collect();
            let package = (*self.rng.pick(PACKAGES)).to_owned();
            self.enums.push(EnumDef { package, name: format!("Mode{index}"), enumerators });
        }
        Type::Enum(self.rng.index(self.enums.len()))
    }

    fn a_typedef(&mut self, index: usize) -> Type {
        // Every typedef so far refers only to structures made before, which are later ones.
        if !self.typedefs.is_empty() && self.rng.chance(50) {
            let known = self.rng.index(self.typedefs.len());
            if self.weight(&Type::Typedef(known)) < HEAVY / 4 {
                return Type::Typedef(known);
            }
        }
        let base = match self.rng.below(10) {
            0 if !self.typedefs.is_empty() => Type::Typedef(self.rng.index(self.typedefs.len())),
            1..4 => {
                let below: Vec<usize> = (index + 1..self.structs.len())
                    .filter(|below| self.weights[*below] < HEAVY / 4)
                    .collect();
                below.last().map_or(Type::Prim(Prim::F64), |below| Type::Struct(*below))
            }
            4 => self.an_enum(),
            5 => Type::Text { bound: None },
            _ => Type::Prim(*self.rng.pick(&Prim::ALL)),
        };
        let ty = if self.rng.chance(40) && self.may_be_in_array(&base) {
            Type::Array { dims: self.dims(&base), elem: Box::new(base) }
        } else if self.rng.chance(50) {
            Type::Sequence { elem: Box::new(base), bound: None }
        } else {
            base
        };
        self.new_typedef(ty)
    }

    fn new_typedef(&mut self, ty: Type) -> Type {
        let index = self.typedefs.len();
        let package = (*self.rng.pick(PACKAGES)).to_owned();
        self.typedefs.push(Typedef { package, name: format!("alias_{index}_t"), ty });
        Type::Typedef(index)
    }

    fn names(&mut self, count: usize) -> Vec<String> {
        let mut taken = BTreeSet::new();
        (0..count)
            .map(|number| {
                let name = (*self.rng.pick(FIELD_NAMES)).to_owned();
                if taken.insert(name.clone()) {
                    name
                } else {
                    let name = format!("{name}_n{number}");
                    taken.insert(name.clone());
                    name
                }
            })
            .collect()
    }

    /// What ids the text gives to members, such that no two members have the same.
    fn ids(&mut self, count: usize) -> Vec<Option<u32>> {
        if self.options.family != Family::Idl || self.rng.chance(50) {
            return vec![None; count];
        }
        let mut taken = BTreeSet::new();
        let mut next = 0;
        (0..count)
            .map(|_| {
                let mut explicit = None;
                while taken.contains(&explicit.unwrap_or(next))
                    || (explicit.is_none() && self.rng.chance(40))
                {
                    // Small ones, ones about the last that fits a short header, and large ones.
                    let id = match self.rng.below(4) {
                        0 => self.rng.between(0x3EFE, 0x3F05),
                        1 => self.rng.between(0x3F06, 0x0FFF_FF00),
                        _ => self.rng.below(60),
                    };
                    explicit = u32::try_from(id).ok();
                }
                let id = explicit.unwrap_or(next);
                taken.insert(id);
                next = id + 1;
                explicit
            })
            .collect()
    }

    fn weight(&self, ty: &Type) -> usize {
        match ty {
            Type::Prim(_) | Type::Text { .. } | Type::Enum(_) | Type::Sequence { .. } => 1,
            Type::Typedef(index) => self.weight(&self.typedefs[*index].ty),
            Type::Struct(index) => self.weights[*index],
            Type::Array { elem, dims } => dims.iter().product::<usize>() * self.weight(elem),
        }
    }

    fn height(&self, ty: &Type) -> usize {
        match ty {
            Type::Prim(_) | Type::Text { .. } | Type::Enum(_) => 0,
            Type::Typedef(index) => self.height(&self.typedefs[*index].ty),
            Type::Struct(index) => 1 + self.heights[*index],
            Type::Array { elem, .. } | Type::Sequence { elem, .. } => self.height(elem),
        }
    }

    /// The set, without what nothing refers to.
    fn finish(self) -> TypeSet {
        let mut used = Used::default();
        used.visit(&Type::Struct(0), &self.structs, &self.typedefs);
        let structs = used
            .structs
            .iter()
            .map(|index| {
                let mut def = self.structs[*index].clone();
                for field in &mut def.fields {
                    field.ty = used.renumbered(&field.ty);
                }
                def
            })
            .collect();
        let typedefs = used
            .typedefs
            .iter()
            .map(|index| {
                let def = self.typedefs[*index].clone();
                Typedef { ty: used.renumbered(&def.ty), ..def }
            })
            .collect();
        let enums = used.enums.iter().map(|index| self.enums[*index].clone()).collect();
        TypeSet { family: self.options.family, structs, enums, typedefs }
    }
}

fn field(name: &str, ty: Type) -> Field {
    Field { name: name.to_owned(), ty, optional: false, id: None }
}

//! From the names in definitions to the types they mean.

use std::collections::{HashMap, hash_map::Entry};

use ros2_memory_cdr::Primitive;

use crate::{
    Definition, DefinitionError, Field, FieldSpec, FieldType, MAX_DEPTH, MAX_FIELDS,
    MessageEncoding, StructType, TypeSpec, canonical_type_name, no_bytes::NoBytesIn,
};

/// The definitions of one text, by name. Of a repeated name the first holds, so that a repeated
/// block cannot replace the root.
pub(crate) struct Embedded<'d> {
    by_name: HashMap<&'d str, &'d Definition>,
    /// `None` for a short name that several definitions have.
    by_short_name: HashMap<&'d str, Option<&'d Definition>>,
}

impl<'d> Embedded<'d> {
    pub(crate) fn new(parsed: &'d [Definition]) -> Self {
        let mut embedded = Self { by_name: HashMap::new(), by_short_name: HashMap::new() };
        for definition in parsed {
            if let Entry::Vacant(free) = embedded.by_name.entry(&definition.name) {
                free.insert(definition);
                embedded
                    .by_short_name
                    .entry(definition.short_name())
                    .and_modify(|known| *known = None)
                    .or_insert(Some(definition));
            }
        }
        embedded
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'d Definition> {
        self.by_name.get(name).copied()
    }

    /// The only definition that has a name behind a package of its own: DDS recorders put
    /// `fastdds/` in front of names in full, and of those that they made up. A name in full still
    /// means that type and no other.
    pub(crate) fn get_unique(&self, name: &str) -> Option<&'d Definition> {
        let short = name.rsplit(['/', ':']).next().unwrap_or_default();
        let found = self.by_short_name.get(short).copied().flatten()?;
        let is_bare = short == name;
        let is_behind = |package: &str| package.ends_with(['/', ':']);
        (is_bare || found.name.strip_suffix(name).is_some_and(is_behind)).then_some(found)
    }
}

/// `time` and `duration`, which ROS 1 has built in and some writers of ROS 2 files still name.
pub(crate) fn builtin_types(message_encoding: MessageEncoding) -> [Definition; 2] {
    let is_ros1 = message_encoding == MessageEncoding::Ros1;
    let make = |name: &str, sec, nanosec| {
        let mut definition = Definition::empty(name.to_owned());
        definition.push("sec", TypeSpec::Primitive(sec));
        definition.push("nanosec", TypeSpec::Primitive(nanosec));
        definition
    };
    [
        make("time", if is_ros1 { Primitive::U32 } else { Primitive::I32 }, Primitive::U32),
        make("duration", Primitive::I32, if is_ros1 { Primitive::I32 } else { Primitive::U32 }),
    ]
}

pub(crate) struct Resolver<'f, 'd> {
    find: &'f dyn Fn(&str) -> Option<&'d Definition>,
    /// `None` while a type is being resolved: meeting it again then is a cycle.
    ids: HashMap<String, Option<usize>>,
    structs: Vec<StructType>,
    n_fields: usize,
}

impl<'f, 'd> Resolver<'f, 'd> {
    pub(crate) fn new(find: &'f dyn Fn(&str) -> Option<&'d Definition>) -> Self {
        Self { find, ids: HashMap::new(), structs: Vec::new(), n_fields: 0 }
    }

    /// The types that were added, the first one in front.
    pub(crate) fn into_structs(self) -> Vec<StructType> {
        self.structs
    }

    pub(crate) fn add(
        &mut self,
        definition: &Definition,
        depth: usize,
    ) -> Result<usize, DefinitionError> {
        match self.ids.get(&definition.name) {
            Some(Some(id)) => {
                // It may have been met first at a shallower place.
                let height = self.structs.get(*id).map_or(0, |ty| ty.height);
                check_depth(depth.saturating_add(height).saturating_sub(1))?;
                return Ok(*id);
            }
            Some(None) => {
                return Err(DefinitionError::Recursive { name: definition.name.clone() });
            }
            None => {}
        }
        check_depth(depth)?;
        self.n_fields += definition.fields.len();
        if self.n_fields > MAX_FIELDS {
            return Err(DefinitionError::TooLarge {
                what: "fields",
                found: self.n_fields,
                limit: MAX_FIELDS,
            });
        }
        self.ids.insert(definition.name.clone(), None);
        // The number is taken before the fields are resolved, so that the root is struct 0.
        let id = self.structs.len();
        self.structs.push(StructType {
            name: definition.name.clone(),
            fields: Vec::new(),
            extensibility: definition.extensibility,
            filler_bytes: definition.filler_bytes,
            min_size: 1,
            n_leaves: 0,
            no_bytes_in: NoBytesIn::default(),
            height: 1,
        });
        let fields = definition
            .fields
            .iter()
            .map(|field| self.field(definition, field, depth))
            .collect::<Result<Vec<_>, _>>()?;
        let size = fields
            .iter()
            .fold(0usize, |sum, field| sum.saturating_add(min_size(&self.structs, &field.ty)));
        let height = fields.iter().map(|field| height(&self.structs, &field.ty)).max();
        let of_struct = |field: &Field| match field.ty {
            FieldType::Struct(id) => self.structs.get(id),
            _ => None,
        };
        let n_leaves = fields
            .iter()
            .map(|field| of_struct(field).map_or(1, |ty| ty.n_leaves))
            .fold(1, usize::saturating_add);
        let no_bytes_in = NoBytesIn::of(
            &self.structs,
            definition.extensibility,
            definition.filler_bytes,
            &fields,
        );
        if let Some(ty) = self.structs.get_mut(id) {
            ty.height = height.unwrap_or(0) + 1;
            ty.n_leaves = n_leaves;
            ty.no_bytes_in = no_bytes_in;
            ty.min_size = if fields.is_empty() { ty.filler_bytes } else { size };
            ty.fields = fields;
        }
        self.ids.insert(definition.name.clone(), Some(id));
        Ok(id)
    }

    fn field(
        &mut self,
        owner: &Definition,
        field: &FieldSpec,
        depth: usize,
    ) -> Result<Field, DefinitionError> {
        Ok(Field {
            name: field.name.clone(),
            ty: self.field_type(owner, &field.ty, depth)?,
            id: field.id,
            is_optional: field.is_optional,
        })
    }

    fn field_type(
        &mut self,
        owner: &Definition,
        ty: &TypeSpec,
        depth: usize,
    ) -> Result<FieldType, DefinitionError> {
        check_depth(depth)?;
        Ok(match ty {
            TypeSpec::Primitive(kind) => FieldType::Primitive(*kind),
            TypeSpec::String => FieldType::String,
            TypeSpec::WString => FieldType::WString,
            TypeSpec::Array(element, len) => {
                FieldType::Array(Box::new(self.field_type(owner, element, depth + 1)?), *len)
            }
            TypeSpec::Sequence(element) => {
                FieldType::Sequence(Box::new(self.field_type(owner, element, depth + 1)?))
            }
            TypeSpec::Named(name) => {
                let found =
                    self.lookup(owner, name).ok_or_else(|| DefinitionError::UnknownType {
                        in_type: owner.name.clone(),
                        missing: name.clone(),
                    })?;
                FieldType::Struct(self.add(found, depth + 1)?)
            }
            TypeSpec::Unsupported(what) => {
                return Err(DefinitionError::Unsupported {
                    in_type: owner.name.clone(),
                    what: what.clone(),
                });
            }
        })
    }

    /// A name without a package means the package of the type it stands in; in a service or
    /// an action its own parts before the messages. `Header` may be that of `std_msgs`.
    fn lookup(&self, owner: &Definition, name: &str) -> Option<&'d Definition> {
        let (find, package) = (self.find, owner.package());
        if name.contains('/') || name.contains("::") {
            return find(&canonical_type_name(name));
        }
        let own = |kind: &str| find(&format!("{package}/{kind}/{name}"));
        let own_kind = Some(owner.kind()).filter(|kind| *kind != "msg");
        own_kind
            .and_then(own)
            .or_else(|| own("msg"))
            .or_else(|| (name == "Header").then(|| find("std_msgs/msg/Header")).flatten())
            .or_else(|| find(name))
    }
}

fn check_depth(depth: usize) -> Result<(), DefinitionError> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    let what = "levels of nesting";
    Err(DefinitionError::TooLarge { what, found: depth + 1, limit: MAX_DEPTH })
}

fn height(structs: &[StructType], ty: &FieldType) -> usize {
    match ty {
        FieldType::Primitive(_) | FieldType::String | FieldType::WString => 0,
        FieldType::Struct(id) => structs.get(*id).map_or(0, |ty| ty.height),
        FieldType::Array(element, _) | FieldType::Sequence(element) => height(structs, element) + 1,
    }
}

pub(crate) fn min_size(structs: &[StructType], ty: &FieldType) -> usize {
    match ty {
        FieldType::Primitive(kind) => kind.size(),
        FieldType::String | FieldType::WString | FieldType::Sequence(_) => 4,
        FieldType::Struct(id) => structs.get(*id).map_or(1, |ty| ty.min_size),
        FieldType::Array(element, len) => min_size(structs, element).saturating_mul(*len),
    }
}

use std::collections::HashMap;

use ros2_memory_cdr::Primitive;

use crate::{
    BaseType, Definition, DefinitionError, FieldSpec, Library, Shape, canonical_type_name,
};

/// How deep types may contain types.
pub const MAX_DEPTH: usize = 64;
/// How many fields one schema may have, over all its types.
pub const MAX_FIELDS: usize = 10_000;

/// A message type with every name in it resolved.
///
/// Invariants: the types form no cycle, are at most [`MAX_DEPTH`] deep and have at most
/// [`MAX_FIELDS`] fields in all; every struct id lies inside `structs`.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    structs: Vec<StructType>,
}

/// One struct of a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct StructType {
    /// `package/msg/Type`.
    pub name: String,
    /// The fields in wire order.
    pub fields: Vec<Field>,
    /// The fewest bytes a value can take; at least 1.
    pub(crate) min_size: usize,
}

/// One field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// Its type.
    pub ty: FieldType,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldType {
    /// A number, a truth value or a byte.
    Primitive(Primitive),
    /// UTF-8 text.
    String,
    /// Wide text.
    WString,
    /// A struct of the same schema, by its number.
    Struct(usize),
    /// Always this many elements.
    Array(Box<FieldType>, usize),
    /// As many elements as the message says.
    Sequence(Box<FieldType>),
}

impl Schema {
    /// Resolves the definition that a file embeds. Names it does not define itself are taken
    /// from `library`.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`] when the text is malformed, needs an unknown type, contains itself or
    /// is too large.
    pub fn parse(type_name: &str, text: &str, library: &Library) -> Result<Self, DefinitionError> {
        let parsed = Definition::parse_all(type_name, text)?;
        let root = canonical_type_name(type_name).into_owned();
        let mut embedded: HashMap<&str, &Definition> = HashMap::new();
        for definition in &parsed {
            // The first wins, so that a repeated block cannot replace the root.
            embedded.entry(&definition.name).or_insert(definition);
        }
        Self::resolve(&root, &|name| embedded.get(name).copied().or_else(|| library.get(name)))
    }

    /// Resolves a type that only the library defines.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`]; [`DefinitionError::UnknownType`] when the library lacks it.
    pub fn from_library(type_name: &str, library: &Library) -> Result<Self, DefinitionError> {
        Self::resolve(&canonical_type_name(type_name), &|name| library.get(name))
    }

    /// The message's own type.
    ///
    /// # Panics
    ///
    /// Never: a schema is only made with its root in the first place.
    pub fn root(&self) -> &StructType {
        match self.structs.first() {
            Some(root) => root,
            None => unreachable!("a schema holds at least its root"),
        }
    }

    /// The struct with the number that a [`FieldType::Struct`] of this schema holds.
    ///
    /// # Panics
    ///
    /// When the number is of another schema.
    pub fn struct_type(&self, id: usize) -> &StructType {
        match self.structs.get(id) {
            Some(ty) => ty,
            None => unreachable!("struct {id} of a schema with {}", self.structs.len()),
        }
    }

    /// The fewest bytes a value of `ty` can take; at least 1 except for empty arrays.
    pub(crate) fn min_size(&self, ty: &FieldType) -> usize {
        min_size(&self.structs, ty)
    }

    fn resolve<'d>(
        root: &str,
        find: &dyn Fn(&str) -> Option<&'d Definition>,
    ) -> Result<Self, DefinitionError> {
        let mut resolver = Resolver { find, ids: HashMap::new(), structs: Vec::new(), n_fields: 0 };
        let definition = find(root).ok_or_else(|| DefinitionError::UnknownType {
            in_type: "the recording".to_owned(),
            missing: root.to_owned(),
        })?;
        resolver.add(definition, 0)?;
        Ok(Self { structs: resolver.structs })
    }
}

struct Resolver<'f, 'd> {
    find: &'f dyn Fn(&str) -> Option<&'d Definition>,
    /// `None` while a type is being resolved: meeting it again then is a cycle.
    ids: HashMap<String, Option<usize>>,
    structs: Vec<StructType>,
    n_fields: usize,
}

impl Resolver<'_, '_> {
    fn add(&mut self, definition: &Definition, depth: usize) -> Result<usize, DefinitionError> {
        match self.ids.get(&definition.name) {
            Some(Some(id)) => return Ok(*id),
            Some(None) => {
                return Err(DefinitionError::Recursive { name: definition.name.clone() });
            }
            None => {}
        }
        if depth >= MAX_DEPTH {
            return Err(DefinitionError::TooLarge {
                what: "levels of nesting",
                found: depth + 1,
                limit: MAX_DEPTH,
            });
        }
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
            min_size: 1,
        });
        let fields = definition
            .fields
            .iter()
            .map(|field| self.field(definition, field, depth))
            .collect::<Result<Vec<_>, _>>()?;
        let size = fields
            .iter()
            .fold(0usize, |sum, field| sum.saturating_add(min_size(&self.structs, &field.ty)));
        if let Some(ty) = self.structs.get_mut(id) {
            ty.fields = fields;
            ty.min_size = size.max(1);
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
        let element = match &field.base {
            BaseType::Primitive(kind) => FieldType::Primitive(*kind),
            BaseType::String => FieldType::String,
            BaseType::WString => FieldType::WString,
            BaseType::Named(name) => {
                let found =
                    self.lookup(owner, name).ok_or_else(|| DefinitionError::UnknownType {
                        in_type: owner.name.clone(),
                        missing: name.clone(),
                    })?;
                FieldType::Struct(self.add(found, depth + 1)?)
            }
        };
        let ty = match field.shape {
            Shape::Single => element,
            Shape::Array(len) => FieldType::Array(Box::new(element), len),
            Shape::Sequence => FieldType::Sequence(Box::new(element)),
        };
        Ok(Field { name: field.name.clone(), ty })
    }

    /// A name without a package means the package of the type it stands in.
    fn lookup<'d>(&self, owner: &Definition, name: &str) -> Option<&'d Definition>
    where
        Self: 'd,
    {
        if name.contains('/') {
            return (self.find)(&canonical_type_name(name));
        }
        let own = format!("{}/msg/{name}", owner.package());
        (self.find)(&own)
            .or_else(|| (name == "Header").then(|| (self.find)("std_msgs/msg/Header")).flatten())
    }
}

fn min_size(structs: &[StructType], ty: &FieldType) -> usize {
    match ty {
        FieldType::Primitive(kind) => kind.size(),
        FieldType::String | FieldType::WString | FieldType::Sequence(_) => 4,
        FieldType::Struct(id) => structs.get(*id).map_or(1, |ty| ty.min_size),
        FieldType::Array(element, len) => min_size(structs, element).saturating_mul(*len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEPARATOR: &str =
        "\n================================================================================\n";

    fn parse(text: &str) -> Result<Schema, DefinitionError> {
        Schema::parse("p/msg/T", text, &Library::new())
    }

    #[test]
    fn names_without_a_package_mean_the_package_they_stand_in() {
        let text = format!(
            "a/Marker m{SEPARATOR}MSG: a/Marker\nKind k{SEPARATOR}MSG: a/Kind\nint8 x{SEPARATOR}\
             MSG: p/Kind\nfloat64 y"
        );
        let schema = parse(&text).unwrap();
        let FieldType::Struct(marker) = schema.root().fields[0].ty else { panic!() };
        let FieldType::Struct(kind) = schema.struct_type(marker).fields[0].ty else { panic!() };
        assert_eq!(schema.struct_type(kind).name, "a/msg/Kind");
    }

    #[test]
    fn br_051_the_same_short_name_in_two_packages_stays_two_types() {
        let text = format!(
            "aruco_msgs/Marker a\nvisualization_msgs/Marker v{SEPARATOR}MSG: aruco_msgs/Marker\n\
             int32 id{SEPARATOR}MSG: visualization_msgs/Marker\nstring ns"
        );
        let schema = parse(&text).unwrap();
        let names: Vec<_> = schema
            .root()
            .fields
            .iter()
            .map(|field| match field.ty {
                FieldType::Struct(id) => schema.struct_type(id).fields[0].name.clone(),
                _ => panic!(),
            })
            .collect();
        assert_eq!(names, ["id", "ns"]);
    }

    #[test]
    fn a_type_that_contains_itself_is_refused() {
        let text = format!("B b{SEPARATOR}MSG: p/B\nC[] c{SEPARATOR}MSG: p/C\nB b");
        assert_eq!(parse(&text), Err(DefinitionError::Recursive { name: "p/msg/B".to_owned() }));
    }

    #[test]
    fn deep_nesting_is_refused() {
        use std::fmt::Write;
        let mut text = String::from("L0 x");
        for level in 0..1_000 {
            write!(text, "{SEPARATOR}MSG: p/L{level}\nL{} x", level + 1).unwrap();
        }
        assert!(matches!(parse(&text), Err(DefinitionError::TooLarge { limit: MAX_DEPTH, .. })));
    }

    #[test]
    fn a_missing_type_is_named() {
        assert_eq!(
            parse("int32 a\nfoo_msgs/Bar b"),
            Err(DefinitionError::UnknownType {
                in_type: "p/msg/T".to_owned(),
                missing: "foo_msgs/Bar".to_owned()
            })
        );
    }

    #[test]
    fn the_library_fills_in_what_the_file_lacks_and_never_replaces_it() {
        let mut library = Library::new();
        library.add("a/msg/B", "int8 from_library").unwrap();
        let field_of_b = |text: &str| {
            let schema = Schema::parse("p/msg/T", text, &library).unwrap();
            schema.struct_type(1).fields[0].name.clone()
        };
        assert_eq!(field_of_b("a/B b"), "from_library");
        assert_eq!(field_of_b(&format!("a/B b{SEPARATOR}MSG: a/B\nint8 own")), "own");
        assert!(Schema::from_library("a/B", &library).is_ok());
    }

    #[test]
    fn sizes_that_overflow_are_clamped() {
        let text = format!(
            "A[4294967295] a{SEPARATOR}MSG: p/A\nB[4294967295] b{SEPARATOR}MSG: p/B\n\
             float64[4294967295] x"
        );
        let schema = parse(&text).unwrap();
        assert_eq!(schema.root().min_size, usize::MAX);
    }
}

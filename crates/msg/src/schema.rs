use std::collections::{HashMap, hash_map::Entry};

use ros2_memory_cdr::{Encoding, Extensibility, Family, Primitive};

use crate::{
    Definition, DefinitionError, FieldSpec, Library, MessageEncoding, SchemaEncoding, TypeSource,
    TypeSpec, canonical_type_name, idl,
    ros_text::{self, Dialect},
};

/// How deep types may contain types.
pub const MAX_DEPTH: usize = 64;
/// How many fields one schema may have, over all its types.
pub const MAX_FIELDS: usize = 10_000;

/// A message type with every name in it resolved, and how its messages are serialized.
///
/// Invariants: the types form no cycle, are at most [`MAX_DEPTH`] deep and have at most
/// [`MAX_FIELDS`] fields in all; every struct id lies inside `structs`. The type of a JSON channel
/// has no fields here: each message says its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    structs: Vec<StructType>,
    message_encoding: MessageEncoding,
    /// Whether some values carry headers also where CDR has none: optional and mutable members.
    has_headers: bool,
}

/// One struct of a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct StructType {
    /// `package/msg/Type`.
    pub name: String,
    /// The fields in wire order.
    pub fields: Vec<Field>,
    /// What may be added to it; `None` when the definition does not say.
    pub(crate) extensibility: Option<Extensibility>,
    /// The bytes that a value without fields takes all the same.
    pub(crate) filler_bytes: usize,
    /// The fewest bytes a value can take where all its fields are there and have no headers.
    pub(crate) min_size: usize,
    /// How many types deep it goes, itself and its arrays counted.
    height: usize,
}

/// One field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// Its type.
    pub ty: FieldType,
    /// Its number among the members of a mutable struct.
    pub(crate) id: u32,
    /// Whether a message may do without it.
    pub(crate) is_optional: bool,
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
    /// How to read the messages of a channel: the one place that decides between the definition
    /// that a file embeds and one of the library. The file's own always wins; a file that has
    /// none, or an empty one for a type that the library knows, is read by the library's.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`]: an encoding that is not read, no type, no definition, or a definition
    /// that is malformed, needs an unknown type, contains itself or is too large.
    pub fn for_channel(
        source: &TypeSource<'_>,
        library: &Library,
    ) -> Result<Self, DefinitionError> {
        let message_encoding = MessageEncoding::from_name(source.message_encoding)?;
        let type_name = canonical_type_name(source.type_name);
        if message_encoding == MessageEncoding::Json {
            return Ok(Self::json(&type_name));
        }
        if type_name.is_empty() {
            return Err(DefinitionError::NoType);
        }
        let text = String::from_utf8_lossy(source.text);
        let is_ros2 = message_encoding == MessageEncoding::Cdr;
        if text.trim().is_empty() && is_ros2 && library.get(&type_name).is_some() {
            return Self::from_library(&type_name, library);
        }
        if source.schema_encoding.is_empty() {
            return Err(DefinitionError::NoDefinition { type_name: type_name.into_owned() });
        }
        let encoding = SchemaEncoding::from_name(source.schema_encoding)?;
        if (encoding == SchemaEncoding::Ros1Msg) == is_ros2 {
            return Err(DefinitionError::SchemaEncoding {
                encoding: source.schema_encoding.to_owned(),
            });
        }
        Self::parse_as(encoding, &type_name, &text, library)
    }

    /// Resolves the `ros2msg` definition that a file embeds. Names it does not define itself are
    /// taken from `library`.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`] when the text is malformed, needs an unknown type, contains itself or
    /// is too large.
    pub fn parse(type_name: &str, text: &str, library: &Library) -> Result<Self, DefinitionError> {
        Self::parse_as(SchemaEncoding::Ros2Msg, type_name, text, library)
    }

    /// As [`Self::parse`], for a definition in any language. A ROS 1 definition must be complete:
    /// the library is of ROS 2, whose types of the same names are others.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub fn parse_as(
        encoding: SchemaEncoding,
        type_name: &str,
        text: &str,
        library: &Library,
    ) -> Result<Self, DefinitionError> {
        let root = canonical_type_name(type_name);
        let parsed = match encoding {
            SchemaEncoding::Ros2Msg => ros_text::parse_all(&root, text, Dialect::Ros2),
            SchemaEncoding::Ros1Msg => ros_text::parse_all(&root, text, Dialect::Ros1),
            SchemaEncoding::Ros2Idl | SchemaEncoding::OmgIdl => idl::parse_all(&root, text),
        }?;
        let embedded = Embedded::new(&parsed);
        let message_encoding = match encoding {
            SchemaEncoding::Ros1Msg => MessageEncoding::Ros1,
            _ => MessageEncoding::Cdr,
        };
        let builtin = builtin_types(message_encoding);
        let find = |name: &str| {
            let known = embedded.get(name).or_else(|| {
                (message_encoding == MessageEncoding::Cdr).then(|| library.get(name)).flatten()
            });
            // A name in full means that type and no other.
            let is_bare = !name.contains('/');
            known
                .or_else(|| is_bare.then(|| embedded.get_unique(name)).flatten())
                .or_else(|| builtin.iter().find(|definition| definition.name == name))
        };
        Self::resolve(&root, message_encoding, &find)
    }

    /// Resolves a type that only the library defines.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`]; [`DefinitionError::UnknownType`] when the library lacks it.
    pub fn from_library(type_name: &str, library: &Library) -> Result<Self, DefinitionError> {
        let find = |name: &str| library.get(name);
        Self::resolve(&canonical_type_name(type_name), MessageEncoding::Cdr, &find)
    }

    /// The type of a JSON channel: whatever each message holds.
    pub fn json(type_name: &str) -> Self {
        let root = StructType {
            name: type_name.to_owned(),
            fields: Vec::new(),
            extensibility: None,
            filler_bytes: 0,
            min_size: 0,
            height: 1,
        };
        Self { structs: vec![root], message_encoding: MessageEncoding::Json, has_headers: false }
    }

    /// How messages of the type are serialized.
    pub fn message_encoding(&self) -> MessageEncoding {
        self.message_encoding
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

    /// Whether values in this encoding stand one behind the other, without headers around them.
    #[inline]
    pub(crate) fn is_plain_in(&self, encoding: Encoding) -> bool {
        !self.has_headers
            && encoding.family != Family::Xcdr2
            && encoding.extensibility == Extensibility::Final
    }

    /// The fewest bytes a value of `ty` can take where it has no headers; 0 for types that take
    /// none at all.
    pub(crate) fn min_size(&self, ty: &FieldType) -> usize {
        min_size(&self.structs, ty)
    }

    fn resolve<'d>(
        root: &str,
        message_encoding: MessageEncoding,
        find: &dyn Fn(&str) -> Option<&'d Definition>,
    ) -> Result<Self, DefinitionError> {
        let mut resolver = Resolver { find, ids: HashMap::new(), structs: Vec::new(), n_fields: 0 };
        let definition = find(root).ok_or_else(|| DefinitionError::UnknownType {
            in_type: "the recording".to_owned(),
            missing: root.to_owned(),
        })?;
        resolver.add(definition, 0)?;
        let has_headers = resolver.structs.iter().any(|ty| {
            ty.extensibility == Some(Extensibility::Mutable)
                || ty.fields.iter().any(|field| field.is_optional)
        });
        Ok(Self { structs: resolver.structs, message_encoding, has_headers })
    }
}

/// The definitions of one text, by name. Of a repeated name the first holds, so that a repeated
/// block cannot replace the root.
struct Embedded<'d> {
    by_name: HashMap<&'d str, &'d Definition>,
    /// `None` for a short name that several definitions have.
    by_short_name: HashMap<&'d str, Option<&'d Definition>>,
}

impl<'d> Embedded<'d> {
    fn new(parsed: &'d [Definition]) -> Self {
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

    fn get(&self, name: &str) -> Option<&'d Definition> {
        self.by_name.get(name).copied()
    }

    /// The only definition with a name's last part: DDS recorders put types that they made up
    /// names for into a package of their own.
    fn get_unique(&self, name: &str) -> Option<&'d Definition> {
        let short = name.rsplit(['/', ':']).next().unwrap_or_default();
        self.by_short_name.get(short).copied().flatten()
    }
}

/// `time` and `duration`, which ROS 1 has built in and some writers of ROS 2 files still name.
fn builtin_types(message_encoding: MessageEncoding) -> [Definition; 2] {
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
        if let Some(ty) = self.structs.get_mut(id) {
            ty.height = height.unwrap_or(0) + 1;
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
    fn lookup<'d>(&self, owner: &Definition, name: &str) -> Option<&'d Definition>
    where
        Self: 'd,
    {
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
    fn deep_nesting_is_refused_also_when_the_depths_are_met_first() {
        use std::fmt::Write;
        let mut text = String::new();
        for level in (0..1_000).rev() {
            writeln!(text, "L{level} x{level}").unwrap();
        }
        for level in 0..1_000 {
            write!(text, "{SEPARATOR}MSG: p/L{level}\nL{} x", level + 1).unwrap();
        }
        write!(text, "{SEPARATOR}MSG: p/L1000\nint8 x").unwrap();
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

    #[test]
    fn a_type_under_a_made_up_package_is_found_by_its_short_name_when_only_one_has_it() {
        let one = format!("type_9 stamp{SEPARATOR}MSG: fastdds/type_9\nint32 sec");
        assert!(parse(&one).is_ok());
        let two = format!("{one}{SEPARATOR}MSG: other/type_9\nint64 sec");
        assert!(matches!(parse(&two), Err(DefinitionError::UnknownType { .. })));
    }

    #[test]
    fn br_052_a_bare_header_of_ros1_is_that_of_std_msgs() {
        let text = format!(
            "Header header\ntime t{SEPARATOR}MSG: foo_msgs/Header\nint8 own{SEPARATOR}\
             MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id"
        );
        let schema =
            Schema::parse_as(SchemaEncoding::Ros1Msg, "foo_msgs/T", &text, &Library::new());
        let schema = schema.unwrap();
        let FieldType::Struct(header) = schema.root().fields[0].ty else { panic!() };
        assert_eq!(schema.struct_type(header).fields[0].name, "seq");
        assert_eq!(schema.message_encoding(), MessageEncoding::Ros1);
    }

    #[test]
    fn a_ros1_type_is_never_completed_from_the_library_of_ros2() {
        let mut library = Library::new();
        library.add("std_msgs/msg/Header", "string frame_id").unwrap();
        let schema = Schema::parse_as(SchemaEncoding::Ros1Msg, "foo_msgs/T", "Header h", &library);
        assert!(matches!(schema, Err(DefinitionError::UnknownType { .. })));
    }

    #[test]
    fn parts_of_a_service_are_found_in_their_own_kind() {
        let text = format!(
            "service_msgs/ServiceEventInfo info\nX_Request[<=1] request{SEPARATOR}\
             MSG: p/srv/X_Request\nint64 a{SEPARATOR}MSG: service_msgs/ServiceEventInfo\nint8 e"
        );
        assert!(Schema::parse("p/srv/X_Event", &text, &Library::new()).is_ok());
    }

    #[test]
    fn channels_are_read_by_their_encodings() {
        let of = |schema_encoding, message_encoding, text: &'static str| {
            let source = TypeSource {
                type_name: "p/msg/T",
                schema_encoding,
                message_encoding,
                text: text.as_bytes(),
            };
            Schema::for_channel(&source, &Library::new())
        };
        assert!(of("ros2msg", "cdr", "int8 a").is_ok());
        assert!(of("omgidl", "cdr", "module p { module msg { struct T { long a; }; }; };").is_ok());
        assert!(of("ros1msg", "ros1", "int8 a").is_ok());
        assert!(of("jsonschema", "json", "{}").is_ok());
        assert!(matches!(of("ros1msg", "cdr", ""), Err(DefinitionError::SchemaEncoding { .. })));
        assert!(matches!(of("ros2msg", "ros1", ""), Err(DefinitionError::SchemaEncoding { .. })));
        assert!(matches!(of("", "cdr", ""), Err(DefinitionError::NoDefinition { .. })));
        assert!(matches!(
            of("protobuf", "protobuf", ""),
            Err(DefinitionError::MessageEncoding { .. })
        ));
    }
}

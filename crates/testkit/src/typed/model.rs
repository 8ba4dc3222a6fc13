//! Types and values, as plain trees.

/// What kind of source a set stands for; it decides what its types may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// ROS 1: no bounds, `byte` is signed, `time` and `duration` are built in, `Header` has `seq`.
    Ros1,
    /// ROS 2: no nested lists, no annotations.
    Ros2,
    /// OMG IDL: nested lists, enums, typedefs, extensibility, optional members, member ids.
    Idl,
}

/// How a structure may grow.
///
/// Source: OMG DDS-XTypes 1.3, 7.2.2.4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extensibility {
    /// Never.
    Final,
    /// At its end.
    Appendable,
    /// Anywhere: members are found by their ids.
    Mutable,
}

/// A type of fixed width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prim {
    /// One byte, 0 or 1.
    Bool,
    /// An octet; signed in ROS 1, unsigned elsewhere.
    Byte,
    /// Unsigned in both versions of ROS; in IDL sets a letter of ASCII.
    Char,
    /// 8 bits, signed.
    I8,
    /// 8 bits.
    U8,
    /// 16 bits, signed.
    I16,
    /// 16 bits.
    U16,
    /// 32 bits, signed.
    I32,
    /// 32 bits.
    U32,
    /// 64 bits, signed.
    I64,
    /// 64 bits.
    U64,
    /// IEEE 754 single.
    F32,
    /// IEEE 754 double.
    F64,
}

impl Prim {
    /// Each of them.
    pub const ALL: [Self; 13] = [
        Self::Bool,
        Self::Byte,
        Self::Char,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F32,
        Self::F64,
    ];

    /// Width in bytes.
    pub const fn width(self) -> usize {
        match self {
            Self::Bool | Self::Byte | Self::Char | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Its name in `.msg` files.
    pub const fn ros_name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Byte => "byte",
            Self::Char => "char",
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }
}

/// The type of a field or of an element. Numbers are indices into the lists of the [`TypeSet`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A number, a boolean or an octet.
    Prim(Prim),
    /// UTF-8 text of at most `bound` bytes.
    Text {
        /// Greatest length in bytes.
        bound: Option<usize>,
    },
    /// One of [`TypeSet::enums`], 32 bits wide.
    Enum(usize),
    /// One of [`TypeSet::typedefs`].
    Typedef(usize),
    /// One of [`TypeSet::structs`].
    Struct(usize),
    /// A list of a length known from the type.
    Array {
        /// Never an array itself, but maybe a typedef of one.
        elem: Box<Type>,
        /// Outermost first, each at least 1. More than one only in IDL sets.
        dims: Vec<usize>,
    },
    /// A list that carries its length.
    Sequence {
        /// Never an array itself, but maybe a typedef of one.
        elem: Box<Type>,
        /// Greatest number of elements.
        bound: Option<usize>,
    },
}

/// One member of a structure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// Unique in its structure.
    pub name: String,
    /// What it holds.
    pub ty: Type,
    /// Whether it may be missing. Only in IDL sets.
    pub optional: bool,
    /// The id that the text gives it; otherwise it is one more than that of the member before.
    pub id: Option<u32>,
}

/// A structure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StructDef {
    /// Package, as in `package/Name`.
    pub package: String,
    /// Short name.
    pub name: String,
    /// Said in the text only in IDL sets.
    pub extensibility: Extensibility,
    /// In the order of the definition; may be empty in ROS sets.
    pub fields: Vec<Field>,
}

impl StructDef {
    /// The id of each member, in the order of the fields. No two are equal.
    ///
    /// Source: OMG DDS-XTypes 1.3, 7.3.1.2.1.1, sequential assignment.
    pub fn member_ids(&self) -> Vec<u32> {
        let mut next = 0;
        self.fields
            .iter()
            .map(|field| {
                let id = field.id.unwrap_or(next);
                next = id + 1;
                id
            })
            .collect()
    }

    /// Whether it is the structure of that name.
    pub fn is_named(&self, package: &str, name: &str) -> bool {
        self.package == package && self.name == name
    }
}

/// An enumeration of 32 bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumDef {
    /// Package, as of a structure.
    pub package: String,
    /// Short name.
    pub name: String,
    /// Names and values, at least one; both unique.
    pub enumerators: Vec<(String, i32)>,
}

/// Another name of a type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Typedef {
    /// Package, as of a structure.
    pub package: String,
    /// Short name.
    pub name: String,
    /// What it stands for.
    pub ty: Type,
}

/// A message type with everything that it refers to. No structure contains itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TypeSet {
    /// What the types may use.
    pub family: Family,
    /// The message type first; each is reached from it.
    pub structs: Vec<StructDef>,
    /// Empty in ROS sets.
    pub enums: Vec<EnumDef>,
    /// Empty in ROS sets.
    pub typedefs: Vec<Typedef>,
}

impl TypeSet {
    /// The type that `ty` stands for, with the typedefs around it taken off.
    ///
    /// # Panics
    ///
    /// When `ty` is not of this set.
    #[expect(clippy::indexing_slicing, reason = "a type of another set is the caller's mistake")]
    pub fn resolved<'a>(&'a self, ty: &'a Type) -> &'a Type {
        match ty {
            Type::Typedef(index) => self.resolved(&self.typedefs[*index].ty),
            _ => ty,
        }
    }
}

/// A value of some type. Floats are equal when their bits are.
#[derive(Debug, Clone)]
pub enum Value {
    /// Of [`Prim::Bool`].
    Bool(bool),
    /// Of the signed types and of enums; of [`Prim::Byte`] in ROS 1.
    I64(i64),
    /// Of the unsigned types and [`Prim::Char`]; of [`Prim::Byte`] outside of ROS 1.
    U64(u64),
    /// Of [`Prim::F32`].
    F32(f32),
    /// Of [`Prim::F64`].
    F64(f64),
    /// Without NUL characters.
    Text(String),
    /// Of an array or sequence; an array of two dimensions is a list of lists.
    List(Vec<Value>),
    /// One value for each field, in the order of the definition.
    Struct(Vec<Value>),
    /// An optional member that is missing.
    Absent,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::F32(a), Self::F32(b)) => a.to_bits() == b.to_bits(),
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Struct(a), Self::Struct(b)) => a == b,
            (Self::Absent, Self::Absent) => true,
            _ => false,
        }
    }
}

impl Eq for Value {}

use crate::DefinitionError;

/// The language of a definition, by its name in the MCAP registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaEncoding {
    /// `ros2msg`: ROS 2's `.msg` files.
    Ros2Msg,
    /// `ros2idl`: the IDL that ROS 2 makes of its messages.
    Ros2Idl,
    /// `omgidl`: OMG IDL.
    OmgIdl,
    /// `ros1msg`: ROS 1's `.msg` files.
    Ros1Msg,
}

impl SchemaEncoding {
    /// The language with this name.
    ///
    /// # Errors
    ///
    /// [`DefinitionError::SchemaEncoding`] for one that is not read.
    pub fn from_name(name: &str) -> Result<Self, DefinitionError> {
        match name {
            "ros2msg" => Ok(Self::Ros2Msg),
            "ros2idl" => Ok(Self::Ros2Idl),
            "omgidl" => Ok(Self::OmgIdl),
            "ros1msg" => Ok(Self::Ros1Msg),
            _ => Err(DefinitionError::SchemaEncoding { encoding: name.to_owned() }),
        }
    }
}

/// How messages are serialized, by its name in the MCAP registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageEncoding {
    /// `cdr`: each payload's encapsulation header says which form of it.
    Cdr,
    /// `ros1`: ROS 1 serialization.
    Ros1,
    /// `json`: UTF-8 text.
    Json,
}

impl MessageEncoding {
    /// The encoding with this name.
    ///
    /// # Errors
    ///
    /// [`DefinitionError::MessageEncoding`] for one that is not read.
    pub fn from_name(name: &str) -> Result<Self, DefinitionError> {
        match name {
            "cdr" => Ok(Self::Cdr),
            "ros1" => Ok(Self::Ros1),
            "json" => Ok(Self::Json),
            _ => Err(DefinitionError::MessageEncoding { encoding: name.to_owned() }),
        }
    }
}

/// What a recording says of the type of a channel.
#[derive(Debug, Clone, Copy)]
pub struct TypeSource<'a> {
    /// The type's name, in whatever form the file has it.
    pub type_name: &'a str,
    /// The language of the definition; empty when there is none.
    pub schema_encoding: &'a str,
    /// How messages are serialized.
    pub message_encoding: &'a str,
    /// The definition.
    pub text: &'a [u8],
}

//! What the messages of a channel mean, as the key under which a plan for them is kept.

use std::sync::Arc;

use ros2_memory_bag::{Channel, Schema};
use ros2_memory_msg::{Library, TypeSource};

/// All that a plan depends on but for what is wanted of the messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Definition {
    type_name: Arc<str>,
    schema_encoding: Arc<str>,
    message_encoding: Arc<str>,
    text: Arc<[u8]>,
}

impl Definition {
    pub(crate) fn of(channel: &Channel, schema: &Schema) -> Self {
        Self {
            type_name: schema.name.clone(),
            schema_encoding: schema.encoding.clone(),
            message_encoding: channel.message_encoding.clone(),
            text: schema.text.clone(),
        }
    }

    /// The type; what its text lacks is taken from `library`. `None` when it cannot be used.
    pub(crate) fn schema(&self, library: &Library) -> Option<Arc<ros2_memory_msg::Schema>> {
        let source = TypeSource {
            type_name: &self.type_name,
            schema_encoding: &self.schema_encoding,
            message_encoding: &self.message_encoding,
            text: &self.text,
        };
        ros2_memory_msg::Schema::for_channel(&source, library).ok().map(Arc::new)
    }
}

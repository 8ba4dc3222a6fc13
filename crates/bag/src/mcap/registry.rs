use std::{collections::HashMap, sync::Arc};

use super::record::{self, ChannelRecord, SchemaRecord, opcode};
use crate::{Channel, DamageKind, Declarations, Schema};

/// Which numbers mean which schemas and channels at this point of the file.
#[derive(Debug, Default)]
pub(super) struct Registry {
    schemas: HashMap<u16, u32>,
    /// By channel number: its place in `Declarations::channels` plus one, 0 for none.
    channels: Vec<u32>,
}

impl Registry {
    /// The meaning of the numbers behind what was declared so far.
    pub(super) fn at_end_of(declared: &Declarations) -> Self {
        let mut registry = Self::default();
        for (index, schema) in declared.schemas.iter().enumerate() {
            registry.schemas.insert(schema.id, place(index));
        }
        for (index, channel) in declared.channels.iter().enumerate() {
            registry.set_channel(channel.id, place(index));
        }
        registry
    }

    #[inline]
    pub(super) fn channel(&self, id: u16) -> Option<u32> {
        self.channels.get(usize::from(id)).and_then(|place| place.checked_sub(1))
    }

    fn set_channel(&mut self, id: u16, place: u32) {
        let index = usize::from(id);
        if self.channels.len() <= index {
            self.channels.resize(index + 1, 0);
        }
        if let Some(slot) = self.channels.get_mut(index) {
            *slot = place + 1;
        }
    }

    /// Takes in a schema or channel whose number means nothing yet.
    pub(super) fn declare_missing(
        &mut self,
        declared: &mut Declarations,
        op: u8,
        body: &[u8],
    ) -> Result<(), DamageKind> {
        let is_missing = match op {
            opcode::SCHEMA => !self.schemas.contains_key(&SchemaRecord::parse(body)?.id),
            opcode::CHANNEL => self.channel(ChannelRecord::parse(body)?.id).is_none(),
            _ => false,
        };
        if is_missing {
            self.declare(declared, op, body)?;
        }
        Ok(())
    }

    /// Takes in a header, schema or channel. A repeated declaration changes nothing; one with
    /// other content under a known number holds for the messages behind it; then the number of
    /// that channel is returned.
    pub(super) fn declare(
        &mut self,
        declared: &mut Declarations,
        op: u8,
        body: &[u8],
    ) -> Result<Option<u16>, DamageKind> {
        match op {
            opcode::HEADER => {
                (declared.profile, declared.library) = record::file_header(body)?;
            }
            opcode::SCHEMA => {
                let parsed = SchemaRecord::parse(body)?;
                let same = self
                    .schemas
                    .get(&parsed.id)
                    .and_then(|place| declared.schemas.get(*place as usize))
                    .is_some_and(|known| {
                        *known.name == *parsed.name
                            && *known.encoding == *parsed.encoding
                            && *known.text == *parsed.text
                    });
                // Number 0 means "no schema", whatever a record says.
                if parsed.id != 0 && !same {
                    self.schemas.insert(parsed.id, place(declared.schemas.len()));
                    declared.schemas.push(Schema {
                        id: parsed.id,
                        name: parsed.name.into(),
                        encoding: parsed.encoding.into(),
                        text: parsed.text.into(),
                    });
                }
            }
            opcode::CHANNEL => {
                let parsed = ChannelRecord::parse(body)?;
                let channel = Channel {
                    id: parsed.id,
                    topic: parsed.topic.into(),
                    schema: self.schemas.get(&parsed.schema_id).copied(),
                    message_encoding: parsed.message_encoding.into(),
                    offered_qos_profiles: Arc::from(parsed.offered_qos_profiles),
                };
                let known = self.channel(parsed.id).and_then(|place| declared.channel(place));
                let is_replaced = known.is_some();
                if known != Some(&channel) {
                    self.set_channel(parsed.id, place(declared.channels.len()));
                    declared.channels.push(channel);
                    return Ok(is_replaced.then_some(parsed.id));
                }
            }
            _ => {}
        }
        Ok(None)
    }
}

/// A place in a vector that 32 bits can hold: a file would need 2^32 declarations to pass it.
fn place(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

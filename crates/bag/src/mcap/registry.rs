use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    names,
    record::{self, ChannelRecord, SchemaRecord, opcode},
};
use crate::{Channel, DamageKind, Declarations, Schema};

/// Which numbers mean which schemas and channels at this point of the file.
#[derive(Debug, Default)]
pub(super) struct Registry {
    schemas: HashMap<u16, u32>,
    /// By channel number: its place in `Declarations::channels` plus one, 0 for none.
    channels: Vec<u32>,
    /// How often a channel's number got a meaning.
    changes: u64,
    /// The schemas that bear the name which DDS gives to a type of ROS.
    dds: HashSet<u32>,
    earlier: Option<Earlier>,
    /// What another file declares. The splits of a session declare the same in the same places,
    /// and share one copy of it.
    like: Arc<Declarations>,
}

/// Where each schema and channel was declared first.
#[derive(Debug)]
struct Earlier {
    schemas: HashMap<Schema, u32>,
    channels: HashMap<Channel, u32>,
}

impl Registry {
    /// The meaning of the numbers behind what was declared so far.
    pub(super) fn at_end_of(declared: &Declarations) -> Self {
        let mut registry = Self::default();
        for (index, schema) in declared.schemas.iter().enumerate() {
            registry.schemas.insert(schema.id, place(index));
            // Types in OMG IDL are named with colons, unless their names were translated.
            if &*schema.encoding == "omgidl" && schema.name.contains('/') {
                registry.dds.insert(place(index));
            }
        }
        for (index, channel) in declared.channels.iter().enumerate() {
            registry.set_channel(channel.id, place(index));
        }
        registry
    }

    /// Takes copies from `like` where a declaration is the same as there.
    pub(super) fn like(self, like: Arc<Declarations>) -> Self {
        Self { like, ..self }
    }

    #[inline]
    pub(super) fn channel(&self, id: u16) -> Option<u32> {
        self.channels.get(usize::from(id)).and_then(|place| place.checked_sub(1))
    }

    /// How often a channel's number got a meaning or another one.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Forgets what the numbers mean: another file starts, in which they mean something else.
    pub(super) fn forget(&mut self) {
        self.schemas.clear();
        self.channels.clear();
        self.changes += 1;
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
            opcode::SCHEMA => first_id(body).is_some_and(|id| !self.schemas.contains_key(&id)),
            opcode::CHANNEL => first_id(body).is_some_and(|id| self.channel(id).is_none()),
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
            opcode::SCHEMA => self.declare_schema(declared, SchemaRecord::parse(body)?),
            opcode::CHANNEL => {
                return Ok(self.declare_channel(declared, &ChannelRecord::parse(body)?));
            }
            _ => {}
        }
        Ok(None)
    }

    fn declare_schema(&mut self, declared: &mut Declarations, parsed: SchemaRecord<'_>) {
        // Number 0 means "no schema", whatever a record says.
        if parsed.id == 0 {
            return;
        }
        let ros_name = names::ros_type(&parsed.name).map(Cow::Owned);
        let is_dds = ros_name.is_some();
        let name = ros_name.unwrap_or(parsed.name);
        let known = self.schemas.get(&parsed.id).copied();
        let is_same = |of: &&Schema| {
            of.id == parsed.id
                && *of.name == *name
                && *of.encoding == *parsed.encoding
                && *of.text == *parsed.text
        };
        let same = known.and_then(|place| declared.schemas.get(place as usize));
        let same = same.is_some_and(|of| is_same(&of));
        if is_dds {
            self.dds.extend(known.filter(|_| same));
        }
        if same {
            return;
        }
        let like = self.like.schemas.get(declared.schemas.len()).filter(is_same);
        let schema = like.cloned().unwrap_or_else(|| Schema {
            id: parsed.id,
            name: name.into(),
            encoding: parsed.encoding.into(),
            text: parsed.text.into(),
        });
        let earlier = known.and_then(|_| self.earlier(declared).schemas.get(&schema).copied());
        let place = earlier.unwrap_or_else(|| {
            let place = place(declared.schemas.len());
            if let Some(earlier) = &mut self.earlier {
                earlier.schemas.insert(schema.clone(), place);
            }
            declared.schemas.push(schema);
            place
        });
        self.schemas.insert(parsed.id, place);
        if is_dds {
            self.dds.insert(place);
        }
    }

    fn declare_channel(
        &mut self,
        declared: &mut Declarations,
        parsed: &ChannelRecord<'_>,
    ) -> Option<u16> {
        let schema = self.schemas.get(&parsed.schema_id).copied();
        let is_dds = schema.is_some_and(|place| self.dds.contains(&place));
        let ros_topic = names::ros_topic(&parsed.topic).filter(|_| is_dds);
        let topic = ros_topic.unwrap_or(&parsed.topic);
        let is_same = |of: &&Channel| {
            of.id == parsed.id
                && *of.topic == *topic
                && of.schema == schema
                && *of.message_encoding == *parsed.message_encoding
                && *of.offered_qos_profiles == *parsed.offered_qos_profiles
        };
        let known = self.channel(parsed.id).and_then(|place| declared.channel(place));
        let is_replaced = known.is_some();
        if known.is_some_and(|known| is_same(&known)) {
            return None;
        }
        self.changes += 1;
        let like = self.like.channels.get(declared.channels.len()).filter(is_same);
        let channel = like.cloned().unwrap_or_else(|| Channel {
            id: parsed.id,
            topic: topic.into(),
            schema,
            message_encoding: (&*parsed.message_encoding).into(),
            offered_qos_profiles: (&*parsed.offered_qos_profiles).into(),
        });
        let earlier =
            if is_replaced { self.earlier(declared).channels.get(&channel).copied() } else { None };
        let place = earlier.unwrap_or_else(|| {
            let place = place(declared.channels.len());
            if let Some(earlier) = &mut self.earlier {
                earlier.channels.insert(channel.clone(), place);
            }
            declared.channels.push(channel);
            place
        });
        self.set_channel(parsed.id, place);
        is_replaced.then_some(parsed.id)
    }

    /// Everything that was declared so far, by content: made when a number first changes its
    /// meaning, since it may change it back.
    fn earlier(&mut self, declared: &Declarations) -> &Earlier {
        self.earlier.get_or_insert_with(|| Earlier {
            schemas: declared.schemas.iter().cloned().zip(0..).collect(),
            channels: declared.channels.iter().cloned().zip(0..).collect(),
        })
    }
}

/// A place in a vector that 32 bits can hold: a file would need 2^32 declarations to pass it.
fn place(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The number that a schema or channel record begins with.
fn first_id(body: &[u8]) -> Option<u16> {
    body.first_chunk().map(|id| u16::from_le_bytes(*id))
}

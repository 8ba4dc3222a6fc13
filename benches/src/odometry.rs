//! The position out of odometry messages, in each way there is.

use std::{hint::black_box, sync::Arc};

use byteorder::LittleEndian;
use ros2_memory_demo::History;
use ros2_memory_msg::{
    DecodeLimits, FieldPath, Library, Plan, PlanReader, Scalar, Schema, Value, decode,
};

use crate::{Outcome, typed::Odometry};

const POSITION: [&str; 3] =
    ["pose.pose.position.x", "pose.pose.position.y", "pose.pose.position.z"];
/// The splits whose odometry is used: few enough that a second-level cache holds them, as it holds
/// a chunk that was just inflated.
const SPLITS: usize = 5;

/// Some odometry messages and how to read them.
#[derive(Debug)]
pub struct Positions {
    payloads: Vec<Vec<u8>>,
    schema: Arc<Schema>,
    plan: Plan,
}

/// The sums of x, y and z over all messages.
pub type Sums = [f64; 3];

impl Positions {
    /// The first odometry messages of a history.
    ///
    /// # Errors
    ///
    /// When the history has no odometry, or its definition is not as expected.
    pub fn of(history: &History) -> Outcome<Self> {
        let channels = history.channels();
        let odom = channels.iter().position(|it| it.topic == "/odom").ok_or("no /odom")?;
        let text = &channels.get(odom).ok_or("no /odom")?.definition;
        let schema = Arc::new(Schema::parse("nav_msgs/msg/Odometry", text, &Library::new())?);
        let paths = POSITION.map(str::parse::<FieldPath>);
        let paths: Vec<FieldPath> = paths.into_iter().collect::<Result<_, _>>()?;
        let plan = Plan::compile(schema.clone(), &paths)?;
        let payloads = (0..SPLITS)
            .flat_map(|split| history.split(split))
            .filter(|record| record.channel == odom)
            .map(|record| record.payload)
            .collect();
        Ok(Self { payloads, schema, plan })
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.payloads.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.payloads.is_empty()
    }

    /// By a plan that hands out values.
    ///
    /// # Errors
    ///
    /// When a message does not fit its type, as below.
    pub fn by_plan(&self) -> Outcome<Sums> {
        self.sums(|payload| {
            let mut position = [0.0; 3];
            self.plan.run(payload, |path, value| {
                if let (Some(place), Some(x)) = (position.get_mut(path), value.as_f64()) {
                    *place = x;
                }
            })?;
            Ok(position)
        })
    }

    /// By a plan that moves a cursor over each message and reads numbers.
    ///
    /// # Errors
    ///
    /// As [`Self::by_plan`].
    pub fn by_cursor(&self) -> Outcome<Sums> {
        self.sums(|payload| {
            let mut position = [0.0; 3];
            self.plan.numbers(payload, &mut position)?;
            Ok(position)
        })
    }

    /// At the offsets of the message before, behind a comparison of lengths.
    ///
    /// # Errors
    ///
    /// As [`Self::by_plan`].
    pub fn by_offset(&self) -> Outcome<Sums> {
        let mut reader = PlanReader::new(self.plan.clone());
        self.sums(|payload| {
            let mut position = [0.0; 3];
            reader.numbers(payload, &mut position)?;
            Ok(position)
        })
    }

    /// By decoding the whole message.
    ///
    /// # Errors
    ///
    /// As [`Self::by_plan`].
    pub fn by_decoding(&self) -> Outcome<Sums> {
        self.sums(|payload| {
            let message = decode(&self.schema, payload, DecodeLimits::NONE)?;
            let point = field(&message, 2).and_then(|it| field(it, 0)).and_then(|it| field(it, 0));
            let point = point.ok_or("no position")?;
            let mut position = [0.0; 3];
            for (place, x) in position.iter_mut().enumerate() {
                *x = match field(point, place) {
                    Some(Value::Scalar(Scalar::F64(x))) => *x,
                    other => return Err(format!("no number: {other:?}").into()),
                };
            }
            Ok(position)
        })
    }

    /// By the peer's decoding into a type of Rust.
    ///
    /// # Errors
    ///
    /// As [`Self::by_plan`].
    pub fn by_peer(&self) -> Outcome<Sums> {
        self.sums(|payload| {
            let body = payload.get(4..).ok_or("a payload without its header")?;
            let (message, _) = cdr_encoding::from_bytes::<Odometry, LittleEndian>(body)?;
            black_box(&message);
            Ok(message.pose.position)
        })
    }

    fn sums(&self, mut position: impl FnMut(&[u8]) -> Outcome<[f64; 3]>) -> Outcome<Sums> {
        let mut sums = [0.0; 3];
        for payload in &self.payloads {
            for (sum, x) in sums.iter_mut().zip(position(black_box(payload))?) {
                *sum += x;
            }
        }
        Ok(sums)
    }
}

/// The field with this place in a struct.
fn field<'v, 'a>(value: &'v Value<'a>, place: usize) -> Option<&'v Value<'a>> {
    match value {
        Value::Struct(fields) => fields.fields.get(place),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    #[test]
    fn every_way_gives_the_same_positions() {
        let positions = Positions::of(&Data::under("unused").history().unwrap()).unwrap();
        let bits = |sums: Outcome<Sums>| sums.unwrap().map(f64::to_bits);
        let expected = bits(positions.by_peer());
        assert_ne!(expected, [0; 3]);
        assert_eq!(bits(positions.by_plan()), expected);
        assert_eq!(bits(positions.by_cursor()), expected);
        assert_eq!(bits(positions.by_offset()), expected);
        assert_eq!(bits(positions.by_decoding()), expected);
    }
}

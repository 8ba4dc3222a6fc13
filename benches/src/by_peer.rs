//! Every message seen and its fields of interest read, by the peers: the linear reader of the
//! `mcap` crate and `cdr-encoding` into typed structs.

use std::path::PathBuf;

use byteorder::LittleEndian;
use serde::de::DeserializeOwned;

use crate::{
    Outcome, Seen,
    passes::{peer_stream, read_into},
    typed::{Detection, Detections, Odometry, StampedString, TrackedDetection, Transforms, Twist},
};

/// The bytes of an encapsulation header.
const HEADER_LEN: usize = 4;

/// The types whose fields are of interest; of others the messages are counted.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Odometry,
    Twist,
    Transforms,
    Detections,
    TrackedDetections,
    Text,
    Other,
}

/// One file after the other, each message decoded as a whole.
///
/// # Errors
///
/// When a file cannot be read, or a message does not fit its type.
pub fn peer_fields(files: &[PathBuf], checks_crc: bool) -> Outcome<Seen> {
    let mut seen = Seen::default();
    let mut bytes = Vec::new();
    // By channel number: compared by name once in a file, not for each message.
    let mut kinds: Vec<Option<Kind>> = Vec::new();
    for file in files {
        read_into(&mut bytes, file)?;
        kinds.clear();
        for message in peer_stream(&bytes, checks_crc)? {
            let message = message?;
            let channel = usize::from(message.channel.id);
            let kind = kinds.get(channel).copied().flatten().unwrap_or_else(|| {
                let kind = message.channel.schema.as_deref().map_or(Kind::Other, Kind::of);
                kinds.resize(kinds.len().max(channel + 1), None);
                if let Some(slot) = kinds.get_mut(channel) {
                    *slot = Some(kind);
                }
                kind
            });
            seen.tally.add(&message.data);
            kind.read(&message.data, &mut seen)?;
        }
    }
    Ok(seen)
}

/// How many messages of a topic of odometry lie at a larger x: one file after the other, messages
/// of other topics passed over, those of this one decoded as a whole.
///
/// # Errors
///
/// When a file cannot be read, or a message does not fit its type.
pub fn peer_above(files: &[PathBuf], topic: &str, x_m: f64) -> Outcome<usize> {
    let mut n_above = 0;
    let mut bytes = Vec::new();
    for file in files {
        read_into(&mut bytes, file)?;
        let mut wanted = None;
        for message in peer_stream(&bytes, false)? {
            let message = message?;
            let id = message.channel.id;
            // Compared by name once in a file, not for each message.
            if wanted.is_none() && message.channel.topic == topic {
                wanted = Some(id);
            }
            if wanted == Some(id) {
                let odometry: Odometry = decode(&message.data)?;
                let [x, ..] = odometry.pose.position;
                n_above += usize::from(x > x_m);
            }
        }
    }
    Ok(n_above)
}

impl Kind {
    fn of(schema: &mcap::Schema<'_>) -> Self {
        match schema.name.as_str() {
            "nav_msgs/msg/Odometry" => Self::Odometry,
            "geometry_msgs/msg/Twist" => Self::Twist,
            "tf2_msgs/msg/TFMessage" => Self::Transforms,
            "ros2_vision_interfaces/msg/StampedString" => Self::Text,
            "ros2_vision_interfaces/msg/VisionDetectionArray" => {
                if schema.data.windows(8).any(|name| name == b"track_id") {
                    Self::TrackedDetections
                } else {
                    Self::Detections
                }
            }
            _ => Self::Other,
        }
    }

    #[inline]
    fn read(self, payload: &[u8], seen: &mut Seen) -> Outcome<()> {
        match self {
            Self::Odometry => {
                let message: Odometry = decode(payload)?;
                message.pose.position.into_iter().for_each(|number| seen.number(number));
            }
            Self::Twist => {
                let Twist { linear: [ahead, ..], angular: [.., turn] } = decode(payload)?;
                seen.number(ahead);
                seen.number(turn);
            }
            Self::Transforms => {
                let message: Transforms = decode(payload)?;
                for edge in &message.transforms {
                    seen.text(&edge.child_frame_id);
                    edge.transform.position.into_iter().for_each(|number| seen.number(number));
                }
            }
            Self::Detections => {
                let message: Detections<Detection> = decode(payload)?;
                message.detections.iter().for_each(|detection| detected(detection, seen));
            }
            Self::TrackedDetections => {
                let message: Detections<TrackedDetection> = decode(payload)?;
                message.detections.iter().for_each(|tracked| detected(&tracked.detection, seen));
            }
            Self::Text => seen.text(&decode::<StampedString>(payload)?.data),
            Self::Other => {}
        }
        Ok(())
    }
}

fn detected(detection: &Detection, seen: &mut Seen) {
    seen.text(&detection.label);
    seen.number(detection.score.into());
}

/// A whole message, little-endian as the data is.
#[inline]
fn decode<M: DeserializeOwned>(payload: &[u8]) -> Outcome<M> {
    let body = payload.get(HEADER_LEN..).ok_or("a payload without its header")?;
    Ok(cdr_encoding::from_bytes::<M, LittleEndian>(body)?.0)
}

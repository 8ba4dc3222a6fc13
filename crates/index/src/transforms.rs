//! Transforms as they come in messages.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use ros2_memory_bag::Declarations;
use ros2_memory_msg::{FieldPath, Library, Plan, Scalar, Value, canonical_type_name};
use ros2_memory_time::LogTime;

use crate::definition::Definition;

/// A header stamp this far from the log time is taken for another clock, as in simulation.
const MAX_STAMP_SKEW_NS: u64 = 10_000_000_000;

/// Whether a message type carries transforms.
pub fn is_transform_type(type_name: &str) -> bool {
    matches!(&*canonical_type_name(type_name), "tf2_msgs/msg/TFMessage" | "tf/msg/tfMessage")
}

/// When a transform holds: at its header stamp, unless that is more than 10 s from the time it
/// was recorded at.
pub fn sample_time(stamp: LogTime, log_time: LogTime) -> LogTime {
    if stamp.abs_diff_ns(log_time) > MAX_STAMP_SKEW_NS { log_time } else { stamp }
}

/// One transform of a message: the pose of `child` in `parent`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransformSample<'a> {
    /// The frame that the transform is given in.
    pub parent: Cow<'a, str>,
    /// The frame that it places.
    pub child: Cow<'a, str>,
    /// When it holds.
    pub time: LogTime,
    /// x, y, z in metres; zeros when only the edges are read.
    pub translation_m: [f64; 3],
    /// The quaternion x, y, z, w; zeros when only the edges are read.
    pub rotation: [f64; 4],
}

/// How much of each transform is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransformPart {
    /// The frames and the time.
    Edges,
    /// These, and the pose.
    Whole,
}

/// How to take the transforms out of the messages of one channel.
#[derive(Debug, Clone)]
pub struct TransformPlan(pub(crate) Arc<Plan>, TransformPart);

/// Makes plans for channels that carry transforms, one a definition.
#[derive(Debug, Default)]
pub struct TransformReader {
    library: Arc<Library>,
    plans: HashMap<(Definition, TransformPart), Option<TransformPlan>>,
}

/// The fields of a transform, in the order of the numbers that the plan gives them.
const PATHS: [&str; 11] = [
    "transforms[].header.stamp.sec",
    "transforms[].header.stamp.nanosec",
    "transforms[].header.frame_id",
    "transforms[].child_frame_id",
    "transforms[].transform.translation.x",
    "transforms[].transform.translation.y",
    "transforms[].transform.translation.z",
    "transforms[].transform.rotation.x",
    "transforms[].transform.rotation.y",
    "transforms[].transform.rotation.z",
    "transforms[].transform.rotation.w",
];

impl TransformPart {
    /// How many of the paths it takes.
    const fn n_paths(self) -> usize {
        match self {
            Self::Edges => 4,
            Self::Whole => PATHS.len(),
        }
    }
}

impl TransformReader {
    /// A reader that takes definitions which a file lacks from `library`.
    pub fn new(library: Arc<Library>) -> Self {
        Self { library, plans: HashMap::new() }
    }

    /// The plan for a channel that carries transforms; `None` for other channels and when its
    /// definition cannot be used.
    pub fn plan(
        &mut self,
        declared: &Declarations,
        channel: u32,
        part: TransformPart,
    ) -> Option<TransformPlan> {
        let channel = declared.channel(channel)?;
        let text = declared.schema(channel)?;
        // The fields of a JSON object come in any order, so that no field of it is the last.
        let is_binary = matches!(&*channel.message_encoding, "cdr" | "ros1");
        if !is_transform_type(&text.name) || !is_binary {
            return None;
        }
        let (key, library) = ((Definition::of(channel, text), part), &self.library);
        self.plans.entry(key).or_insert_with_key(|(key, _)| compile(key, library, part)).clone()
    }
}

impl TransformPlan {
    /// Hands each transform of a message to `visit`, in the message's order.
    ///
    /// Returns whether the message could be read to its end; what came before a fault was
    /// visited.
    pub fn read<'a>(
        &'a self,
        log_time: LogTime,
        payload: &'a [u8],
        mut visit: impl FnMut(&TransformSample<'a>),
    ) -> bool {
        let Self(plan, part) = self;
        let mut sample = TransformSample::default();
        let (mut sec, mut nanosec) = (0u64, 0u64);
        // A field that a message does without is not visited: that transform is none.
        let mut n_seen = 0;
        plan.run(payload, |field, value| {
            n_seen = if field == 0 { 1 } else { n_seen + 1 };
            match (field, value) {
                (0, value) => sec = whole(&value),
                (1, value) => nanosec = whole(&value),
                (2, Value::String(text)) => sample.parent = text,
                (3, Value::String(text)) => sample.child = text,
                (4..=6, value) => set(&mut sample.translation_m, field - 4, &value),
                (7..=10, value) => set(&mut sample.rotation, field - 7, &value),
                _ => {}
            }
            if n_seen == part.n_paths() && field + 1 == n_seen {
                let stamp_ns = sec.saturating_mul(1_000_000_000).saturating_add(nanosec);
                sample.time = sample_time(LogTime::from_ns(stamp_ns), log_time);
                visit(&sample);
            }
        })
        .is_ok()
    }
}

fn compile(source: &Definition, library: &Library, part: TransformPart) -> Option<TransformPlan> {
    let schema = source.schema(library)?;
    let paths: Vec<FieldPath> =
        PATHS.iter().take(part.n_paths()).filter_map(|path| path.parse().ok()).collect();
    let plan = Plan::compile(schema, &paths).ok()?;
    Some(TransformPlan(Arc::new(plan), part))
}

/// A second or nanosecond; a negative one counts as 0, which no clock shows either.
pub(crate) fn whole(value: &Value<'_>) -> u64 {
    match value {
        Value::Scalar(number) => whole_number(*number),
        _ => 0,
    }
}

fn whole_number(number: Scalar) -> u64 {
    match number {
        Scalar::U64(n) => n,
        Scalar::I64(n) => u64::try_from(n).unwrap_or(0),
        _ => 0,
    }
}

fn set<const N: usize>(target: &mut [f64; N], index: usize, value: &Value<'_>) {
    if let (Some(slot), Some(number)) = (target.get_mut(index), value.as_f64()) {
        *slot = number;
    }
}

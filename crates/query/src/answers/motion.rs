//! Where the robot was and how fast it moved, from the topics that play these parts.

use std::sync::Arc;

use ros2_memory_bag::Message;
use ros2_memory_msg::{FieldPath, Plan, Value};
use ros2_memory_tf::Quaternion;
use serde_json::{Map, Value as Json, json};

use super::nearest::{When, newest_at_or_before};
use crate::{
    ErrorCode, TypePaths, TypeView,
    handle::handle,
    query::Query,
    refusal::{Answer, Refusal},
    roles::{pose_topic, velocity_topic},
};

/// The pose at a moment.
pub(crate) fn position(query: &mut Query<'_>, when: When, tolerance: Option<u64>) -> Answer {
    let snapshot = query.snapshot.clone();
    let topic = pose_topic(&snapshot, query.types.map(), &query.settings.roles.pose)?;
    newest_at_or_before(query, &[topic], when, tolerance, |query, message| {
        let fields = Fields::read(query, message, Part::Pose)?;
        let mut map = fields.vector("position")?;
        let yaw_deg = fields.rotation("orientation").map(|q| q.yaw_rad().to_degrees());
        map.insert("yaw_deg".into(), json!(yaw_deg));
        map.insert("frame".into(), json!(fields.frame));
        Ok(Json::Object(finish(query, message, map)))
    })
}

/// The velocity at a moment, in the child frame.
pub(crate) fn velocity(query: &mut Query<'_>, when: When, tolerance: Option<u64>) -> Answer {
    let snapshot = query.snapshot.clone();
    let topic = velocity_topic(&snapshot, query.types.map(), &query.settings.roles.velocity)?;
    newest_at_or_before(query, &[topic], when, tolerance, |query, message| {
        let fields = Fields::read(query, message, Part::Velocity)?;
        let mut map = Map::new();
        map.insert("linear".into(), Json::Object(fields.vector("linear_velocity")?));
        map.insert("angular".into(), Json::Object(fields.vector("angular_velocity")?));
        let frame = if fields.child_frame.is_empty() { fields.frame } else { fields.child_frame };
        map.insert("frame".into(), json!(frame));
        Ok(Json::Object(finish(query, message, map)))
    })
}

fn finish(
    query: &Query<'_>,
    message: &Message<'_>,
    mut map: Map<String, Json>,
) -> Map<String, Json> {
    map.insert("timestamp".into(), json!(message.log_time.to_unix_s()));
    map.insert("timestamp_ns".into(), json!(message.log_time.as_ns().to_string()));
    map.insert("age_s".into(), json!(query.age_s(message.log_time)));
    map.insert("topic".into(), json!(&*message.channel.topic));
    map.insert("handle".into(), json!(handle(&message.channel.topic, message.log_time)));
    map
}

/// What is asked of a message.
#[derive(Debug, Clone, Copy)]
enum Part {
    Pose,
    Velocity,
}

impl Part {
    /// The names of its vectors in the configuration.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Pose => ["position", "orientation"],
            Self::Velocity => ["linear_velocity", "angular_velocity"],
        }
    }
}

/// How vectors and frames are read out of the messages of a type.
#[derive(Debug)]
pub(crate) struct FieldPlan {
    /// The vectors, then the frames.
    plan: Plan,
    names: Vec<&'static str>,
    /// Whether it has a frame and a child frame.
    has_frames: [bool; 2],
}

impl FieldPlan {
    fn of(view: &TypeView, paths: Option<&TypePaths>, part: Part) -> Result<Self, String> {
        let schema = view.schema.as_ref().map_err(Clone::clone)?;
        // What is not configured or not there is left out; what the answer needs is asked for
        // afterwards.
        let fitting = |name: &str| {
            let path = paths?.field(name)?;
            let fits = Plan::compile(schema.clone(), std::slice::from_ref(path)).is_ok();
            fits.then(|| path.clone())
        };
        let vectors = part.names().map(|name| Some((name, fitting(name)?)));
        let (names, mut wanted): (Vec<_>, Vec<FieldPath>) = vectors.into_iter().flatten().unzip();
        let frames = ["frame", "child_frame"].map(fitting);
        let has_frames = [0, 1].map(|at: usize| frames.get(at).is_some_and(Option::is_some));
        wanted.extend(frames.into_iter().flatten());
        let plan = Plan::compile(schema.clone(), &wanted).map_err(|error| error.to_string())?;
        Ok(Self { plan, names, has_frames })
    }
}

/// Vectors and frames out of one message.
struct Fields {
    topic: Arc<str>,
    /// By the names asked for: x, y, z and w as far as the message has them.
    vectors: Vec<(&'static str, [Option<f64>; 4])>,
    frame: String,
    child_frame: String,
}

impl Fields {
    fn read(query: &mut Query<'_>, message: &Message<'_>, part: Part) -> Result<Self, Refusal> {
        let topic = message.channel.topic.clone();
        let failed =
            |reason: &str| Refusal::new(ErrorCode::DecodeFailed, format!("{topic}: {reason}"));
        let view = query.view(&message.contents.declared, message.channel_index);
        let [pose, velocity] = &view.motion;
        let known = match part {
            Part::Pose => pose,
            Part::Velocity => velocity,
        };
        let fields = known
            .get_or_init(|| FieldPlan::of(&view, query.types.map().get(&view.type_name), part))
            .as_ref()
            .map_err(|reason| failed(reason))?;
        let n_vectors = fields.names.len();
        let mut vectors = vec![[None; 4]; n_vectors];
        // Values come in the order of the message, which need not be that of the names.
        let mut texts = [String::new(), String::new()];
        fields
            .plan
            .run(message.payload, |number, value| {
                if let Some(vector) = vectors.get_mut(number) {
                    *vector =
                        ["x", "y", "z", "w"].map(|part| value.field(part).and_then(Value::as_f64));
                } else if let Some(text) = texts.get_mut(number - n_vectors) {
                    value.as_str().unwrap_or_default().clone_into(text);
                }
            })
            .map_err(|error| failed(&error.to_string()))?;
        let mut texts = texts.into_iter();
        let [frame, child_frame] =
            fields.has_frames.map(|has| has.then(|| texts.next()).flatten().unwrap_or_default());
        let vectors = fields.names.iter().copied().zip(vectors).collect();
        Ok(Self { topic, vectors, frame, child_frame })
    }

    fn parts(&self, name: &str) -> [Option<f64>; 4] {
        let found = self.vectors.iter().find(|(known, _)| *known == name);
        found.map_or([None; 4], |(_, parts)| *parts)
    }

    /// x, y and z; a number that is not finite is null.
    fn vector(&self, name: &str) -> Result<Map<String, Json>, Refusal> {
        let [x, y, z, _] = self.parts(name);
        if x.is_none() || y.is_none() {
            return Err(Refusal::new(
                ErrorCode::DecodeFailed,
                format!("{}: {name} has no x and y", self.topic),
            ));
        }
        let part = |value: Option<f64>| json!(value.unwrap_or(0.0));
        Ok(Map::from_iter([
            ("x".to_owned(), part(x)),
            ("y".to_owned(), part(y)),
            ("z".to_owned(), part(z)),
        ]))
    }

    fn rotation(&self, name: &str) -> Option<Quaternion> {
        let [Some(x), Some(y), Some(z), Some(w)] = self.parts(name) else { return None };
        Quaternion { x, y, z, w }.normalized()
    }
}

/// The plan for x, y and, where there is one, z of a type's `position`.
pub(crate) fn position_plan(view: &TypeView, paths: &TypePaths) -> Result<Plan, String> {
    let schema = view.schema.as_ref().map_err(Clone::clone)?;
    let position =
        paths.position().ok_or_else(|| format!("{} has no configured position", view.type_name))?;
    let part = |name: &str| format!("{position}.{name}").parse::<FieldPath>();
    let compile = |names: &[&str]| {
        let parts = names.iter().map(|name| part(name)).collect::<Result<Vec<_>, _>>();
        parts.and_then(|parts| Plan::compile(schema.clone(), &parts))
    };
    compile(&["x", "y", "z"]).or_else(|_flat| compile(&["x", "y"])).map_err(|e| e.to_string())
}

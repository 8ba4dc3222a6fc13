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
        let fields = Fields::read(query, message, &["position", "orientation"])?;
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
        let fields = Fields::read(query, message, &["linear_velocity", "angular_velocity"])?;
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

/// Vectors and frames out of one message.
struct Fields {
    topic: Arc<str>,
    /// By the names asked for: x, y, z and w as far as the message has them.
    vectors: Vec<(String, [Option<f64>; 4])>,
    frame: String,
    child_frame: String,
}

impl Fields {
    fn read(query: &mut Query<'_>, message: &Message<'_>, names: &[&str]) -> Result<Self, Refusal> {
        let topic = message.channel.topic.clone();
        let failed =
            |reason: String| Refusal::new(ErrorCode::DecodeFailed, format!("{topic}: {reason}"));
        let view = query.view(&message.contents.declared, message.channel_index);
        let schema = view.schema.as_ref().map_err(|reason| failed(reason.clone()))?;
        let paths = query.types.map().get(&view.type_name).cloned().unwrap_or_default();
        // What is not configured or not there is left out; what the answer needs is asked for
        // below.
        let fits =
            |path: &&FieldPath| Plan::compile(schema.clone(), std::slice::from_ref(*path)).is_ok();
        let names: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| paths.field(name).as_ref().is_some_and(fits))
            .collect();
        let mut wanted: Vec<FieldPath> =
            names.iter().filter_map(|name| paths.field(name)).cloned().collect();
        let frames = ["frame", "child_frame"].map(|name| paths.field(name).filter(fits).cloned());
        for path in frames.iter().flatten() {
            wanted.push(path.clone());
        }
        let plan = Plan::compile(schema.clone(), &wanted).map_err(|e| failed(e.to_string()))?;
        let mut vectors = vec![[None; 4]; names.len()];
        // Values come in the order of the message, which need not be that of the names.
        let mut texts = vec![String::new(); wanted.len() - names.len()];
        plan.run(message.payload, |number, value| {
            if let Some(vector) = vectors.get_mut(number) {
                *vector =
                    ["x", "y", "z", "w"].map(|part| value.field(part).and_then(Value::as_f64));
            } else if let Some(text) = texts.get_mut(number - names.len()) {
                value.as_str().unwrap_or_default().clone_into(text);
            }
        })
        .map_err(|error| failed(error.to_string()))?;
        let mut texts = texts.into_iter();
        let [frame, child_frame] =
            frames.map(|path| path.and_then(|_| texts.next()).unwrap_or_default());
        let vectors = names.into_iter().map(ToOwned::to_owned).zip(vectors).collect();
        Ok(Self { topic, vectors, frame, child_frame })
    }

    fn parts(&self, name: &str) -> [Option<f64>; 4] {
        let found = self.vectors.iter().find(|(known, _)| known == name);
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

//! Which topics give pose, velocity and transforms.

use ros2_memory_catalog::{Snapshot, TopicSummary};
use ros2_memory_index::is_transform_type;

use crate::{Role, SchemaMap, TypePaths, names::resolve_topics, refusal::Refusal};

/// The topic that says where the robot is.
pub(crate) fn pose_topic<'s>(
    snapshot: &'s Snapshot,
    map: &SchemaMap,
    role: &Role,
) -> Result<&'s TopicSummary, Refusal> {
    choose(snapshot, map, role, &["position", "orientation"], "pose")
}

/// The topic that says how fast it moves. One that also says where it is, is preferred: a
/// velocity alone is most often a command.
pub(crate) fn velocity_topic<'s>(
    snapshot: &'s Snapshot,
    map: &SchemaMap,
    role: &Role,
) -> Result<&'s TopicSummary, Refusal> {
    let measured = ["linear_velocity", "angular_velocity", "position"];
    choose(snapshot, map, role, &measured, "velocity").or_else(|refusal| match role {
        Role::Auto => {
            choose(snapshot, map, role, &["linear_velocity", "angular_velocity"], "velocity")
        }
        Role::Topics(_) => Err(refusal),
    })
}

/// The topics that carry transforms, static and dynamic.
pub(crate) fn transform_topics<'s>(snapshot: &'s Snapshot, role: &Role) -> Vec<&'s TopicSummary> {
    match role {
        Role::Topics(names) => {
            names.iter().filter_map(|name| resolve_topics(snapshot, name).ok()).flatten().collect()
        }
        Role::Auto => {
            snapshot.topics().filter(|topic| is_transform_type(&topic.type_name)).collect()
        }
    }
}

fn choose<'s>(
    snapshot: &'s Snapshot,
    map: &SchemaMap,
    role: &Role,
    fields: &[&str],
    part: &str,
) -> Result<&'s TopicSummary, Refusal> {
    let refused = || {
        Refusal::no_data(format!("no recorded topic gives the {part}"))
            .hint(format!("set data.roles.{part} to one of the recorded topics"))
    };
    if let Role::Topics(names) = role {
        let recorded = names
            .iter()
            .filter_map(|name| resolve_topics(snapshot, name).ok())
            .flatten()
            .find(|topic| topic.count > 0);
        return recorded.ok_or_else(refused);
    }
    let fits = |topic: &&TopicSummary| {
        let has = |paths: &TypePaths| fields.iter().all(|name| paths.field(name).is_some());
        topic.count > 0 && map.get(&topic.type_name).is_some_and(has)
    };
    let fitting: Vec<&TopicSummary> = snapshot.topics().filter(fits).collect();
    fitting
        .iter()
        .find(|topic| &*topic.topic == "/odom")
        .or_else(|| fitting.first())
        .copied()
        .ok_or_else(refused)
}

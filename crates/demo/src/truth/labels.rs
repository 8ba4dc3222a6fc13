use std::collections::BTreeMap;

use super::{LabelTruth, ObjectTruth, Seen, collect::messages, samples::pose_at};
use crate::{
    apartment::{standing, zones},
    history::History,
    sight::{MOVERS, NEVER_SEEN},
    source::Source,
};

#[derive(Default)]
struct Sightings {
    scene: Seen,
    meta: Seen,
    detections: u64,
}

pub(super) fn labels(history: &History) -> Vec<LabelTruth> {
    let things = zones().flat_map(|(_, zone)| zone.things).map(|thing| thing.label);
    let movers = MOVERS.iter().map(|(label, _)| *label);
    let mut all: BTreeMap<&str, Sightings> = things
        .chain(movers)
        .chain([NEVER_SEEN])
        .map(|label| (label, Sightings::default()))
        .collect();
    let world = history.world();
    for (at_ns, log_ns, k) in messages(history, Source::SceneObjects) {
        for label in world.scene_labels(at_ns, k) {
            all.entry(label).or_default().scene.add(log_ns);
        }
    }
    for (at_ns, log_ns, k) in messages(history, Source::Detections) {
        for detected in world.detected(at_ns, k) {
            let label = all.entry(detected.label).or_default();
            label.detections += 1;
            if label.meta.last_ns != Some(log_ns) {
                label.meta.add(log_ns);
            }
        }
    }
    all.into_iter()
        .map(|(label, seen)| LabelTruth {
            label: label.to_owned(),
            scene_objects: seen.scene,
            detections_meta: seen.meta,
            detections: seen.detections,
            pose_when_last_seen: seen
                .scene
                .last_ns
                .and_then(|last_ns| pose_at(history, last_ns - history.time(0).as_ns())),
        })
        .collect()
}

pub(super) fn objects() -> Vec<ObjectTruth> {
    zones()
        .flat_map(|(number, zone)| {
            zone.things.iter().map(move |thing| {
                let (x_m, y_m) = standing(number, thing);
                ObjectTruth {
                    label: thing.label.to_owned(),
                    room: zone.name.to_owned(),
                    track_id: format!("{}-{number}", thing.label),
                    x_m,
                    y_m,
                    z_m: thing.z_m,
                }
            })
        })
        .collect()
}

use super::{Moment, header};
use crate::{
    apartment::zone_name,
    chance::Lane,
    number::{count, pixel, single},
    payload::Payload,
    sight::Sighting,
    world::{CAMERA_M, CAMERA_PITCH_RAD, World},
};

/// A pinhole camera of 640 by 480 pixels.
const FOCAL_PX: f64 = 500.0;
const IMAGE_PX: (f64, f64) = (640.0, 480.0);
/// Depth ends here: what is farther has no point.
const DEPTH_M: f64 = 2.7;

/// `StampedString` with a sentence.
pub(super) fn description(out: &mut Payload, world: &World, moment: Moment) {
    header(out, moment, "camera_link");
    let in_view = world.in_view(moment.at_ns);
    let mut labels: Vec<&str> = in_view.iter().map(|it| it.label).collect();
    labels.dedup();
    let seen = match labels.split_last() {
        None => "nothing of note".to_owned(),
        Some((last, [])) => with_article(last),
        Some((last, others)) => {
            let others: Vec<String> = others.iter().map(|label| with_article(label)).collect();
            format!("{} and {}", others.join(", "), with_article(last))
        }
    };
    let path = if in_view.iter().any(Sighting::blocks_path) {
        "the path is blocked by a person"
    } else {
        "the path is clear"
    };
    out.string(&format!("{}: {seen}; {path}", zone_name(world.zone(moment.at_ns))));
}

/// `StampedString` with a JSON list of labels.
pub(super) fn scene_objects(out: &mut Payload, world: &World, moment: Moment) {
    header(out, moment, "camera_link");
    let mut list = String::from("[");
    for (place, label) in world.scene_labels(moment.at_ns, moment.k).iter().enumerate() {
        // Labels are plain words: nothing in them needs escaping.
        list.push_str(if place == 0 { "\"" } else { ",\"" });
        list.push_str(label);
        list.push('"');
    }
    list.push(']');
    out.string(&list);
}

/// `VisionDetectionArray`.
pub(super) fn detections(out: &mut Payload, world: &World, moment: Moment) {
    header(out, moment, "camera_link");
    out.string("find_object");
    let detected = world.detected(moment.at_ns, moment.k);
    out.length(detected.len());
    for (place, sighting) in detected.iter().enumerate() {
        let roll = world.chance.unit(Lane::Score, moment.k * 64 + count(place));
        detection(out, sighting, roll);
    }
}

/// `VisionDetection`.
fn detection(out: &mut Payload, sighting: &Sighting, roll: f64) {
    let [x_m, y_m, z_m] = in_camera(sighting);
    out.string(sighting.label);
    out.f32(single((0.95 - 0.12 * sighting.distance_m + 0.1 * (roll - 0.5)).clamp(0.3, 0.99)));
    let scale = FOCAL_PX / x_m;
    let half = 0.5 * sighting.size_m * scale;
    let (column, row) = (IMAGE_PX.0 / 2.0 - y_m * scale, IMAGE_PX.1 / 2.0 - z_m * scale);
    let (right, bottom) = (IMAGE_PX.0 - 1.0, IMAGE_PX.1 - 1.0);
    out.i32(pixel((column - half).clamp(0.0, right)));
    out.i32(pixel((row - half).clamp(0.0, bottom)));
    out.i32(pixel((column + half).clamp(0.0, right)));
    out.i32(pixel((row + half).clamp(0.0, bottom)));
    let has_point = sighting.distance_m < DEPTH_M;
    out.f64s(&if has_point { [x_m, y_m, z_m] } else { [0.0; 3] });
    out.bool(has_point);
    out.string(&format!("{}-{}", sighting.label, sighting.number));
}

/// A sighting's place in the camera frame (x ahead): the inverse of the camera's mount.
fn in_camera(sighting: &Sighting) -> [f64; 3] {
    let [x_m, y_m, z_m] = CAMERA_M;
    let (sin, cos) = CAMERA_PITCH_RAD.sin_cos();
    let (ahead, up) = (sighting.ahead_m - x_m, sighting.z_m - z_m);
    [cos * ahead - sin * up, sighting.left_m - y_m, sin * ahead + cos * up]
}

fn with_article(label: &str) -> String {
    match label.bytes().next() {
        _ if label == "scissors" => "scissors".to_owned(),
        Some(b'a' | b'e' | b'i' | b'o' | b'u') => format!("an {label}"),
        _ => format!("a {label}"),
    }
}

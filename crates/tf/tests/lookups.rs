//! The rules of look-ups one by one, and every way in which they fail.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::{Duration, Instant};

use ros2_memory_tf::{
    Buffer, Edge, Limits, LookupError, MAX_TRANSLATION_M, Quaternion, Rejected, Run, Transform,
};
use ros2_memory_time::LogTime;

fn at_ms(ms: u64) -> LogTime {
    LogTime::from_ns(1_796_039_506_000_000_000 + ms * 1_000_000)
}

fn along_x(x: f64) -> Transform {
    Transform { translation_m: [x, 0.0, 0.0], ..Transform::IDENTITY }
}

fn turned(yaw_deg: f64) -> Transform {
    Transform { rotation: Quaternion::from_yaw_rad(yaw_deg.to_radians()), ..Transform::IDENTITY }
}

/// A buffer of samples: parent, child, milliseconds, run, x.
fn buffer(samples: &[(&str, &str, u64, u32, f64)]) -> Buffer {
    let mut buffer = Buffer::new(Limits::default());
    for (parent, child, ms, run, x) in samples {
        buffer.insert(parent, child, at_ms(*ms), Run(*run), along_x(*x)).unwrap();
    }
    buffer
}

fn x_at(buffer: &Buffer, target: &str, source: &str, ms: u64) -> Result<f64, LookupError> {
    let transform = buffer.lookup(target, source, at_ms(ms))?;
    let [x, _, _] = transform.translation_m;
    // To the micrometre, so that expectations can be written down.
    Ok((x * 1e6).round() / 1e6)
}

#[test]
fn a_transform_is_the_pose_of_the_source_in_the_target() {
    let mut buffer = buffer(&[("map", "base", 0, 0, 10.0)]);
    buffer.insert_static("base", "laser", along_x(0.5)).unwrap();
    assert_eq!(x_at(&buffer, "map", "laser", 0), Ok(10.5));
    assert_eq!(x_at(&buffer, "laser", "map", 0), Ok(-10.5));
    assert_eq!(x_at(&buffer, "base", "laser", 0), Ok(0.5));
}

#[test]
fn siblings_meet_at_their_common_ancestor() {
    let mut buffer = buffer(&[("map", "base", 0, 0, 10.0)]);
    buffer.insert_static("base", "left", along_x(-0.25)).unwrap();
    buffer.insert_static("base", "right", along_x(0.25)).unwrap();
    assert_eq!(x_at(&buffer, "left", "right", 0), Ok(0.5));
    // The way does not lead over map, so it does not matter that map is out of reach.
    assert_eq!(x_at(&buffer, "left", "right", 60_000), Ok(0.5));
    assert!(matches!(
        x_at(&buffer, "map", "right", 60_000),
        Err(LookupError::Extrapolation { .. })
    ));
}

#[test]
fn a_known_frame_in_itself_is_the_identity_at_any_time() {
    let buffer = buffer(&[("map", "base", 0, 0, 10.0)]);
    assert_eq!(buffer.lookup("base", "/base", LogTime::MAX), Ok(Transform::IDENTITY));
    let unknown = LookupError::UnknownFrame { frame: "arm".into() };
    assert_eq!(buffer.lookup("arm", "arm", at_ms(0)), Err(unknown.clone()));
    assert_eq!(buffer.lookup("map", "/arm", at_ms(0)), Err(unknown));
}

#[test]
fn an_exact_hit_needs_no_neighbour_and_comes_back_as_it_was() {
    let mut buffer = Buffer::new(Limits { max_gap_ns: 0, max_extrapolation_ns: 0 });
    let pose = Transform {
        translation_m: [0.1, 0.2, 0.3],
        rotation: Quaternion::from_rpy_rad(0.4, 0.5, 0.6),
    };
    buffer.insert("map", "base", at_ms(5), Run(0), pose).unwrap();
    assert_eq!(buffer.lookup("map", "base", at_ms(5)), Ok(pose));
    assert!(buffer.lookup("map", "base", at_ms(6)).is_err());
}

#[test]
fn samples_are_interpolated_over_the_short_way() {
    let mut buffer = Buffer::new(Limits::default());
    buffer.insert("map", "base", at_ms(0), Run(0), turned(179.0)).unwrap();
    buffer.insert("map", "base", at_ms(1_000), Run(0), turned(-179.0)).unwrap();
    let middle = buffer.lookup("map", "base", at_ms(500)).unwrap();
    assert!((middle.rotation.yaw_rad().abs().to_degrees() - 180.0).abs() < 1e-9);
}

#[test]
fn extrapolation_holds_the_nearest_sample_on_both_sides() {
    let buffer = buffer(&[("map", "base", 1_000, 0, 1.0), ("map", "base", 2_000, 0, 2.0)]);
    assert_eq!(x_at(&buffer, "map", "base", 500), Ok(1.0));
    assert_eq!(x_at(&buffer, "map", "base", 2_500), Ok(2.0));
    let missed = |ms, before: Option<u64>, after: Option<u64>| {
        Err(LookupError::Extrapolation {
            parent: "map".into(),
            child: "base".into(),
            at: at_ms(ms),
            first: at_ms(1_000),
            last: at_ms(2_000),
            before: before.map(at_ms),
            after: after.map(at_ms),
            max_extrapolation_ns: 500_000_000,
        })
    };
    assert_eq!(x_at(&buffer, "map", "base", 499), missed(499, None, Some(1_000)));
    assert_eq!(x_at(&buffer, "map", "base", 2_501), missed(2_501, Some(2_000), None));
}

#[test]
fn a_gap_is_not_bridged() {
    let buffer = buffer(&[("map", "base", 0, 0, 0.0), ("map", "base", 1_200, 0, 12.0)]);
    assert_eq!(x_at(&buffer, "map", "base", 400), Ok(0.0));
    assert_eq!(x_at(&buffer, "map", "base", 800), Ok(12.0));
    let Err(error) = x_at(&buffer, "map", "base", 600) else { panic!("bridged") };
    assert!(matches!(
        error,
        LookupError::Extrapolation { before: Some(b), after: Some(a), .. }
            if (b, a) == (at_ms(0), at_ms(1_200))
    ));
    let text = error.to_string();
    assert!(text.contains("base") && text.contains("map") && text.contains(" but for "), "{text}");
}

#[test]
fn the_border_of_two_runs_is_not_interpolated() {
    let buffer = buffer(&[("map", "base", 0, 0, 5.0), ("map", "base", 100, 1, 0.0)]);
    assert_eq!(x_at(&buffer, "map", "base", 40), Ok(5.0));
    assert_eq!(x_at(&buffer, "map", "base", 50), Ok(5.0));
    assert_eq!(x_at(&buffer, "map", "base", 60), Ok(0.0));
}

#[test]
fn a_frame_is_reparented_only_where_its_samples_disagree() {
    let mut buffer = buffer(&[
        ("hand", "cup", 0, 0, 1.0),
        ("hand", "cup", 100, 0, 2.0),
        ("table", "cup", 200, 0, 3.0),
        ("table", "cup", 300, 0, 4.0),
    ]);
    buffer.insert_static("table", "hand", along_x(10.0)).unwrap();
    assert_eq!(x_at(&buffer, "hand", "cup", 50), Ok(1.5));
    assert_eq!(x_at(&buffer, "hand", "cup", 100), Ok(2.0));
    assert_eq!(x_at(&buffer, "table", "cup", 50), Ok(11.5));
    assert_eq!(x_at(&buffer, "table", "cup", 200), Ok(3.0));
    assert_eq!(x_at(&buffer, "table", "cup", 250), Ok(3.5));
    for ms in [101, 150, 199] {
        assert_eq!(
            x_at(&buffer, "table", "cup", ms),
            Err(LookupError::Reparented {
                child: "cup".into(),
                before_parent: "hand".into(),
                after_parent: "table".into(),
                at: at_ms(ms),
            })
        );
    }
}

#[test]
fn a_change_of_parent_far_away_does_not_matter() {
    let buffer = buffer(&[("hand", "cup", 0, 0, 1.0), ("table", "cup", 700, 0, 3.0)]);
    assert_eq!(x_at(&buffer, "hand", "cup", 150), Ok(1.0));
    assert_eq!(x_at(&buffer, "table", "cup", 600), Ok(3.0));
    assert!(matches!(x_at(&buffer, "hand", "cup", 350), Err(LookupError::Reparented { .. })));
    // No moment joins hand and table, so a sample nearer to the moment would not help either.
    assert_eq!(
        x_at(&buffer, "hand", "cup", 600),
        Err(LookupError::NotConnected {
            target: "hand".into(),
            source: "cup".into(),
            target_root: "hand".into(),
            source_root: "table".into(),
        })
    );
}

#[test]
fn a_loop_is_refused_and_other_frames_keep_working() {
    let mut buffer = buffer(&[("odom", "body", 0, 0, 1.0), ("body", "odom", 0, 0, 2.0)]);
    buffer.insert_static("body", "arm", along_x(3.0)).unwrap();
    buffer.insert_static("arm", "hand", along_x(4.0)).unwrap();
    buffer.insert_static("map", "dock", along_x(5.0)).unwrap();
    let started = Instant::now();
    for (target, source) in [("odom", "body"), ("body", "odom"), ("odom", "hand"), ("map", "hand")]
    {
        let answer = x_at(&buffer, target, source, 0);
        assert!(matches!(answer, Err(LookupError::Loop { .. })), "{target} {source} {answer:?}");
    }
    assert!(started.elapsed() < Duration::from_millis(100));
    assert_eq!(x_at(&buffer, "body", "hand", 0), Ok(7.0));
    assert_eq!(x_at(&buffer, "map", "dock", 0), Ok(5.0));
}

#[test]
fn a_frame_in_itself_is_refused() {
    let mut buffer = Buffer::new(Limits::default());
    let refused = Err(Rejected::SelfParent { frame: "base".into() });
    assert_eq!(buffer.insert("base", "/base", at_ms(0), Run(0), along_x(1.0)), refused);
    assert_eq!(buffer.insert_static("base", "base", along_x(1.0)), refused);
    assert!(buffer.frames().is_empty());
}

#[test]
fn unconnected_frames_name_their_roots() {
    let mut buffer = Buffer::new(Limits::default());
    buffer.insert_static("map", "dock", along_x(1.0)).unwrap();
    buffer.insert_static("base", "arm", along_x(1.0)).unwrap();
    buffer.insert_static("arm", "hand", along_x(1.0)).unwrap();
    let error = buffer.lookup("dock", "hand", at_ms(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "frames dock and hand are not connected: one hangs below map, the other below base"
    );
}

#[test]
fn frames_that_no_moment_connects_are_not_called_out_of_reach() {
    let mut buffer = buffer(&[("map", "base", 0, 0, 1.0)]);
    buffer.insert_static("other_map", "other_base", along_x(1.0)).unwrap();
    assert!(matches!(
        x_at(&buffer, "other_map", "base", 60_000),
        Err(LookupError::NotConnected { .. })
    ));
}

#[test]
fn static_wins_over_samples_of_the_same_edge() {
    let mut buffer = buffer(&[("foo", "bar", 1_000, 0, 1.0)]);
    buffer.insert_static("foo", "bar", along_x(7.0)).unwrap();
    buffer.insert("foo", "bar", at_ms(3_000), Run(0), along_x(2.0)).unwrap();
    for ms in [0, 1_000, 2_000, 3_000, 90_000] {
        assert_eq!(x_at(&buffer, "foo", "bar", ms), Ok(7.0));
    }
    let (first, last) = (Some(at_ms(1_000)), Some(at_ms(3_000)));
    let edge = Edge { parent: "foo", child: "bar", is_static: true, first, last };
    assert_eq!(buffer.edges(), [edge]);
}

#[test]
fn a_static_transform_and_a_near_sample_of_another_parent_disagree() {
    let mut buffer = buffer(&[("odom", "base", 1_000, 0, 1.0)]);
    buffer.insert_static("footprint", "base", along_x(7.0)).unwrap();
    assert!(matches!(x_at(&buffer, "odom", "base", 1_100), Err(LookupError::Reparented { .. })));
    assert_eq!(x_at(&buffer, "footprint", "base", 2_000), Ok(7.0));
}

#[test]
fn a_later_static_transform_takes_the_place_of_an_earlier_one() {
    let mut buffer = Buffer::new(Limits::default());
    buffer.insert_static("base", "laser", along_x(1.0)).unwrap();
    buffer.insert_static("mast", "laser", along_x(2.0)).unwrap();
    assert_eq!(x_at(&buffer, "mast", "laser", 0), Ok(2.0));
    assert!(matches!(x_at(&buffer, "base", "laser", 0), Err(LookupError::NotConnected { .. })));
}

#[test]
fn one_leading_slash_makes_no_difference() {
    let buffer = buffer(&[("/map", "base", 0, 0, 1.0), ("map", "/base", 100, 0, 2.0)]);
    assert_eq!(x_at(&buffer, "/map", "/base", 50), Ok(1.5));
    assert_eq!(buffer.frames(), ["base", "map"]);
    let error = buffer.lookup("//map", "base", at_ms(0)).unwrap_err();
    assert_eq!(error, LookupError::UnknownFrame { frame: "/map".into() });
}

#[test]
fn names_that_are_empty_are_refused() {
    let mut buffer = Buffer::new(Limits::default());
    for (parent, child) in [("", "base"), ("map", ""), ("/", "base"), ("map", "/")] {
        let refused = buffer.insert_static(parent, child, along_x(1.0));
        assert!(matches!(refused, Err(Rejected::EmptyFrame { .. })), "{parent:?} {child:?}");
    }
    assert_eq!(buffer.rejected(), 4);
}

#[test]
fn broken_numbers_are_refused_counted_and_never_come_out() {
    let mut buffer = buffer(&[("map", "base", 0, 0, 0.0), ("map", "base", 100, 0, 1.0)]);
    let mut broken = Vec::new();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        broken.push(along_x(bad));
        let rotation = Quaternion { x: 0.0, y: 0.0, z: bad, w: 1.0 };
        broken.push(Transform { rotation, ..along_x(0.0) });
    }
    broken.push(along_x(1e101));
    let zero = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: -0.0 };
    broken.push(Transform { rotation: zero, ..along_x(0.0) });
    for (count, bad) in (1..).zip(&broken) {
        assert!(buffer.insert("map", "base", at_ms(50), Run(0), *bad).is_err(), "{bad:?}");
        assert_eq!(buffer.rejected(), count);
    }
    assert_eq!(x_at(&buffer, "map", "base", 50), Ok(0.5));
}

#[test]
fn the_longest_translations_through_the_deepest_chain_stay_finite() {
    let mut buffer = Buffer::new(Limits::default());
    let far = Transform {
        translation_m: [MAX_TRANSLATION_M, -MAX_TRANSLATION_M, MAX_TRANSLATION_M],
        rotation: Quaternion { x: 1e-300, y: 1e300, z: 1.0, w: -1e299 },
    };
    for side in ["left", "right"] {
        buffer.insert_static("root", &format!("{side}_0"), far).unwrap();
        for depth in 1..256 {
            let (parent, child) = (format!("{side}_{}", depth - 1), format!("{side}_{depth}"));
            buffer.insert_static(&parent, &child, far).unwrap();
        }
    }
    let transform = buffer.lookup("left_255", "right_255", at_ms(0)).unwrap();
    let q = transform.rotation;
    let parts = [q.x, q.y, q.z, q.w].into_iter().chain(transform.translation_m);
    assert!(parts.into_iter().all(f64::is_finite), "{transform:?}");
    buffer.insert_static("right_255", "right_256", far).unwrap();
    assert!(matches!(
        buffer.lookup("left_255", "right_256", at_ms(0)),
        Err(LookupError::TooDeep { limit: 256, .. })
    ));
}

#[test]
fn a_rotation_off_unit_length_is_normalised() {
    let mut buffer = Buffer::new(Limits::default());
    let rotation = Quaternion { x: 0.0, y: 0.0, z: 3.0, w: 4.0 };
    let pose = Transform { rotation, ..along_x(1.0) };
    buffer.insert("map", "base", at_ms(0), Run(0), pose).unwrap();
    let stored = buffer.lookup("map", "base", at_ms(0)).unwrap().rotation;
    assert!((stored.z - 0.6).abs() < 1e-15 && (stored.w - 0.8).abs() < 1e-15, "{stored:?}");
}

use super::*;
use crate::Library;
use ros2_memory_cdr::{Encoding, Primitive, Scalar, Writer};

const TEXT: &str = "builtin_interfaces/Time stamp\nstring frame\nDet[] dets\nfloat32[] raw\n\
    geometry_msgs/Point p\n\
    ================================================================================\n\
    MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n\
    ================================================================================\n\
    MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n\
    ================================================================================\n\
    MSG: p/Det\nstring label\nfloat32 score\nHyp[] hyps\n\
    ================================================================================\n\
    MSG: p/Hyp\nstring id\n";

fn payload() -> Vec<u8> {
    let mut w = Writer::new(Encoding::XCDR1_LE);
    w.scalar(Scalar::I64(7), Primitive::I32);
    w.scalar(Scalar::U64(8), Primitive::U32);
    w.string("cam");
    w.sequence_len(3);
    for (label, score) in [("cup", 0.5), ("scissors", 0.75), ("box", 0.25)] {
        w.string(label);
        w.scalar(Scalar::F64(score), Primitive::F32);
        w.sequence_len(2);
        w.string(&format!("{label}-1"));
        w.string(&format!("{label}-2"));
    }
    w.sequence_len(2);
    w.scalar(Scalar::F64(1.5), Primitive::F32);
    w.scalar(Scalar::F64(2.5), Primitive::F32);
    (1..=3).for_each(|i| w.scalar(Scalar::I64(i), Primitive::F64));
    w.into_payload()
}

fn run_paths(paths: &[&str]) -> Vec<(usize, String)> {
    let schema = Arc::new(Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap());
    let paths: Vec<FieldPath> = paths.iter().map(|p| p.parse().unwrap()).collect();
    let plan = Plan::compile(schema, &paths).unwrap();
    let payload = payload();
    let mut seen = Vec::new();
    plan.run(&payload, |path, value| {
        let text = match value {
            Value::String(text) => text.into_owned(),
            Value::Scalar(scalar) => scalar.as_f64().to_string(),
            Value::Primitives(p) => {
                format!("{:?}", p.iter().map(Scalar::as_f64).collect::<Vec<_>>())
            }
            Value::Struct(s) => format!("{} fields", s.fields.len()),
            Value::List(list) => format!("{} items", list.total),
            Value::Absent | Value::Object(_) => panic!("not in CDR without headers"),
        };
        seen.push((path, text));
    })
    .unwrap();
    seen
}

fn seen(paths: &[&str]) -> Vec<String> {
    run_paths(paths).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn plain_paths_reach_behind_strings_and_sequences() {
    assert_eq!(run_paths(&["p.y", "stamp.nanosec"]), [(1, "8".into()), (0, "2".into())]);
    assert_eq!(seen(&["p"]), ["3 fields"]);
    assert_eq!(seen(&["raw"]), ["[1.5, 2.5]"]);
}

#[test]
fn each_element_is_visited_in_order() {
    assert_eq!(seen(&["dets[].label"]), ["cup", "scissors", "box"]);
    assert_eq!(seen(&["dets[].hyps[].id"]).len(), 6);
}

#[test]
fn one_element_is_reached_by_its_number_and_absent_past_the_end() {
    assert_eq!(seen(&["dets[1].label"]), ["scissors"]);
    assert_eq!(seen(&["dets[2].hyps[1].id", "p.z"]), ["box-2", "3"]);
    assert_eq!(seen(&["raw[1]"]), ["2.5"]);
    assert!(seen(&["dets[3].label"]).is_empty());
}

#[test]
fn paths_that_share_bytes_all_see_them() {
    assert_eq!(
        run_paths(&["dets", "dets[].score", "dets[0].label", "dets[].label"]),
        [
            (0, "3 items".into()),
            (2, "cup".into()),
            (3, "cup".into()),
            (1, "0.5".into()),
            (3, "scissors".into()),
            (1, "0.75".into()),
            (3, "box".into()),
            (1, "0.25".into())
        ]
    );
}

#[test]
fn a_path_that_does_not_fit_says_why() {
    let schema = Arc::new(Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap());
    let error = |path: &str| {
        Plan::compile(schema.clone(), &[path.parse().unwrap()]).unwrap_err().to_string()
    };
    assert_eq!(error("pose"), "p/msg/T has no field \"pose\"; it has stamp, frame, dets, raw, p");
    assert_eq!(
        error("dets.label"),
        "\"dets\" in p/msg/T has no fields: it is an array, write [] or [n] behind it"
    );
    assert_eq!(error("frame[]"), "\"frame\" in p/msg/T is not an array");
    assert_eq!(error("frame.x"), "\"frame\" in p/msg/T has no fields");
}

#[test]
fn every_truncation_is_an_error_or_the_same_values() {
    let schema = Arc::new(Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap());
    let plan = Plan::compile(schema, &["dets[].label".parse().unwrap()]).unwrap();
    let payload = payload();
    for len in 0..payload.len() {
        let mut n = 0;
        let result = plan.run(&payload[..len], |_, _| n += 1);
        assert!(result.is_err() || n == 3, "{len}");
    }
}

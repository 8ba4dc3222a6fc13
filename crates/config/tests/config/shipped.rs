//! The shipped files and the code say the same.

use std::{collections::BTreeSet, fs, path::Path};

use crate::common::{load, load_from};
use ros2_memory_config::{Config, Now, RecorderKind};

fn shipped_dir() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../config"))
}

#[test]
fn the_shipped_files_give_the_defaults_of_the_code() {
    let loaded = load(&[], &[], &[]).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(
        loaded.files,
        [
            "<shipped>/config.yaml",
            "<shipped>/storage/mcap.yaml",
            "<shipped>/recorder/ros2bag.yaml",
            "<shipped>/topics.yaml",
            "<shipped>/message_schemas.yaml",
        ]
    );
}

#[test]
fn config_yaml_lists_every_key_and_explains_it() {
    let loaded = load(&[], &[], &[]).unwrap();
    let text = fs::read_to_string(shipped_dir().join("config.yaml")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut listed = BTreeSet::new();
    for (key, origin) in loaded.origins.iter() {
        if origin.name() != "<shipped>/config.yaml" {
            continue;
        }
        listed.insert(key.to_owned());
        if key.starts_with("data.roles.") {
            continue; // explained above the section
        }
        let line = usize::try_from(origin.position().unwrap().line).unwrap();
        let above = lines[line - 2].trim_start();
        assert!(above.starts_with('#'), "{key} has no comment above it, but {above:?}");
    }
    // These two stand in the files of the group, and commented out in config.yaml.
    for (key, commented) in [("data.now", "# now: wall"), ("retention.enabled", "# enabled: true")]
    {
        assert!(lines.iter().any(|line| line.trim() == commented), "{commented}");
        assert_eq!(loaded.origins.get(key).unwrap().name(), "<shipped>/recorder/ros2bag.yaml");
        listed.insert(key.to_owned());
    }
    assert_eq!(listed, keys_of(&loaded.show()), "keys of the file, keys of the code");
}

/// The dotted keys of a `config show`, which is made from the structs.
fn keys_of(shown: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut path = Vec::new();
    for line in shown.lines().filter(|line| !line.trim_start().starts_with('-')) {
        let depth = (line.len() - line.trim_start().len()) / 2;
        let (key, value) = line.trim().split_once(':').unwrap();
        path.truncate(depth);
        path.push(key);
        if !value.is_empty() {
            // A mapping of topics holds no key of its own until a topic is set.
            keys.insert(path.join("."));
        }
    }
    keys.remove("data.time_tolerance_per_topic_s");
    keys
}

#[test]
fn the_folder_of_shipped_files_changes_nothing() {
    let loaded = load_from(Some(shipped_dir()), &[], &[]).unwrap();
    assert_eq!(loaded.config, Config::default());
    let embedded = load(&[], &[], &[]).unwrap();
    assert_eq!(loaded.topics, embedded.topics);
    assert_eq!(loaded.schemas, embedded.schemas);
}

#[test]
fn every_shipped_file_is_embedded_and_loads() {
    for group in ["storage", "recorder", "deployment"] {
        for file in fs::read_dir(shipped_dir().join(group)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let option = name.strip_suffix(".yaml").unwrap();
            let loaded = if group == "deployment" {
                load(&[], &[("MEMORY_DEPLOYMENT", option)], &[]).unwrap()
            } else {
                load(&[], &[], &[&format!("{group}={option}")]).unwrap()
            };
            let read = format!("<shipped>/{group}/{name}");
            assert!(loaded.files.contains(&read), "{read} is not among {:?}", loaded.files);
        }
    }
}

#[test]
fn the_presets_do_what_their_names_say() {
    let desk = load(&[], &[("MEMORY_DEPLOYMENT", "query-only")], &[]).unwrap();
    assert_eq!(desk.config.recorder.kind, RecorderKind::None);
    assert_eq!(desk.config.data.now, Now::Latest);
    assert!(!desk.config.retention.enabled);
    let small = load(&[], &[("MEMORY_DEPLOYMENT", "small-disk")], &[]).unwrap();
    assert!(small.config.retention.enabled);
    assert!(small.config.retention.max_total_gb < Config::default().retention.max_total_gb);
}

#[test]
fn the_wanted_types_have_their_paths() {
    let schemas = load(&[], &[], &[]).unwrap().schemas;
    let odometry = schemas.get("nav_msgs/msg/Odometry").unwrap();
    assert_eq!(odometry.path("position"), Some("pose.pose.position"));
    assert_eq!(odometry.fields[0].0, "position", "the order of the file is kept");
    assert_eq!(odometry.index.position.as_deref(), Some("pose.pose.position"));
    for (type_name, label) in [
        ("ros2_vision_interfaces/msg/VisionDetectionArray", "detections[].label"),
        ("vision_msgs/msg/Detection2DArray", "detections[].results[].hypothesis.class_id"),
        ("vision_msgs/msg/Detection3DArray", "detections[].results[].hypothesis.class_id"),
        ("yolo_msgs/msg/DetectionArray", "detections[].class_name"),
    ] {
        assert_eq!(schemas.get(type_name).unwrap().index.labels, [label], "{type_name}");
    }
    for type_name in [
        "std_msgs/msg/String",
        "std_msgs/msg/Bool",
        "std_msgs/msg/Float32",
        "std_msgs/msg/Float64",
        "std_msgs/msg/Int32",
        "ros2_vision_interfaces/msg/StampedString",
    ] {
        assert_eq!(schemas.get(type_name).unwrap().path("value"), Some("data"), "{type_name}");
    }
    for indexed in schemas.types() {
        assert!(!indexed.fields.is_empty(), "{} is indexed but not shown", indexed.type_name);
    }
    assert_eq!(schemas.get("nav_msgs/Odometry"), Some(odometry), "the ROS 1 spelling");
    assert_eq!(schemas.get("nav_msgs"), None);
}

/// The bundled definitions have the fields that the shipped paths name.
#[test]
fn shipped_paths_lead_somewhere() {
    let schemas = load(&[], &[], &[]).unwrap().schemas;
    let mut walked = 0;
    for schema in schemas.types() {
        let fields = schema.fields.iter().map(|(_, path)| path);
        let index = &schema.index;
        let indexed = [&index.labels, &index.text, &index.numbers].into_iter().flatten();
        for path in fields.chain(indexed).chain(&index.position) {
            let mut type_name = schema.type_name.clone();
            for step in path.split('.') {
                let Some(definition) = definition(&type_name) else { break };
                let name = step.split('[').next().unwrap();
                let is_array = step.contains('[');
                let (field_type, array) = field(&definition, name)
                    .unwrap_or_else(|| panic!("{type_name} has no {name}, of {path}"));
                assert!(array || !is_array, "{name} of {type_name} is no array, in {path}");
                walked += 1;
                type_name = if field_type.contains('/') {
                    field_type.replacen('/', "/msg/", 1)
                } else {
                    format!("{}/msg/{field_type}", type_name.split('/').next().unwrap())
                };
            }
        }
    }
    assert!(walked > 50, "only {walked} steps had a definition");
}

fn definition(type_name: &str) -> Option<String> {
    fs::read_to_string(shipped_dir().join("msgs").join(format!("{type_name}.msg"))).ok()
}

/// The type of a field, and whether it is an array.
fn field(definition: &str, name: &str) -> Option<(String, bool)> {
    definition.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let (kind, field) = (words.next()?, words.next()?);
        let (base, array) = kind.split_once('[').map_or((kind, false), |(base, _)| (base, true));
        (field == name).then(|| (base.to_owned(), array))
    })
}

#[test]
fn env_example_lists_every_variable() {
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.env.example")).unwrap();
    for variable in [
        "MCP_TRANSPORT",
        "MCP_PORT",
        "MEMORY_BAG_DIR",
        "ROS_VISION_INTERFACES_PATH",
        "ROS_DOMAIN_ID",
        "MEMORY_CONFIG_OVERRIDES",
        "MEMORY_DEPLOYMENT",
    ] {
        assert!(text.contains(&format!("\n# {variable}=")), "{variable}");
    }
}

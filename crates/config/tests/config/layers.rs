//! Which source wins, and what is said of where a value came from.

use std::path::{Path, PathBuf};

use crate::common::{folder, load, load_from, message};
use ros2_memory_config::{Now, RecorderKind, Role, StorageKind, Transport};

#[test]
fn each_layer_wins_over_the_weaker_ones() {
    let dir = folder(&[
        ("config.yaml", "server: {port: 2}"),
        ("deployment/mine.yaml", "server: {port: 3}"),
    ]);
    let environment = [
        ("MEMORY_DEPLOYMENT", "mine"),
        ("MCP_PORT", "4"),
        ("MEMORY_CONFIG_OVERRIDES", "server.port=5"),
    ];
    let overrides = ["server.port=6", "server.port=7"];
    let dir = Some(dir.path());
    for (dir, variables, overrides, port, origin) in [
        (None, &environment[..0], &overrides[..0], 9203, "<shipped>/config.yaml:"),
        (dir, &environment[..0], &overrides[..0], 2, "/config.yaml:1:10"),
        (dir, &environment[..1], &overrides[..0], 3, "/deployment/mine.yaml:1:10"),
        (dir, &environment[..2], &overrides[..0], 4, "environment MCP_PORT"),
        (
            dir,
            &environment[..3],
            &overrides[..0],
            5,
            "environment MEMORY_CONFIG_OVERRIDES, override \"server.port=5\"",
        ),
        (dir, &environment[..3], &overrides[..1], 6, "override \"server.port=6\""),
        (dir, &environment[..3], &overrides[..2], 7, "override \"server.port=7\""),
    ] {
        let loaded = load_from(dir, variables, overrides).unwrap();
        assert_eq!(loaded.config.server.port, port);
        let from = loaded.origins.get("server.port").unwrap().to_string();
        assert!(from.contains(origin), "{from} is not from {origin}");
    }
}

#[test]
fn each_variable_sets_its_key() {
    let variables = [
        ("MCP_TRANSPORT", "sse"),
        ("MCP_PORT", "9300"),
        ("MEMORY_BAG_DIR", "/bags"),
        ("ROS_VISION_INTERFACES_PATH", "/a:/b::/c"),
    ];
    let loaded =
        load(&[("config.yaml", "reader: {custom_msg_paths: [/first, /b]}")], &variables, &[])
            .unwrap();
    let config = loaded.config;
    assert_eq!(config.server.transport, Transport::Http);
    assert_eq!(config.server.port, 9300);
    assert_eq!(config.recording.bag_dir, Path::new("/bags"));
    let paths = ["/first", "/b", "/a", "/c"].map(PathBuf::from);
    assert_eq!(config.reader.custom_msg_paths, paths, "appended, none twice");
}

#[test]
fn a_variable_set_to_nothing_is_not_set() {
    let loaded = load(&[], &[("MCP_PORT", ""), ("MEMORY_DEPLOYMENT", " ")], &[]).unwrap();
    assert_eq!(loaded.config.server.port, 9203);
}

#[test]
fn a_directory_named_like_a_number_is_still_a_path() {
    let loaded = load(&[], &[("MEMORY_BAG_DIR", "2026")], &[]).unwrap();
    assert_eq!(loaded.config.recording.bag_dir, Path::new("2026"));
}

#[test]
fn a_bad_variable_is_named() {
    assert_eq!(
        message(&[], &[("MCP_PORT", "http")], &[]),
        "environment MCP_PORT: `server.port` expects a whole number from 0 to 65535, found the \
         text \"http\""
    );
    assert_eq!(
        message(&[], &[("MCP_TRANSPORT", "websocket")], &[]),
        "environment MCP_TRANSPORT: `server.transport` expects stdio or http, found the text \
         \"websocket\""
    );
}

#[test]
fn recorder_none_brings_its_settings_from_any_layer() {
    let list = "defaults: [storage: mcap, recorder: none, _self_]";
    let preset = ("deployment/p.yaml", "defaults:\n  - override /recorder: none\n");
    for (files, variables, overrides) in [
        (vec![("config.yaml", list)], vec![], vec![]),
        (vec![preset], vec![("MEMORY_DEPLOYMENT", "p")], vec![]),
        (vec![], vec![("MEMORY_CONFIG_OVERRIDES", "recorder=none")], vec![]),
        (vec![], vec![], vec!["recorder=none"]),
    ] {
        let loaded = load(&files, &variables, &overrides).unwrap();
        assert_eq!(loaded.config.recorder.kind, RecorderKind::None);
        assert_eq!(loaded.config.data.now, Now::Latest);
        assert!(!loaded.config.retention.enabled);
    }
}

#[test]
fn a_stronger_choice_of_a_group_leaves_no_trace_of_the_weaker() {
    let variables = [("MEMORY_CONFIG_OVERRIDES", "recorder=none storage=rosbag2")];
    let loaded = load(&[], &variables, &["recorder=ros2bag"]).unwrap();
    assert_eq!(loaded.config.recorder.kind, RecorderKind::Ros2bag);
    assert_eq!(loaded.config.storage.kind, StorageKind::Rosbag2);
    assert_eq!(loaded.config.data.now, Now::Wall);
    assert!(loaded.config.retention.enabled);
}

#[test]
fn a_key_that_someone_set_wins_over_the_group() {
    let root = [("config.yaml", "data: {now: wall}")];
    assert_eq!(load(&root, &[], &["recorder=none"]).unwrap().config.data.now, Now::Wall);
    let loaded = load(&[], &[], &["retention.enabled=true", "recorder=none"]).unwrap();
    assert!(loaded.config.retention.enabled, "the order of the overrides does not matter for it");
}

#[test]
fn self_fixes_the_place_of_the_root_file() {
    let last = "defaults: [recorder: none, _self_]\ndata: {now: wall}\n";
    let first = "defaults: [_self_, recorder: none]\ndata: {now: wall}\n";
    let group = "recorder: {kind: none}\ndata: {now: latest}\n";
    for (root, now) in [(last, Now::Wall), (first, Now::Latest)] {
        let loaded = load(&[("config.yaml", root), ("recorder/none.yaml", group)], &[], &[]);
        assert_eq!(loaded.unwrap().config.data.now, now, "{root}");
    }
}

#[test]
fn a_group_file_of_the_folder_lies_over_the_shipped_one() {
    let group = "recorder: {kind: none}\nretention: {max_age_h: 1}\n";
    let loaded = load(&[("recorder/none.yaml", group)], &[], &["recorder=none"]).unwrap();
    assert_eq!(loaded.config.retention.max_age_h.to_bits(), 1.0_f64.to_bits());
    assert_eq!(loaded.config.data.now, Now::Latest, "still the shipped none.yaml");
}

#[test]
fn a_group_may_have_options_of_its_own() {
    let group = "storage: {kind: mcap}\nrecording: {split_duration_s: 1}\n";
    let loaded = load(&[("storage/short.yaml", group)], &[], &["storage=short"]).unwrap();
    assert_eq!(loaded.config.recording.split_duration_s.to_bits(), 1.0_f64.to_bits());
    assert_eq!(
        message(&[("storage/short.yaml", "data: {jitter_m: 1}")], &[], &["storage=short"]),
        "storage/short.yaml:1:1: `storage.kind`: a file in storage/ must set it"
    );
}

#[test]
fn a_kind_is_set_by_its_group_alone() {
    assert_eq!(
        message(&[("config.yaml", "recorder:\n  kind: none\n")], &[], &[]),
        "config.yaml:2:3: `recorder.kind`: is set by the files in recorder/; choose one with \
         `- recorder: NAME` in the defaults list, or with the override recorder=NAME"
    );
    assert!(message(&[], &[], &["storage.kind=mcap"]).contains("override storage=NAME"));
}

#[test]
fn an_option_that_does_not_exist_is_told_with_those_that_do() {
    assert_eq!(
        message(&[("storage/mine.yaml", "")], &[], &["storage=mcpa"]),
        "override \"storage=mcpa\": there is no `storage/mcpa.yaml`, did you mean `mcap`?; there \
         is one of mcap, mine, rosbag2"
    );
    assert_eq!(
        message(&[("config.yaml", "defaults:\n  - recorder: nine\n  - _self_\n")], &[], &[]),
        "config.yaml:2:15: there is no `recorder/nine.yaml`, did you mean `none`?; there is one \
         of none, ros2bag"
    );
    assert!(
        message(&[], &[("MEMORY_DEPLOYMENT", "small-dsk")], &[])
            .starts_with("environment MEMORY_DEPLOYMENT: there is no `deployment/small-dsk.yaml`, did you mean `small-disk`?")
    );
    assert!(
        message(&[], &[("MEMORY_DEPLOYMENT", "../config")], &[]).contains("there is no"),
        "a preset never leaves its folder"
    );
    assert!(message(&[], &[], &["storage=../config"]).contains("takes the name of a file"));
}

#[test]
fn sections_of_several_layers_are_merged_key_by_key() {
    let loaded = load(
        &[(
            "config.yaml",
            "data:\n  roles: {pose: /amcl_pose}\n  time_tolerance_per_topic_s: {/a: 1}\n",
        )],
        &[],
        &["data.roles.velocity=[/odom, /wheel]", "+data.time_tolerance_per_topic_s./b/**=2"],
    )
    .unwrap();
    let data = loaded.config.data;
    assert_eq!(data.roles.pose, Role::Topics(vec!["/amcl_pose".to_owned()]));
    let velocity = ["/odom", "/wheel"].map(str::to_owned).to_vec();
    assert_eq!(data.roles.velocity, Role::Topics(velocity));
    assert_eq!(data.roles.transforms, Role::Auto);
    let tolerances = [("/a".to_owned(), 1.0), ("/b/**".to_owned(), 2.0)];
    assert_eq!(data.time_tolerance_per_topic_s, tolerances);
}

#[test]
fn roles_take_one_word_for_all() {
    let files = [("config.yaml", "data: {roles: /odom}")];
    let loaded = load(&files, &[], &["data.roles.pose=auto"]).unwrap();
    assert_eq!(loaded.config.data.roles.pose, Role::Auto);
    assert_eq!(loaded.config.data.roles.transforms, Role::Topics(vec!["/odom".to_owned()]));
    let loaded = load(&files, &[], &["data.roles=auto"]).unwrap();
    assert_eq!(loaded.config.data.roles.transforms, Role::Auto);
}

#[test]
fn show_gives_a_file_that_gives_the_same_again() {
    let overrides = [
        "recorder=none",
        "recording.bag_dir=\"/a b/#c: \\\"x\\\"\"",
        "reader.custom_msg_paths=[/x, \"yes\"]",
        "data.roles.pose=[/odom, /b]",
        "++data.time_tolerance_per_topic_s./a=0.25",
        "catalog.dir=/var/cache",
    ];
    let loaded = load(&[], &[], &overrides).unwrap();
    for shown in [loaded.show(), loaded.show_with_origins()] {
        let again = load(&[("config.yaml", &shown)], &[], &[]).unwrap();
        assert_eq!(again.config, loaded.config, "{shown}");
    }
    let shown = loaded.show_with_origins();
    assert!(
        shown.contains("  dir: /var/cache  # override \"catalog.dir=/var/cache\"\n"),
        "{shown}"
    );
    assert!(shown.contains("  now: latest  # <shipped>/recorder/none.yaml:"), "{shown}");
    assert!(shown.starts_with("defaults:\n  - storage: mcap\n  - recorder: none\n  - _self_\n"));
}

#[test]
fn the_topics_file_is_found_from_the_folder() {
    let own = ("topics.yaml", "topics: [/own]");
    let other = ("lists/other.yaml", "topics: [/other]\nexclude: [/other/**/debug]");
    for (overrides, expected) in [
        (vec![], "/own"),
        (vec!["recording.topics_file=config/topics.yaml"], "/own"),
        (vec!["recording.topics_file=lists/other.yaml"], "/other"),
        (vec!["recording.topics_file=config/lists/other.yaml"], "/other"),
    ] {
        let loaded = load(&[own, other], &[], &overrides).unwrap();
        assert_eq!(loaded.topics.topics, [expected], "{overrides:?}");
    }
    let loaded = load(&[("config.yaml", "")], &[], &[]).unwrap();
    assert!(loaded.topics.topics.contains(&"/odom".to_owned()), "the shipped list");
    assert_eq!(
        message(&[own], &[], &["recording.topics_file=none.yaml"]),
        "override \"recording.topics_file=none.yaml\": there is no file none.yaml"
    );
}

#[test]
fn a_folder_needs_only_its_own_message_types() {
    let text = "schemas:\n  a_msgs/msg/B: {value: x.y}\n  std_msgs/msg/Bool: {flag: data}\n";
    let schemas = load(&[("message_schemas.yaml", text)], &[], &[]).unwrap().schemas;
    assert_eq!(schemas.get("a_msgs/msg/B").unwrap().path("value"), Some("x.y"));
    let bool_schema = schemas.get("std_msgs/msg/Bool").unwrap();
    assert_eq!(bool_schema.path("flag"), Some("data"));
    assert_eq!(bool_schema.path("value"), None, "replaced as a whole");
    assert!(bool_schema.index.numbers.is_empty(), "with its index");
    assert!(schemas.get("nav_msgs/msg/Odometry").is_some());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = load_from(Some(Path::new("/nowhere/config")), &[], &[]).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/config: cannot be read"), "{error}");
    let dir = folder(&[("file", "")]);
    let file = dir.path().join("file");
    let error = load_from(Some(&file), &[], &[]).unwrap_err().to_string();
    assert!(error.starts_with(&file.display().to_string()), "{error}");
}

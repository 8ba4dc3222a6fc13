//! What is wrong is told with its place, and no text does worse than an error.

use crate::common::{folder, load, load_from, message, with_source};

/// The message about a `config.yaml` of the folder.
fn of_config(text: &str) -> String {
    message(&[("config.yaml", text)], &[], &[])
}

#[test]
fn an_unknown_key_is_told_with_place_neighbours_and_the_nearest() {
    assert_eq!(
        of_config("# mine\nretenton:\n  enabled: true\n"),
        "config.yaml:2:1: unknown key `retenton`, did you mean `retention`?; expected one of \
         recording, data, reader, catalog, server, retention, storage, recorder"
    );
    assert_eq!(
        of_config("recording:\n  bag_dri: x\n"),
        "config.yaml:2:3: unknown key `recording.bag_dri`, did you mean `recording.bag_dir`?; \
         expected one of bag_dir, split_duration_s, clear_on_startup, topics_file"
    );
    assert_eq!(
        message(&[], &[], &["server.prot=1"]),
        "override \"server.prot=1\": unknown key `server.prot`, did you mean `server.port`?; \
         expected one of transport, host, port, time_limit_s, reply_bytes, max_sessions, \
         allowed_hosts"
    );
}

#[test]
fn a_key_in_the_wrong_section_is_led_home() {
    assert!(of_config("port: 5").contains("did you mean `server.port`?"));
    assert!(of_config("data: {bag_dir: x}").contains("did you mean `recording.bag_dir`?"));
}

#[test]
fn types_and_ranges_are_told_with_place() {
    for (text, expected) in [
        (
            "server:\n  port: 70000\n",
            "config.yaml:2:9: `server.port` expects a whole number from 0 to 65535, found the \
             whole number 70000",
        ),
        ("server: {port: 0}", "config.yaml:1:10: `server.port` is 0, but must be from 1 to 65535"),
        (
            "retention:\n  enabled: yes\n",
            "config.yaml:2:12: `retention.enabled` expects true or false, found the text \"yes\"",
        ),
        (
            "recording: {split_duration_s: 0}",
            "config.yaml:1:13: `recording.split_duration_s` is 0, but must be from 0.001 to \
             1000000000",
        ),
        (
            "retention: {max_age_h: 0}",
            "config.yaml:1:13: `retention.max_age_h` is 0, but must be above 0 and at most 1000000",
        ),
        (
            "retention: {min_free_gb: -1}",
            "config.yaml:1:13: `retention.min_free_gb` is -1, but must be from 0 to 1000000000",
        ),
        (
            "data:\n  now: newest\n",
            "config.yaml:2:8: `data.now` expects wall or latest, found the text \"newest\"",
        ),
        (
            "data: {time_tolerance_per_topic_s: {/a: -0.5}}",
            "config.yaml:1:37: `data.time_tolerance_per_topic_s./a` is -0.5, but must be from 0 to \
             1000000000",
        ),
        (
            "data: {max_array_length: 2.5}",
            "config.yaml:1:26: `data.max_array_length` expects a whole number from 0 to \
             18446744073709551615, found the number 2.5",
        ),
        (
            "reader: {custom_msg_paths: /a}",
            "config.yaml:1:28: `reader.custom_msg_paths` expects a list of paths such as [a, b], \
             found the text \"/a\"",
        ),
        (
            "recording: {bag_dir: 2026}",
            "config.yaml:1:22: `recording.bag_dir` expects a path, found the whole number 2026",
        ),
        (
            "server: 9203",
            "config.yaml:1:9: `server` expects a mapping with the keys transport, host, port, \
             time_limit_s, reply_bytes, max_sessions, allowed_hosts, found the whole number 9203",
        ),
        (
            "data: {roles: {pose: odom}}",
            "config.yaml:1:16: `data.roles.pose`: \"odom\" is no topic; a topic begins with a slash",
        ),
    ] {
        assert_eq!(of_config(text), expected);
    }
}

#[test]
fn a_value_that_a_stronger_layer_replaces_is_not_an_error() {
    assert!(load(&[("config.yaml", "server: {port: 0}")], &[("MCP_PORT", "1")], &[]).is_ok());
}

#[test]
fn a_range_error_names_the_layer_it_came_from() {
    assert_eq!(
        message(&[], &[("MCP_PORT", "0")], &[]),
        "environment MCP_PORT: `server.port` is 0, but must be from 1 to 65535"
    );
    assert_eq!(
        message(&[], &[("MEMORY_CONFIG_OVERRIDES", "data.jitter_m=-1")], &[]),
        "environment MEMORY_CONFIG_OVERRIDES, override \"data.jitter_m=-1\": `data.jitter_m` is \
         -1, but must be from 0 to 1000000000"
    );
}

#[test]
fn a_key_twice_is_told_at_the_second() {
    assert_eq!(
        of_config("server:\n  port: 1\n  port: 2\n"),
        "config.yaml:3:3: the key `port` stands twice in one mapping"
    );
}

#[test]
fn secrets_are_refused_without_repeating_them() {
    for text in ["server: {token: hunter2}", "api_key: hunter2", "server:\n  Password: hunter2"] {
        let message = of_config(text);
        assert!(message.contains("pass it through the environment"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let message = message(&[], &[], &["+server.bearer_token=hunter2"]);
    assert!(message.starts_with("override \"+server.bearer_token=...\": "), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn interpolation_takes_the_environment_and_nothing_else() {
    let text = "server: {port: '${oc.env:P,9300}'}\nrecording:\n  bag_dir: ${oc.env:HOME}/bags\n";
    let files = [("config.yaml", text)];
    let loaded = load(&files, &[("HOME", "/home/r")], &[]).unwrap();
    assert_eq!(loaded.config.server.port, 9300);
    assert_eq!(loaded.config.recording.bag_dir, std::path::Path::new("/home/r/bags"));
    assert_eq!(
        message(&files, &[], &[]),
        "config.yaml:3:12: the environment variable HOME is not set; ${oc.env:HOME,default} would \
         give it a default"
    );
    assert_eq!(
        of_config("recording:\n  bag_dir: ${data.x}\n"),
        "config.yaml:2:12: `${data.x}` is not known; only ${oc.env:VAR} and \
         ${oc.env:VAR,default} are"
    );
    let loaded = load(&[], &[("N", "7")], &["data.max_array_length=${oc.env:N}"]).unwrap();
    assert_eq!(loaded.config.data.max_array_length, 7);
}

#[test]
fn the_grammar_of_overrides() {
    for (text, port) in [("server.port=1", 1), ("++server.port=2", 2), (" server.port = 3 ", 3)] {
        assert_eq!(load(&[], &[], &[text]).unwrap().config.server.port, port);
    }
    for (text, expected) in [
        ("server.port", "an override is written key=value"),
        ("+server.port=1", "`server.port` exists; write server.port=..., or ++server.port=..."),
        ("data.time_tolerance_per_topic_s./a=1", "does not exist yet; write +data."),
        ("~server.port=1", "~ goes back to the default and takes nothing more"),
        ("~recorder", "the group `recorder` always has a choice; write recorder=NAME"),
        ("~~server.port", "unknown key `~server`"),
        ("+~server.port", "~ goes back to the default"),
        ("+recorder=none", "a group is chosen with recorder=NAME alone"),
        ("recorder=[none]", "takes the name of a file in recorder/"),
        ("=5", "a key is names separated by dots"),
        ("server..port=5", "a key is names separated by dots"),
        ("", "an override is written key=value"),
        ("~", "a key is names separated by dots"),
        ("server.port=[", "unclosed bracket"),
        ("server.port=", "found the text \"\""),
        ("server=5", "expects a mapping"),
        ("server.port.x=5", "expects a whole number"),
        ("~server.prot", "did you mean `server.port`?"),
        ("data.time_tolerance_per_topic_s=5", "expects a mapping of topics to seconds"),
        ("+data.time_tolerance_per_topic_s.odom=5", "a topic begins with a slash"),
    ] {
        let message = message(&[], &[], &[text]);
        assert!(message.starts_with(&format!("override \"{}\": ", text.trim())), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_tilde_goes_back_to_the_shipped_default() {
    let files = [(
        "config.yaml",
        "server: {port: 5}\nretention: {enabled: true, max_age_h: 1}\n\
         data: {now: wall, time_tolerance_per_topic_s: {/a: 1, /b: 2}, roles: /odom}",
    )];
    let overrides = [
        "recorder=none",
        "~server.port",
        "~retention",
        "~data.now",
        "~data.time_tolerance_per_topic_s./a",
        "~data.roles",
    ];
    let loaded = load(&files, &[], &overrides).unwrap();
    let shipped = load(&[], &[], &["recorder=none"]).unwrap();
    assert_eq!(loaded.config.server, shipped.config.server);
    assert_eq!(loaded.config.retention, shipped.config.retention, "that of recorder=none");
    assert_eq!(loaded.config.data.now, shipped.config.data.now);
    assert_eq!(loaded.config.data.roles, shipped.config.data.roles);
    assert_eq!(loaded.config.data.time_tolerance_per_topic_s, [("/b".to_owned(), 2.0)]);
    for key in ["server.port", "retention.max_age_h", "data.now", "data.roles.pose"] {
        assert_eq!(loaded.origins.get(key), shipped.origins.get(key), "{key}");
    }
    let loaded = load(&files, &[], &["~data"]).unwrap();
    assert!(loaded.config.data.time_tolerance_per_topic_s.is_empty());
}

#[test]
fn a_line_of_overrides_that_does_not_close_is_told() {
    assert_eq!(
        message(&[], &[("MEMORY_CONFIG_OVERRIDES", "a=[1")], &[]),
        "environment MEMORY_CONFIG_OVERRIDES: a bracket does not close"
    );
}

#[test]
fn defaults_lists_are_checked() {
    for (text, expected) in [
        ("defaults: mcap", "1:11: `defaults` expects a list such as"),
        ("defaults: [mcap]", "1:12: an entry is `_self_` or `group: option`"),
        ("defaults: [_self_, _self_]", "1:20: `_self_` stands twice"),
        ("defaults: [storage: mcap, storage: rosbag2]", "the group `storage` stands twice"),
        ("defaults: [storge: mcap]", "unknown key `defaults.storge`, did you mean `storage`?"),
        ("defaults: [storage: null]", "expects the name of a file in storage/"),
        ("defaults: [storage: ../x]", "expects the name of a file in storage/"),
        ("defaults: [{storage: mcap, recorder: none}]", "an entry is `_self_`"),
    ] {
        let message = of_config(text);
        assert!(message.starts_with("config.yaml:1:"), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    let group = [("storage/mcap.yaml", "defaults: []\nstorage: {kind: mcap}")];
    assert!(message(&group, &[], &[]).contains("only config.yaml and the files in deployment/"));
    let preset = [("deployment/p.yaml", "defaults: [recorder: none]")];
    assert!(
        message(&preset, &[("MEMORY_DEPLOYMENT", "p")], &[])
            .contains("a preset changes a choice with `override recorder: option`")
    );
}

#[test]
fn topics_are_checked() {
    for (text, expected) in [
        ("", "1:1: `topics.yaml` expects a mapping with the keys topics, exclude, found nothing"),
        ("- /odom", "1:1: `topics.yaml` expects a mapping"),
        ("exclude: [/a]", "`topics` expects a list of topics"),
        ("topics: /odom", "1:9: `topics` expects a list of topics, found the text"),
        ("topic: [/a]", "1:1: unknown key `topic`, did you mean `topics`?"),
        ("topics: [/a, odom]", "1:14: `topics`: \"odom\" is no topic; a topic begins with a slash"),
        ("topics: [/a//b]", "is no topic"),
        ("topics: [/]", "is no topic"),
        ("topics: [/a b]", "is no topic"),
        ("topics:\n  - /a\n  - /a\n", "3:5: `topics`: /a stands twice"),
        ("topics: [5]", "1:10: `topics` expects a topic, found the whole number 5"),
    ] {
        let message = message(&[("topics.yaml", text)], &[], &[]);
        assert!(message.starts_with("topics.yaml:"), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn message_schemas_are_checked() {
    for (text, expected) in [
        ("schema: {}", "1:1: unknown key `schema`, did you mean `schemas`?"),
        ("- a", "1:1: `message_schemas.yaml` expects a mapping"),
        (
            "schemas: {Odometry: {a: b}}",
            "1:11: `schemas.Odometry`: a type is written package/msg/Name",
        ),
        ("schemas: {a/msg/B: {c: d..e}}", "1:24: `schemas.a/msg/B.c`: \"d..e\" is no field path"),
        ("schemas: {a/msg/B: {c: [d]}}", "expects a field path such as pose.pose.position"),
        ("schemas: {a/msg/B: c}", "`schemas.a/msg/B` expects a mapping"),
        ("index: {a/msg/B: {lables: c}}", "unknown key `lables`, did you mean `labels`?"),
        ("index: {a/msg/B: {labels: [c, 5]}}", "expects a field path"),
        ("index: {a/msg/B: {position: 'c['}}", "is no field path"),
    ] {
        let message = message(&[("message_schemas.yaml", text)], &[], &[]);
        assert!(message.starts_with("message_schemas.yaml:1:"), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn files_that_are_none_are_named() {
    let long = format!("# {}\n", "x".repeat(1 << 20));
    assert!(of_config(&long).starts_with("config.yaml: longer than 1048576 bytes"));
    let dir = folder(&[("config.yaml/inner", "")]);
    let error = with_source(&load_from(Some(dir.path()), &[], &[]).unwrap_err());
    assert!(error.ends_with("config.yaml: cannot be read: not a regular file"), "{error}");
    let dir = folder(&[]);
    std::fs::write(dir.path().join("topics.yaml"), b"topics: [\xff]").unwrap();
    let error = load_from(Some(dir.path()), &[], &[]).unwrap_err().to_string();
    assert!(error.contains("topics.yaml: cannot be read"), "{error}");
}

#[test]
fn odd_texts_load_or_fail_with_a_place() {
    let deep_flow = "[".repeat(5_000);
    let deep_map = "{a: ".repeat(5_000);
    let deep_block = (0..500).fold(String::new(), |text, depth| text + &" ".repeat(depth) + "a:\n");
    let mut bomb = "a: &a [1,2,3,4,5,6,7,8,9,0]\n".to_owned();
    for (from, to) in ["ab", "bc", "cd", "de", "ef"].map(|pair| pair.split_at(1)) {
        let alias = format!("*{from},").repeat(10);
        bomb.push_str(&[to, ": &", to, " [", &alias, "]\n"].concat());
    }
    let many = "a: 1\n".repeat(20_000);
    let texts = [
        ("", true),
        ("\n\n \n", true),
        ("# only a comment", true),
        ("---\n...\n", true),
        ("null", true),
        ("~", true),
        ("{}", true),
        ("\u{feff}server: {port: 5}", true),
        ("server:\nreader:\n", true),
        ("server: &s {port: 5}", true),
        ("\tserver: 5", false),
        ("server:\n\tport: 5", false),
        ("- a\n- b", false),
        ("just text", false),
        ("5", false),
        ("server: {port: 999999999999999999999999999999999999999999999999}", false),
        ("server: {port: 340282366920938463463374607431768211455}", false),
        ("server: {port: -170141183460469231731687303715884105728}", false),
        ("data: {jitter_m: 1e999}", false),
        ("data: {jitter_m: .nan}", false),
        ("data: {jitter_m: -.inf}", false),
        ("server: {port: 5", false),
        ("server: \"open", false),
        ("a: b: c", false),
        ("? [a]\n: b", false),
        ("1: x\ntrue: y", false),
        ("a: *nobody", false),
        ("a: &a [*a]", false),
        ("x: &x {port: 1}\nserver:\n  <<: *x\n", false),
        ("a: 1\n---\nb: 2", false),
        ("%YAML 9.9\n---\na: 1", false),
        ("a: x\u{0}y", false),
        ("a: !!binary ////", false),
        ("server: !custom {port: [}", false),
        ("a: ${", false),
        ("\u{85}\u{2028}: \u{1F600}", false),
        (&deep_flow, false),
        (&deep_map, false),
        (&deep_block, false),
        (&bomb, false),
        (&many, false),
    ];
    for (text, is_fine) in texts {
        let shown: String = text.chars().take(60).collect();
        for file in ["config.yaml", "recorder/ros2bag.yaml", "topics.yaml", "message_schemas.yaml"]
        {
            match load(&[(file, text)], &[], &[]) {
                Ok(_) if file == "config.yaml" => assert!(is_fine, "{shown:?} loads"),
                Ok(_) => {}
                Err(error) => {
                    let error = error.to_string();
                    assert!(!is_fine || file != "config.yaml", "{shown:?}: {error}");
                    let (_, place) = error
                        .split_once(&format!("{file}:"))
                        .unwrap_or_else(|| panic!("{shown:?} in {file} fails elsewhere: {error}"));
                    let line = place.split(':').next().unwrap().parse::<u64>();
                    assert!(line.is_ok_and(|line| line > 0), "{error}");
                }
            }
        }
        // The same as the value of an override, and as the environment.
        let _outcome = load(&[], &[], &[&format!("server={text}")]);
        let _outcome = load(&[], &[("MEMORY_CONFIG_OVERRIDES", text), ("MCP_PORT", text)], &[]);
    }
}

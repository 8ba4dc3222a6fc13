use std::collections::BTreeSet;

use serde_json::Value;

use super::{demo, program, run, stderr, stdout, write};

#[test]
fn a_question_is_answered_on_standard_output_alone() {
    let output = run(&[
        "query",
        "get_position_seconds_ago",
        "--seconds_ago",
        "10",
        "--bag-dir",
        demo(),
        "-o",
        "recorder=none",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let reply: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(reply["x"].is_f64() && reply["frame"] == "odom", "{reply}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn an_explained_question_says_which_index_answered_and_what_was_passed_over() {
    let output = run(&[
        "query",
        "--explain",
        "find_last_match",
        "--topic",
        "/odom",
        "--condition_type",
        "near_position",
        "--value",
        r#"{"x": 1e6, "y": 1e6}"#,
        "--bag-dir",
        demo(),
        "-o",
        "recorder=none",
    ]);
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "null"));
    let told = stderr(&output);
    assert!(told.starts_with("index: cells of positions; bags passed over: "), "{told}");
    assert!(told.contains(", opened: 0; chunks read: 0, 0.000 MB inflated"), "{told}");
}

#[test]
fn no_data_is_an_answer_and_a_bad_argument_is_not() {
    let query = |words: &[&str]| {
        let mut all = vec!["query"];
        all.extend(words);
        all.extend(["--bag-dir", demo(), "-o", "recorder=none"]);
        let output = run(&all);
        let reply: Value = serde_json::from_str(&stdout(&output)).unwrap();
        (output.status.code(), reply["error"].as_str().unwrap_or_default().to_owned())
    };
    let at = ["get_position_at", "--timestamp", "1000"];
    assert_eq!(query(&at), (Some(0), "no_data".to_owned()));
    let reversed = ["trajectory_summary", "--start", "now", "--end", "-10s"];
    assert_eq!(query(&reversed), (Some(2), "bad_argument".to_owned()));
    let unknown = ["get_topic_at_time", "--topic", "/odmo", "--timestamp", "now"];
    assert_eq!(query(&unknown), (Some(2), "unknown_topic".to_owned()));
}

#[test]
fn an_unknown_tool_names_the_tools_that_there_are() {
    let output = run(&["query", "get_positoin"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("get_position_at"), "{}", stderr(&output));
}

#[test]
fn info_has_the_fields_of_ros2_bag_info_in_its_order() {
    let output = run(&["info", demo()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let names = [
        "Files:",
        "Bag size:",
        "Storage id:",
        "ROS Distro:",
        "Duration:",
        "Start:",
        "End:",
        "Messages:",
        "Topic information:",
    ];
    let places: Vec<_> = names.iter().map(|name| text.find(name).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(text.contains("Topic: /odom | Type: nav_msgs/msg/Odometry | Count: "), "{text}");
    let json: Value = serde_json::from_str(&stdout(&run(&["info", "--json", demo()]))).unwrap();
    assert_eq!(json[0]["files"].as_array().unwrap().len(), 12);
}

#[test]
fn cat_writes_one_object_a_line_in_timeline_order() {
    let output = run(&["cat", demo(), "--topics", "/odom", "/estop", "--start", "-2s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!((38..=42).contains(&lines.len()), "{}", lines.len());
    let keys: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    let expected =
        ["topic", "type", "log_time_ns", "publish_time_ns", "sequence", "encoding", "data"];
    assert_eq!(keys, expected);
    let times: Vec<u64> =
        lines.iter().map(|line| line["log_time_ns"].as_str().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted());
    assert!(lines[0]["data"]["pose"]["pose"]["position"]["x"].is_f64());
}

#[test]
fn losses_are_told_and_give_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder =
        std::fs::read_dir(demo()).unwrap().flatten().find(|e| e.path().is_dir()).unwrap();
    let bag = std::fs::read_dir(run_folder.path())
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .find(|path| path.to_str().unwrap().ends_with("_3.mcap"))
        .unwrap();
    std::fs::copy(&bag, folder.path().join("good.mcap")).unwrap();
    write(&folder.path().join("bad.mcap"), "this is no recording");
    let output = run(&["info", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("bad.mcap") && stdout(&output).contains("good.mcap"));
    let nowhere = run(&["info", "/nowhere/at/all.mcap"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(stderr(&nowhere).contains("/nowhere/at/all.mcap"));
}

#[test]
fn a_wrong_setting_names_file_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    write(&file, "data:\n  max_array_lenght: 5\n");
    let output = run(&["config", "check", "--config", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("config.yaml:2:3") && said.contains("max_array_length"), "{said}");
    let shipped = run(&["config", "check", "-o", "recorder=none"]);
    assert_eq!(shipped.status.code(), Some(0), "{}", stderr(&shipped));
}

#[test]
fn index_says_what_it_did_and_the_second_time_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("demo");
    let dir = dir.to_str().unwrap();
    assert!(run(&["demo", "--write-only", "--hours", "0.01", "--dir", dir]).status.success());
    let first = stdout(&run(&["index", "--bag-dir", dir]));
    assert!(first.starts_with("4 bags") && first.contains("4 bags were gone over"), "{first}");
    let second = stdout(&run(&["index", "--bag-dir", dir]));
    assert!(second.contains("; 0 bags were gone over"), "{second}");
    let rebuilt = stdout(&run(&["index", "--rebuild", "--bag-dir", dir]));
    assert!(rebuilt.contains("; 4 bags were gone over"), "{rebuilt}");
}

#[test]
fn the_demo_is_the_same_for_the_same_seed_and_start() {
    let folder = tempfile::tempdir().unwrap();
    let write_to = |name: &str| {
        let dir = folder.path().join(name);
        let output = run(&[
            "demo",
            "--write-only",
            "--hours",
            "0.01",
            "--seed",
            "7",
            "--start",
            "2026-11-30T10:00:00Z",
            "--dir",
            dir.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let run = std::fs::read_dir(&dir).unwrap().flatten().find(|e| e.path().is_dir()).unwrap();
        std::fs::read_dir(run.path())
            .unwrap()
            .flatten()
            .map(|e| (e.file_name(), std::fs::read(e.path()).unwrap()))
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(write_to("a"), write_to("b"));
}

#[test]
fn a_folder_that_holds_something_else_is_no_place_for_a_demo() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("thesis.txt"), "years of work");
    let output = run(&["demo", "--write-only", "--dir", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(folder.path().join("thesis.txt").is_file());
}

#[test]
fn a_closed_pipe_ends_cat_quietly() {
    let mut child = program(&["cat", demo()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

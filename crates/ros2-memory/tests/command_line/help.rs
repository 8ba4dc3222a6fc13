use super::{run, stdout};

#[test]
fn help_texts_are_as_they_were_agreed() {
    let commands = [
        vec![],
        vec!["serve"],
        vec!["index"],
        vec!["query"],
        vec!["info"],
        vec!["cat"],
        vec!["doctor"],
        vec!["config"],
        vec!["config", "check"],
        vec!["config", "show"],
        vec!["demo"],
    ];
    for mut words in commands {
        let name = if words.is_empty() { "program".to_owned() } else { words.join("-") };
        words.push("--help");
        let output = run(&words);
        assert!(output.status.success());
        insta::assert_snapshot!(name, stdout(&output));
    }
}

#[test]
fn the_version_is_one_line() {
    let text = stdout(&run(&["--version"]));
    assert_eq!(text, format!("ros2-memory {}\n", env!("CARGO_PKG_VERSION")));
}

//! Whatever a caller gives, every tool answers or says in words what is wrong.

#![cfg(test)]

mod common;
#[path = "common/demo.rs"]
mod demo;

use std::collections::BTreeMap;

use ros2_memory_query::{
    ErrorCode, Memory,
    tools::{Argument, ArgumentKind, TOOLS, ToolSpec},
};
use serde_json::{Map, Value, json};

use self::{
    common::{call, memory_over},
    demo::{START_NS, write_demo},
};

/// Every code that a caller may meet; `internal` is none of them.
const CODES: [&str; 10] = [
    "no_data",
    "unknown_frame",
    "not_connected",
    "extrapolation",
    "reparented",
    "timeout",
    "busy",
    "unknown_topic",
    "bad_argument",
    "decode_failed",
];
const MAX_WORDS_CHARS: usize = 2_000;
/// Length of the recorded history.
const DURATION_S: u64 = 60;

/// What an argument is set to, and whether that has to be refused as `bad_argument`.
struct Probe {
    /// `None` leaves the argument out.
    value: Option<Value>,
    must_refuse: bool,
}

fn refused(value: Value) -> Probe {
    Probe { value: Some(value), must_refuse: true }
}

/// May be answered, or refused for any reason.
fn taken(value: Value) -> Probe {
    Probe { value: Some(value), must_refuse: false }
}

#[derive(Debug, Default)]
struct Tally {
    calls: usize,
    outcomes: BTreeMap<String, usize>,
    problems: Vec<String>,
}

impl Tally {
    fn ask(&mut self, memory: &Memory, tool: &str, arguments: &Value, must_refuse: bool) {
        let reply = call(memory, tool, arguments);
        self.calls += 1;
        let outcome = reply.error.map_or("answer", ErrorCode::as_str);
        *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
        let mut problem = problem_of(&reply.value, reply.error);
        if must_refuse && reply.error != Some(ErrorCode::BadArgument) {
            problem.get_or_insert_with(|| "is not refused as bad_argument".to_owned());
        }
        if let Some(problem) = problem {
            let short = |value: &Value| value.to_string().chars().take(400).collect::<String>();
            let (arguments, value) = (short(arguments), short(&reply.value));
            self.problems.push(format!("{tool} {arguments}\n  {problem}: {value}"));
        }
    }
}

/// What is wrong with a reply, whatever was asked.
fn problem_of(value: &Value, error: Option<ErrorCode>) -> Option<String> {
    let text = value.to_string();
    let machine =
        [env!("CARGO_MANIFEST_DIR").to_owned(), tempfile::env::temp_dir().display().to_string()];
    if let Some(path) = machine.iter().find(|path| text.contains(*path)) {
        return Some(format!("shows {path}"));
    }
    if text.len() > 200_000 {
        return Some(format!("has {} bytes", text.len()));
    }
    let code = value.get("error").map(|code| code.as_str().unwrap_or_default());
    let Some(code) = code else {
        return error.map(|error| format!("is {error:?} without saying so"));
    };
    if !CODES.contains(&code) || Some(code) != error.map(ErrorCode::as_str) {
        return Some(format!("has the code {code:?}, and is {error:?}"));
    }
    for (key, is_needed) in [("detail", true), ("hint", false)] {
        match value.get(key) {
            Some(Value::String(words)) => {
                let chars = words.chars().count();
                if chars == 0 || chars > MAX_WORDS_CHARS {
                    return Some(format!("has a {key} of {chars} characters"));
                }
                if words.chars().any(char::is_control) {
                    return Some(format!("has control characters in its {key}"));
                }
            }
            None if !is_needed => {}
            _ => return Some(format!("has no {key}")),
        }
    }
    None
}

/// Arguments that every tool answers, once for each kind of condition.
fn good_arguments(memory: &Memory, tool: &ToolSpec) -> Vec<Map<String, Value>> {
    let start_s = START_NS / 1_000_000_000;
    let conditions = [
        ("contains", "/vision/scene/scene_objects", json!("plant"), None),
        ("equals", "/estop", json!(true), Some("data")),
        ("near_position", "/odom", json!({"x": 1.0, "y": 2.0}), None),
    ];
    let is_search = tool.arguments.iter().any(|it| it.kind == ArgumentKind::ConditionType);
    let n_kinds = if is_search { conditions.len() } else { 1 };
    conditions
        .iter()
        .take(n_kinds)
        .map(|(kind, topic, value, field)| {
            let of = |name: &str| match name {
                "topic" if is_search => json!(topic),
                "condition_topic" => json!(topic),
                "topic" | "value_topic" => json!("/odom"),
                "timestamp" => json!(start_s + 20),
                "seconds_ago" | "seconds" => json!(10),
                "start" => json!(start_s + 10),
                "end" => json!(start_s + 40),
                "tolerance_s" | "tolerance_m" => json!(0.5),
                "max_samples" => json!(20),
                "max_bytes" => json!(20_000),
                "parent" => json!("map"),
                "child" => json!("base_link"),
                "condition_type" => json!(kind),
                "value" => value.clone(),
                "field" if is_search => json!(field),
                "field" => json!("pose.pose.position.x"),
                "label" | "labels" => json!("plant"),
                "like" => json!("e"),
                "min_score" => json!(0.1),
                "before" => json!(start_s + 50),
                "limit" => json!(5),
                "method" => json!("minmax"),
                "buckets" => json!(4),
                "max_gap_s" => json!(3),
                "area" => json!({"x": 1.0, "y": 2.0, "radius": 50}),
                "robot_state" => json!({
                    "topic": "/odom", "condition_type": "above", "value": -1,
                    "field": "twist.twist.linear.x",
                }),
                "handle" => {
                    let listed = call(memory, "list_labels", &json!({}));
                    let label = &listed.value["labels"][0]["label"];
                    let seen = call(memory, "last_seen", &json!({"label": label}));
                    let handle = &seen.value["evidence"]["handle"];
                    handle.as_str().map_or(json!("a1b2c3.abcdef"), |handle| json!(handle))
                }
                unknown => panic!("the test knows no good {unknown}"),
            };
            tool.arguments.iter().map(|it| (it.name.to_owned(), of(it.name))).collect()
        })
        .collect()
}

/// Values that are neither a number nor the text of one.
fn not_numbers() -> Vec<Value> {
    let texts = ["", " ", "abc", "NaN", "nan", "inf", "-inf", "infinity", "1e999", "0x10", "1,5"];
    let others = [json!(true), json!([1]), json!([]), json!({"a": 1}), json!({}), deep()];
    let texts = texts.map(str::to_owned).into_iter().chain([long(), control(), escaped()]);
    texts.map(Value::from).chain(others).collect()
}

fn long() -> String {
    "x".repeat(10_000)
}

fn control() -> String {
    "\u{0}\n\r\t\u{1b}[31m\u{7f}\u{85}".repeat(10)
}

/// A text within every limit, whose escaped form is several times as long.
fn escaped() -> String {
    "\u{1}".repeat(1_000)
}

fn deep() -> Value {
    (0..100).fold(json!(1), |inner, n| match n % 2 {
        0 => json!([inner]),
        _ => json!({"x": inner}),
    })
}

fn probes(argument: &Argument, condition: &str) -> Vec<Probe> {
    let must_refuse = argument.is_required;
    let mut probes =
        vec![Probe { value: None, must_refuse }, Probe { value: Some(Value::Null), must_refuse }];
    probes.extend(match argument.kind {
        ArgumentKind::Time => times(),
        ArgumentKind::Number => numbers(),
        ArgumentKind::Count => counts(),
        ArgumentKind::Text => texts(false),
        ArgumentKind::ConditionType | ArgumentKind::Method => texts(true),
        ArgumentKind::Object => objects(),
        ArgumentKind::Any => values(condition),
    });
    probes
}

/// None of them has the parts that any object needs.
fn objects() -> Vec<Probe> {
    let others = [json!([]), json!({"x": "a"}), json!({"unknown": 1}), json!(r#"{"a":"#), deep()];
    not_numbers().into_iter().chain(others).map(refused).collect()
}

fn times() -> Vec<Probe> {
    let no_times = [
        json!(1e308),
        json!(-1e308),
        json!(-1),
        json!(-0.5),
        json!(i64::MIN),
        json!("1969-12-31T23:59:59Z"),
        json!("2600-01-01T00:00:00Z"),
        json!("2025-06-15T15:06:40"),
        json!("2025-13-45T99:99:99Z"),
        json!("yesterday"),
        json!("--10s"),
        json!("-10 parsecs"),
        json!("-1e5s"),
        json!("99999999999999999999999999"),
        json!(1.9e19),
    ];
    let times = [
        json!(0),
        json!(5e-324),
        json!(u64::MAX),
        json!("now"),
        json!("-0s"),
        json!("-999999999999d"),
        json!("1970-01-01T00:00:00Z"),
        json!("2554-07-21T23:34:33Z"),
        json!("18446744073709551615"),
        json!(" 1750000020 "),
    ];
    not_numbers().into_iter().chain(no_times).map(refused).chain(times.map(taken)).collect()
}

fn numbers() -> Vec<Probe> {
    let negative = [json!(-1), json!(-1e308), json!(-1e-300), json!("-1"), json!(i64::MIN)];
    let large = [json!(1e308), json!("1e308"), json!(u64::MAX)];
    let small = [json!(0), json!(-0.0), json!(" 5 ")];
    let refusals = not_numbers().into_iter().chain(negative).map(refused);
    refusals.chain(large.into_iter().chain(small).map(taken)).collect()
}

fn counts() -> Vec<Probe> {
    let no_counts = [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("1.5"),
        json!(1e18),
        json!(1e308),
        json!(u64::MAX),
        json!(i64::MIN),
    ];
    let counts = [json!(1), json!("7"), json!(2.0)];
    not_numbers().into_iter().chain(no_counts).map(refused).chain(counts.map(taken)).collect()
}

/// Texts are refused when they are too long, or are none of the words that there are.
fn texts(is_one_of_few: bool) -> Vec<Probe> {
    let no_texts = [
        json!(true),
        json!(5),
        json!(1.5),
        json!([1]),
        json!(["/odom"]),
        json!({"a": 1}),
        deep(),
        json!(""),
        json!(" \t\n"),
        json!(long()),
    ];
    let texts = [
        &*control(),
        &escaped(),
        "/nothing/like/that",
        "NaN",
        "*",
        "**",
        "/**",
        "/[",
        "{a,b",
        "\\",
        "a..b",
        "pose[",
        "pose[].x",
        "pose.pose.position",
        "$(id)",
        "\u{202e}\u{1f4a9}\u{0301}",
        "' OR 1=1 --",
    ]
    .map(|text| Probe { value: Some(json!(text)), must_refuse: is_one_of_few });
    no_texts.map(refused).into_iter().chain(texts).collect()
}

/// What a condition is compared with.
fn values(condition: &str) -> Vec<Probe> {
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let texts = [&*long(), &control(), "NaN", "[", "{\"x\": 1", "null", "\u{1f4a9}", &nested];
    let always: Vec<Value> = texts.into_iter().map(Value::from).collect();
    match condition {
        "contains" => {
            let no_text =
                [json!([1]), json!([]), json!({}), json!({"x": 1, "y": 2}), json!(""), deep()];
            let some = [json!(true), json!(0), json!(1e308), json!(-1), json!(u64::MAX)];
            no_text
                .map(refused)
                .into_iter()
                .chain(some.map(taken))
                .chain(always.into_iter().map(taken))
                .collect()
        }
        "near_position" => {
            let no_place = [
                json!(true),
                json!(5),
                json!("here"),
                json!(""),
                json!([]),
                json!({}),
                json!({"x": 1}),
                json!({"x": "a", "y": "b"}),
                json!({"x": null, "y": null}),
                json!({"x": [1], "y": [2]}),
                json!({"x": "NaN", "y": 0}),
                deep(),
            ];
            let places = [json!({"x": 1e308, "y": -1e308}), json!({"x": 0, "y": 0, "z": 1e308})];
            no_place
                .map(refused)
                .into_iter()
                .chain(always.into_iter().map(refused))
                .chain(places.map(taken))
                .collect()
        }
        _ => {
            let some = [
                json!(false),
                json!(0),
                json!(1e308),
                json!(-1),
                json!(""),
                json!([1]),
                json!({}),
                deep(),
            ];
            some.into_iter().chain(always).map(taken).collect()
        }
    }
}

/// Asks every tool with every argument set to everything, one at a time.
fn ask_everything(memory: &Memory, is_recorded: bool) -> Tally {
    let mut tally = Tally::default();
    for tool in TOOLS {
        for good in good_arguments(memory, tool) {
            let condition = good.get("condition_type").and_then(Value::as_str).unwrap_or_default();
            for argument in tool.arguments {
                for probe in probes(argument, condition) {
                    let mut arguments = good.clone();
                    match probe.value {
                        Some(value) => arguments.insert(argument.name.to_owned(), value),
                        None => arguments.remove(argument.name),
                    };
                    let must_refuse = probe.must_refuse && is_recorded;
                    tally.ask(memory, tool.name, &Value::Object(arguments), must_refuse);
                }
            }
            for name in ["extra", "Topic", "", "__proto__", "\u{0}", &"n".repeat(10_000)] {
                let mut arguments = good.clone();
                arguments.insert(name.to_owned(), json!(1));
                tally.ask(memory, tool.name, &Value::Object(arguments), true);
            }
            if good.contains_key("start") {
                let start_s = START_NS / 1_000_000_000;
                for (start, end) in [
                    (json!(start_s + 40), json!(start_s + 10)),
                    (json!(start_s + 10), json!((START_NS + 9_999_999_999).to_string())),
                    (json!("now"), json!("-10s")),
                    (json!("2554-01-01T00:00:00Z"), json!("1970-01-01T00:00:00Z")),
                ] {
                    let mut arguments = good.clone();
                    arguments.insert("start".to_owned(), start);
                    arguments.insert("end".to_owned(), end);
                    tally.ask(memory, tool.name, &Value::Object(arguments), true);
                }
            }
        }
    }
    for name in ["", "nothing", "LIST_FRAMES", "\u{0}\n", "/", &"t".repeat(10_000)] {
        tally.ask(memory, name, &json!({}), true);
    }
    tally
}

impl Tally {
    fn show(&self, what: &str) {
        println!("{what}: {} calls", self.calls);
        for (outcome, count) in &self.outcomes {
            println!("  {outcome:<16} {count:>6}");
        }
        let shown: Vec<&str> = self.problems.iter().take(20).map(String::as_str).collect();
        assert!(shown.is_empty(), "{} problems\n{}", self.problems.len(), shown.join("\n"));
        assert!(self.calls > 500);
    }
}

#[test]
fn every_reply_is_an_answer_or_a_code_of_the_list() {
    let dir = tempfile::tempdir().unwrap();
    write_demo(dir.path(), 7, DURATION_S);
    let memory = memory_over(dir.path());
    for tool in TOOLS {
        for good in good_arguments(&memory, tool) {
            let reply = call(&memory, tool.name, &Value::Object(good.clone()));
            assert_eq!(reply.error, None, "{} {good:?}: {}", tool.name, reply.value);
        }
    }
    let tally = ask_everything(&memory, true);
    tally.show("a recorded minute");
    assert!(tally.outcomes["answer"] > 100, "most questions must not be refused for one reason");
}

#[test]
fn an_empty_directory_answers_the_same_questions_with_a_code_of_the_list() {
    let dir = tempfile::tempdir().unwrap();
    ask_everything(&memory_over(dir.path()), false).show("nothing recorded");
}

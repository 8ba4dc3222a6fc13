//! Small cases whose answers were worked out by hand.

use super::*;
use crate::{
    bags::Layout,
    content::Detection,
    payload::ByteOrder,
    random_sets::{SetBag, SetChannel, SetMessage, SetTopic},
};

const SPEECH: usize = 0;
const SPEED: usize = 1;

fn text(log_time_ns: u64, text: &str) -> SetMessage {
    message(SPEECH, log_time_ns, Content::Text(text.into()))
}

fn number(log_time_ns: u64, number: f64) -> SetMessage {
    message(SPEED, log_time_ns, Content::Number(number))
}

fn message(topic: usize, log_time_ns: u64, content: Content) -> SetMessage {
    SetMessage {
        channel: u16::try_from(topic).unwrap(),
        topic,
        log_time_ns,
        publish_time_ns: 0,
        sequence: 0,
        content,
        order: ByteOrder::Little,
    }
}

fn bag(path: &str, messages: Vec<SetMessage>) -> SetBag {
    let channels = vec![SetChannel { id: 0, topic: SPEECH }, SetChannel { id: 1, topic: SPEED }];
    SetBag { path: path.into(), layout: Layout::default(), channels, messages }
}

fn set(bags: Vec<SetBag>) -> RandomSet {
    let topic = |name: &str, kind| SetTopic { name: name.into(), kind, latched: false };
    let topics = vec![topic("/speech", Kind::Text), topic("/speed", Kind::Number)];
    RandomSet { seed: 0, topics, bags }
}

fn text_of(known: Option<Known<'_>>) -> Option<&str> {
    match known?.content {
        Content::Text(text) => Some(text),
        _ => None,
    }
}

#[test]
fn the_message_at_or_before_is_the_latest_one_not_after() {
    let set = set(vec![bag("a", vec![text(10, "ten"), text(30, "thirty"), text(20, "twenty")])]);
    let oracle = Oracle::new(&set);
    assert_eq!(text_of(oracle.at("/speech", 29, 100)), Some("twenty"));
    assert_eq!(text_of(oracle.at("/speech", 30, 0)), Some("thirty"));
    assert_eq!(text_of(oracle.at("/speech", 9, 100)), None);
}

#[test]
fn the_tolerance_is_inclusive() {
    let set = set(vec![bag("a", vec![text(10, "ten")])]);
    let oracle = Oracle::new(&set);
    assert_eq!(text_of(oracle.at("/speech", 15, 5)), Some("ten"));
    assert_eq!(text_of(oracle.at("/speech", 16, 5)), None);
}

#[test]
fn of_equal_times_the_bag_that_started_later_is_last() {
    let early = bag("z", vec![number(1, 0.0), text(10, "early bag")]);
    let late = bag("a", vec![number(2, 0.0), text(10, "late bag")]);
    let set = set(vec![late, early]);
    assert_eq!(text_of(Oracle::new(&set).at("/speech", 10, 0)), Some("late bag"));
}

#[test]
fn of_bags_that_start_together_the_path_decides_and_then_the_position() {
    let b = bag("run/b", vec![text(10, "b first"), text(10, "b second")]);
    let a = bag("run/a", vec![text(10, "a first"), text(10, "a second")]);
    let set = set(vec![b, a]);
    let oracle = Oracle::new(&set);
    let all: Vec<_> =
        oracle.between("/speech", 10, 10).into_iter().map(|known| text_of(Some(known))).collect();
    assert_eq!(all, [Some("a first"), Some("a second"), Some("b first"), Some("b second")]);
    assert_eq!(text_of(oracle.at("/speech", 10, 0)), Some("b second"));
}

#[test]
fn a_range_holds_both_its_ends() {
    let set = set(vec![bag("a", vec![text(10, "x"), text(20, "y"), text(21, "z")])]);
    let oracle = Oracle::new(&set);
    assert_eq!(oracle.between("/speech", 10, 20).len(), 2);
    assert_eq!(oracle.between("/speech", 11, 19).len(), 0);
    assert_eq!(oracle.range(), Some((10, 21)));
}

#[test]
fn topics_are_counted_across_bags_and_silent_ones_left_out() {
    let set = set(vec![bag("a", vec![text(10, "x")]), bag("b", vec![text(7, "y")])]);
    let facts = TopicFacts {
        topic: "/speech",
        type_name: "std_msgs/msg/String",
        first_ns: 7,
        last_ns: 10,
        count: 2,
    };
    assert_eq!(Oracle::new(&set).topics(), [facts]);
    let empty = RandomSet { bags: Vec::new(), ..set };
    assert_eq!(Oracle::new(&empty).range(), None);
}

#[test]
fn contains_folds_case_and_takes_a_json_list_item_by_item() {
    let holds = |needle: &str, text: &str| {
        Condition::Contains(needle.into()).holds(&Content::Text(text.into()))
    };
    assert!(holds("\u{e4}PF", "zwei \u{c4}pfel"));
    assert!(holds("scis", r#"["cup","Scissors"]"#));
    assert!(!holds("cup\",\"", r#"["cup","Scissors"]"#));
    assert!(holds("cup\",\"", r#"not a list: "cup","Scissors""#));
    assert!(!holds("mug", "cup"));
}

#[test]
fn equals_takes_numbers_within_a_billionth_of_their_size() {
    let holds =
        |wanted: f64, number| Condition::EqualsNumber(wanted).holds(&Content::Number(number));
    assert!(holds(1_000_000.000_5, 1_000_000.0));
    assert!(!holds(1_000_000.002, 1_000_000.0));
    assert!(!holds(1.0, -1.0));
    assert!(!Condition::EqualsText("Cup".into()).holds(&Content::Text("cup".into())));
}

#[test]
fn near_looks_at_z_only_when_it_is_given() {
    let place = Place { x: 3.0, y: 4.0, z: 9.0 };
    let point = Content::Point { serial: 1, place };
    let near = |z, tolerance_m| Condition::Near { x: 0.0, y: 0.0, z, tolerance_m };
    assert!(near(None, 5.0).holds(&point));
    assert!(!near(None, 4.9).holds(&point));
    assert!(near(Some(9.0), 5.0).holds(&point));
    assert!(!near(Some(0.0), 5.0).holds(&point));
    let lost = Content::Point { serial: 1, place: Place { x: f64::NAN, ..place } };
    assert!(!near(None, 1e9).holds(&lost));
    let far = Place { x: 100.0, ..place };
    let seen = [far, place].map(|place| Detection { label: "cup".into(), place }).to_vec();
    assert!(near(None, 5.0).holds(&Content::Detections { serial: 1, seen }));
}

#[test]
fn the_last_match_is_the_newest_in_the_timeline_not_in_the_file() {
    let set = set(vec![bag("a", vec![text(30, "cup #1"), text(10, "cup #2"), text(40, "mug #3")])]);
    let oracle = Oracle::new(&set);
    let cup = Condition::Contains("cup".into());
    assert_eq!(text_of(oracle.last_match("/speech", &cup)), Some("cup #1"));
    assert!(oracle.last_match("/speech", &Condition::Contains("zebra".into())).is_none());
}

#[test]
fn a_match_without_a_value_gives_way_to_the_next_older_one() {
    let messages =
        vec![number(10, 1.0), number(20, 2.0), text(21, "cup"), text(50, "cup"), number(51, 3.0)];
    let set = set(vec![bag("a", messages)]);
    let oracle = Oracle::new(&set);
    let cup = Condition::Contains("cup".into());
    let ValueWhen::Found { value, matched, newer_matches } =
        oracle.value_when("/speed", "/speech", &cup, 5)
    else {
        panic!("the match at 21 has the value of 20");
    };
    assert_eq!((value.log_time_ns, matched.log_time_ns, newer_matches), (20, 21, 1));
    assert!(matches!(oracle.value_when("/speed", "/speech", &cup, 0), ValueWhen::NoValue(2)));
    let zebra = Condition::Contains("zebra".into());
    assert!(matches!(oracle.value_when("/speed", "/speech", &zebra, 5), ValueWhen::NoMatch));
}

//! Every tool, in the order in which clients list them.

use super::{Argument, ArgumentKind as Kind, ToolSpec};
use crate::answers::{
    expand::expand,
    explain_gap::explain_gap,
    find_sightings::{MAX_INTERVALS, Where, find_sightings},
    intervals::{MAX_GAP_NS, find_intervals},
    labels::list_labels,
    last_seen::last_seen,
    matching::{find_last_match, value_when},
    memory_card::memory_card,
    motion::{position, velocity},
    nearest::topic_at,
    range::topic_in,
    statistics::{MAX_BUCKETS, statistics},
    thin::Number,
    topics::{data_time_range, list_recorded_topics},
    trajectory::summary,
    transform::{list_frames, transform},
};

const fn required(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    Argument { name, kind, is_required: true, description }
}

const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    Argument { name, kind, is_required: false, description }
}

const TOPIC: Argument = required("topic", Kind::Text, "Name or glob, such as /odom");
const TIMESTAMP: Argument = required("timestamp", Kind::Time, "Unix seconds, or \"-10s\"");
const SECONDS_AGO: Argument = required("seconds_ago", Kind::Number, "");
const SECONDS: Argument = required("seconds", Kind::Number, "How far back");
const START: Argument = required("start", Kind::Time, "Unix seconds, or \"-60s\"");
const END: Argument = required("end", Kind::Time, "Unix seconds, or \"now\"");
const TOLERANCE_S: Argument =
    optional("tolerance_s", Kind::Number, "How much older a message may be; default 0.1");
const MAX_SAMPLES: Argument = optional("max_samples", Kind::Count, "Default 100");
const METHOD: Argument = optional(
    "method",
    Kind::Method,
    "Default stride; minmax keeps peaks of `field`, lttb its shape",
);
const NUMBER: Argument = optional("field", Kind::Text, "Path of a number");
const LIMIT: Argument = optional("limit", Kind::Count, "Default 20");
const PARENT: Argument = required("parent", Kind::Text, "Frame to express it in, such as map");
const CHILD: Argument = required("child", Kind::Text, "Frame to place, such as base_link");
const CONDITION_TYPE: Argument = required("condition_type", Kind::ConditionType, "");
const VALUE: Argument = required(
    "value",
    Kind::Any,
    "contains: text. equals: text, number or boolean. near_position: {\"x\":1,\"y\":2}",
);
const FIELD: Argument =
    optional("field", Kind::Text, "Field path to compare, such as pose.pose.position.x");
const TOLERANCE_M: Argument =
    optional("tolerance_m", Kind::Number, "For near_position; default 0.5");

const OPTIONAL_START: Argument = optional("start", Kind::Time, "");
const OPTIONAL_END: Argument = optional("end", Kind::Time, "");

/// The parts of an area.
const AREA: &[Argument] = &[
    required("x", Kind::Number, "metres"),
    required("y", Kind::Number, "metres"),
    required("radius", Kind::Number, "metres"),
];
/// The parts of a state.
const STATE: &[Argument] = &[TOPIC, CONDITION_TYPE, VALUE, FIELD, TOLERANCE_M];

/// On every tool: how long the reply may be.
pub(crate) const MAX_BYTES: &str = "max_bytes";
const BYTES: Argument = optional(MAX_BYTES, Kind::Count, "");

/// Every tool, in the order in which clients list them.
pub const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "memory_card",
        title: "What this memory holds",
        description: "About 1 KB of what is remembered: topics with their meaning, time range, labels \
                      most seen, gaps, frames, now. Call it first.",
        arguments: &[BYTES],
        answer: |query, _| memory_card(query),
    },
    ToolSpec {
        name: "last_seen",
        title: "When something was last seen",
        description: "\"When did you last see scissors, and where?\": {\"label\":\"scissors\"}. Time, \
                      age, score, the object's position and the robot's pose then, how long it was in \
                      sight, how often ever. When not seen: never_seen (with near labels), absent or \
                      not_recorded.",
        arguments: &[
            required("label", Kind::Text, ""),
            optional("min_score", Kind::Number, "0 to 1"),
            optional("before", Kind::Time, "Only sightings before this"),
            BYTES,
        ],
        answer: |query, given| {
            let before = given.optional_moment("before")?.map(|before| before.at);
            last_seen(query, given.text("label")?, given.optional_number("min_score")?, before)
        },
    },
    ToolSpec {
        name: "find_sightings",
        title: "When things were in sight together",
        description: "Intervals in which one message named all that is wanted, newest first: \
                      {\"labels\":\"person AND (door OR window) NOT cat\"}. `next` is the `end` for \
                      more.",
        arguments: &[
            required("labels", Kind::Text, "Labels with AND, OR, NOT, brackets"),
            optional("area", Kind::Object, "Where the robot was: {\"x\":1,\"y\":2,\"radius\":3}"),
            optional(
                "robot_state",
                Kind::Object,
                "What held then: {\"topic\",\"condition_type\",\"value\",\"field\"}",
            ),
            OPTIONAL_START,
            OPTIONAL_END,
            LIMIT,
            BYTES,
        ],
        answer: |query, given| {
            let limit = given.count("limit", 1000)?.unwrap_or(MAX_INTERVALS);
            let mut given_where = Where::default();
            if let Some(area) = given.object("area", AREA)? {
                let area = area.arguments();
                let radius_m = area.optional_number("radius")?.unwrap_or_default();
                given_where.area = Some((area.signed("x")?, area.signed("y")?, radius_m));
            }
            if let Some(state) = given.object("robot_state", STATE)? {
                given_where.state = Some(state.arguments().search(query, "topic")?);
            }
            let range = given.optional_range()?;
            find_sightings(query, given.text("labels")?, &given_where, range, limit)
        },
    },
    ToolSpec {
        name: "find_intervals",
        title: "When a condition held, and how long",
        description: "Stretches in which every message of a topic matched, newest first: \
                      {\"topic\":\"/battery_state\",\"condition_type\":\"below\",\"value\":0.2,\
                      \"field\":\"percentage\"}. start and end are messages that match, until is \
                      the next one. `next` is the `end` for more.",
        arguments: &[
            TOPIC,
            CONDITION_TYPE,
            VALUE,
            FIELD,
            TOLERANCE_M,
            OPTIONAL_START,
            OPTIONAL_END,
            optional("max_gap_s", Kind::Number, "A longer silence ends it; default 60"),
            LIMIT,
            BYTES,
        ],
        answer: |query, given| {
            let limit = given.count("limit", 1000)?.unwrap_or(MAX_INTERVALS);
            let search = given.search(query, "topic")?;
            let max_gap_ns = given.optional_span_ns("max_gap_s")?.unwrap_or(MAX_GAP_NS);
            find_intervals(query, &search, given.optional_range()?, max_gap_ns, limit)
        },
    },
    ToolSpec {
        name: "get_statistics",
        title: "A number summed up",
        description: "Of a number from start to end: count, min and max with their times, mean, \
                      std_dev, percentiles; with `buckets` also for each of so many equal parts, \
                      such as {\"topic\":\"/odom\",\"field\":\"twist.twist.linear.x\",\
                      \"start\":\"-1h\",\"end\":\"now\"}.",
        arguments: &[
            TOPIC,
            NUMBER,
            START,
            END,
            optional("buckets", Kind::Count, "Up to 200"),
            BYTES,
        ],
        answer: |query, given| {
            let n_buckets = given.count("buckets", MAX_BUCKETS)?.unwrap_or(0);
            let (window, number) = (given.window(query)?, Number::new(given.field()?));
            statistics(query, given.text("topic")?, number, window, n_buckets)
        },
    },
    ToolSpec {
        name: "list_labels",
        title: "What was seen at all",
        description: "The labels of everything seen, most often first, with counts and first and \
                      last times; `like` keeps those that contain a text.",
        arguments: &[OPTIONAL_START, OPTIONAL_END, optional("like", Kind::Text, ""), BYTES],
        answer: |query, given| {
            list_labels(query, given.optional_range()?, given.optional_text("like")?)
        },
    },
    ToolSpec {
        name: "explain_gap",
        title: "Why there is no answer",
        description: "Why data is missing in a time: before_the_first, recorder_off, deleted, \
                      damaged, topic_silent, not_configured, after_the_last. Use it after no_data.",
        arguments: &[optional("topic", Kind::Text, "Name or glob"), START, END, BYTES],
        answer: |query, given| {
            explain_gap(query, given.optional_text("topic")?, given.optional_range()?)
        },
    },
    ToolSpec {
        name: "expand",
        title: "The message behind an answer",
        description: "The whole message that a `handle` of a reply names.",
        arguments: &[required("handle", Kind::Text, "As in evidence"), BYTES],
        answer: |query, given| expand(query, given.text("handle")?),
    },
    ToolSpec {
        name: "list_recorded_topics",
        title: "List recorded topics",
        description: "What is recorded: each topic with its type, count and first and last time. \
                      Call it first when you do not know the topics.",
        arguments: &[BYTES],
        answer: |query, _| Ok(list_recorded_topics(query)),
    },
    ToolSpec {
        name: "data_time_range",
        title: "Recorded time range",
        description: "The earliest and latest recorded time, and the gaps between. Use it to see \
                      how far back the memory reaches.",
        arguments: &[BYTES],
        answer: |query, _| data_time_range(query),
    },
    ToolSpec {
        name: "get_topic_at_time",
        title: "Message at a time",
        description: "The newest message of a topic at a time or just before. no_data, with the \
                      nearest earlier and later times, when there is none within the tolerance.",
        arguments: &[TOPIC, TIMESTAMP, TOLERANCE_S, BYTES],
        answer: |query, given| {
            topic_at(query, given.text("topic")?, given.when()?, given.tolerance_ns()?)
        },
    },
    ToolSpec {
        name: "get_topic_seconds_ago",
        title: "Message some seconds ago",
        description: "The message of a topic that was newest that many seconds ago, such as \
                      {\"topic\":\"/battery_state\",\"seconds_ago\":30,\"tolerance_s\":2}.",
        arguments: &[TOPIC, SECONDS_AGO, TOLERANCE_S, BYTES],
        answer: |query, given| {
            let when = given.when_ago(query)?;
            topic_at(query, given.text("topic")?, when, given.tolerance_ns()?)
        },
    },
    ToolSpec {
        name: "get_topic_in_range",
        title: "Messages in a range",
        description: "The messages of a topic from start to end, evenly thinned to max_samples; \
                      the last element then has the true total. no_data when there is none.",
        arguments: &[TOPIC, START, END, MAX_SAMPLES, METHOD, NUMBER, BYTES],
        answer: |query, given| {
            let window = given.window(query)?;
            topic_in(query, given.text("topic")?, window, &given.thinning()?)
        },
    },
    ToolSpec {
        name: "get_topic_in_last",
        title: "Messages of the last seconds",
        description: "As get_topic_in_range, for the last seconds before now.",
        arguments: &[TOPIC, SECONDS, MAX_SAMPLES, METHOD, NUMBER, BYTES],
        answer: |query, given| {
            let window = given.window_ago(query)?;
            topic_in(query, given.text("topic")?, window, &given.thinning()?)
        },
    },
    ToolSpec {
        name: "get_position_at",
        title: "Position at a time",
        description: "Where the robot was: x, y, z in metres, yaw_deg, and the frame they are in.",
        arguments: &[TIMESTAMP, TOLERANCE_S, BYTES],
        answer: |query, given| position(query, given.when()?, given.tolerance_ns()?),
    },
    ToolSpec {
        name: "get_position_seconds_ago",
        title: "Position some seconds ago",
        description: "Where the robot was that many seconds ago, for \"where was I 10 s ago?\": \
                      {\"seconds_ago\":10}.",
        arguments: &[SECONDS_AGO, TOLERANCE_S, BYTES],
        answer: |query, given| {
            let when = given.when_ago(query)?;
            position(query, when, given.tolerance_ns()?)
        },
    },
    ToolSpec {
        name: "get_velocity_at",
        title: "Velocity at a time",
        description: "How the robot moved: linear m/s and angular rad/s, in its own frame.",
        arguments: &[TIMESTAMP, TOLERANCE_S, BYTES],
        answer: |query, given| velocity(query, given.when()?, given.tolerance_ns()?),
    },
    ToolSpec {
        name: "get_velocity_seconds_ago",
        title: "Velocity some seconds ago",
        description: "How the robot moved that many seconds ago.",
        arguments: &[SECONDS_AGO, TOLERANCE_S, BYTES],
        answer: |query, given| {
            let when = given.when_ago(query)?;
            velocity(query, when, given.tolerance_ns()?)
        },
    },
    ToolSpec {
        name: "get_transform_at",
        title: "Transform at a time",
        description: "The pose of frame child in frame parent, interpolated. Errors unknown_frame, \
                      not_connected, extrapolation and reparented say what is wrong.",
        arguments: &[PARENT, CHILD, TIMESTAMP, BYTES],
        answer: |query, given| {
            transform(query, given.text("parent")?, given.text("child")?, given.when()?)
        },
    },
    ToolSpec {
        name: "get_transform_seconds_ago",
        title: "Transform some seconds ago",
        description: "As get_transform_at, that many seconds ago.",
        arguments: &[PARENT, CHILD, SECONDS_AGO, BYTES],
        answer: |query, given| {
            let when = given.when_ago(query)?;
            transform(query, given.text("parent")?, given.text("child")?, when)
        },
    },
    ToolSpec {
        name: "list_frames",
        title: "List frames",
        description: "The coordinate frames, and the parent and child of each transform with its \
                      first and last time.",
        arguments: &[BYTES],
        answer: |query, _| list_frames(query),
    },
    ToolSpec {
        name: "find_last_match",
        title: "Last time a condition held",
        description: "The newest message that matches, for \"when did you last see scissors?\": \
                      {\"topic\":\"/vision/*/scene_objects\",\"condition_type\":\"contains\",\
                      \"value\":\"scissors\"}. contains ignores case. null: never.",
        arguments: &[TOPIC, CONDITION_TYPE, VALUE, FIELD, TOLERANCE_M, BYTES],
        answer: |query, given| {
            let search = given.search(query, "topic")?;
            find_last_match(query, &search)
        },
    },
    ToolSpec {
        name: "get_value_when",
        title: "Value when a condition held",
        description: "What value_topic said when condition_topic last matched, for \"where was I \
                      when I last saw scissors?\": value_topic /odom. Older matches are tried, up \
                      to 100, when a newer one has no value within the tolerance. null: no match.",
        arguments: &[
            required("value_topic", Kind::Text, "Topic to read, such as /odom"),
            required("condition_topic", Kind::Text, "Topic to search, name or glob"),
            CONDITION_TYPE,
            VALUE,
            FIELD,
            TOLERANCE_M,
            TOLERANCE_S,
            BYTES,
        ],
        answer: |query, given| {
            let search = given.search(query, "condition_topic")?;
            value_when(query, given.text("value_topic")?, &search, given.tolerance_ns()?)
        },
    },
    ToolSpec {
        name: "trajectory_summary",
        title: "Trajectory in a range",
        description: "How far the robot drove from start to end: distance_m, avg_speed, max_speed, \
                      duration_s, and up to 20 waypoints.",
        arguments: &[START, END, BYTES],
        answer: |query, given| {
            let window = given.window(query)?;
            summary(query, window)
        },
    },
    ToolSpec {
        name: "recent_trajectory_summary",
        title: "Trajectory of the last seconds",
        description: "As trajectory_summary, for \"how far did I drive in the last minute?\": \
                      {\"seconds\":60}.",
        arguments: &[SECONDS, BYTES],
        answer: |query, given| {
            let window = given.window_ago(query)?;
            summary(query, window)
        },
    },
];

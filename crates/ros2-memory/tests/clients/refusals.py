"""What is not an answer, and whether it is marked as an error."""

from truth import digits

BAD_ARGUMENTS = (
    ("get_position_at", {"timestamp": "yesterday"}),
    ("get_position_at", {}),
    ("get_position_at", {"timestamp": "now", "when": 5}),
    ("get_position_seconds_ago", {"seconds_ago": -1}),
    ("get_position_seconds_ago", {"seconds_ago": "ten"}),
    ("get_topic_at_time", {"topic": "", "timestamp": "now"}),
    ("get_topic_at_time", {"topic": "/odom", "timestamp": "now", "tolerance_s": -1}),
    ("get_topic_in_range", {"topic": "/odom", "start": "-10s", "end": "-20s"}),
    ("get_topic_in_last", {"topic": "/odom", "seconds": 5, "max_samples": 0}),
    ("find_last_match", {"topic": "/odom", "condition_type": "resembles", "value": "x"}),
    ("find_last_match", {"topic": "/odom", "condition_type": "near_position", "value": "here"}),
    ("find_last_match", {"topic": "/rosout", "condition_type": "near_position", "value": {"x": 1, "y": 2}}),
    ("trajectory_summary", {"start": "now"}),
    ("list_recorded_topics", {"max_bytes": -5}),
)


async def check(memory, truth):
    ledger = memory.ledger
    for tool, arguments in BAD_ARGUMENTS:
        got = await memory.refused(tool, **arguments)
        explained(ledger, got, "bad_argument", tool, arguments)
    got = await memory.refused("get_topic_at_time", topic="/odmo", timestamp="now")
    explained(ledger, got, "unknown_topic", "/odmo")
    ledger.check("/odom" in got.get("hint", ""), "/odom is not offered for /odmo:", got)
    match = {"condition_type": "contains", "value": "x"}
    got = await memory.refused("find_last_match", topic="/no/such/*", **match)
    explained(ledger, got, "unknown_topic", "/no/such/*")
    got = await memory.refused("get_value_when", value_topic="/nowhere", condition_topic="/rosout", **match)
    explained(ledger, got, "unknown_topic", "/nowhere")

    long_before = digits(truth["start_ns"] - 100 * 10**9)
    long_after = digits(truth["end_ns"] + 100 * 10**9)
    before = {"start": long_before, "end": digits(truth["start_ns"] - 10**9)}
    frames = {"parent": "map", "child": "camera_link"}
    for code, tool, arguments in (
        ("no_data", "get_position_at", {"timestamp": long_before}),
        ("no_data", "get_velocity_at", {"timestamp": long_after}),
        ("no_data", "get_topic_at_time", {"topic": "/odom", "timestamp": long_before}),
        ("no_data", "get_position_seconds_ago", {"seconds_ago": 10**7}),
        ("no_data", "get_topic_in_range", {"topic": "/odom", **before}),
        ("no_data", "trajectory_summary", before),
        ("extrapolation", "get_transform_at", {"timestamp": long_after, **frames}),
        ("unknown_frame", "get_transform_at", {"timestamp": "now", "parent": "map", "child": "tail"}),
    ):
        explained(ledger, await memory.ask(tool, **arguments), code, tool, arguments)
    await unknown_tool(memory)


def explained(ledger, got, code, *about):
    ledger.equal(got.get("error"), code, *about, got)
    ledger.check(got.get("detail"), *about, "is not explained:", got)


async def unknown_tool(memory):
    """A tool that is not there is a fault of the protocol, not a reply."""
    try:
        got = await memory.connection.call_tool("get_the_future", {})
    # The two majors spell the class differently.
    except Exception as error:
        is_protocol_error = type(error).__name__.lower() == "mcperror"
        memory.ledger.check(is_protocol_error, "an unknown tool raised", repr(error))
    else:
        memory.ledger.fail(f"an unknown tool replied {got}")

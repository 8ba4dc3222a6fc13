"""What is recorded, and the messages at a time and in a range."""

import math

from truth import digits, iso_8601, same_ns, spelled

MOVING = {("map", "odom"), ("odom", "base_link")}
FIXED = {("base_link", "camera_link"), ("base_link", "laser")}
# As much as a caller may ask for.
MOST_BYTES = 200_000


async def check(memory, truth):
    await topics(memory, truth)
    await time_range(memory, truth)
    await at_a_time(memory, truth)
    await seconds_ago(memory, truth)
    await in_range(memory, truth)
    await in_last(memory, truth)


async def topics(memory, truth):
    ledger = memory.ledger
    listed = await memory.ask("list_recorded_topics")
    ledger.equal(sorted(topic["topic"] for topic in listed), sorted(truth.topics), "topics:")
    for topic in listed:
        expected = truth.topics[topic["topic"]]
        ledger.equal(topic["type"], expected["type_name"], topic, "type:")
        ledger.equal(topic["count"], expected["count"], topic, "count:")
        ledger.check(same_ns(topic["first_ts"], expected["first_ns"]), topic, "first is", expected["first_ns"])
        ledger.check(same_ns(topic["last_ts"], expected["last_ns"]), topic, "last is", expected["last_ns"])


async def time_range(memory, truth):
    ledger = memory.ledger
    got = await memory.ask("data_time_range")
    ledger.check(same_ns(got["earliest"], truth.first_ns), got, "earliest is", truth.first_ns)
    ledger.check(same_ns(got["latest"], truth.latest_ns), got, "latest is", truth.latest_ns)
    ledger.equal(got["earliest_iso"], iso_8601(truth.first_ns), "earliest:")
    ledger.equal(got["latest_iso"], iso_8601(truth.latest_ns), "latest:")
    frames = await memory.ask("list_frames")
    names = {name for edge in MOVING | FIXED for name in edge}
    ledger.equal(set(frames["frames"]), names, "frames:")
    edges = {(edge["parent"], edge["child"]): edge for edge in frames["edges"]}
    ledger.equal(set(edges), MOVING | FIXED, "edges:")
    for pair, edge in edges.items():
        ledger.equal(edge["static"], pair in FIXED, edge, "static:")
        is_ordered = truth["start_ns"] / 1e9 <= edge["first_ts"] <= edge["last_ts"] <= truth["end_ns"] / 1e9
        ledger.check(is_ordered, "edge outside the history:", edge)


async def at_a_time(memory, truth):
    ledger = memory.ledger
    for topic, expected in truth.topics.items():
        for at_ns in (expected["first_ns"], expected["last_ns"]):
            got = await memory.ask("get_topic_at_time", topic=topic, timestamp=digits(at_ns))
            ledger.equal(got.get("timestamp_ns"), str(at_ns), topic, got, "time:")
            ledger.equal((got.get("topic"), got.get("type")), (topic, expected["type_name"]), "message:")
            # A time that was given comes back to its message.
            again = await memory.ask("get_topic_at_time", topic=topic, timestamp=got.get("timestamp"))
            ledger.equal(again, got, topic, "by its timestamp:")
    for number, pose in enumerate(truth["poses"]):
        when = spelled(pose["asked_ns"], number)
        got = await memory.ask("get_topic_at_time", topic="/odom", timestamp=when)
        odometry(ledger, got, pose)
    got = await memory.ask("get_topic_at_time", topic="/estop", timestamp=digits(truth["last_estop_true_ns"]))
    ledger.equal(got.get("value"), {"value": True}, "emergency stop:")
    released_ns = truth["fault"]["released_ns"]
    late = digits(released_ns + 5 * 10**9)
    got = await memory.ask("get_topic_at_time", topic="/estop", timestamp=late, tolerance_s=6)
    ledger.equal((got.get("timestamp_ns"), got.get("value")), (str(released_ns), {"value": False}), "released:")
    got = await memory.ask("get_topic_at_time", topic="/estop", timestamp=late, tolerance_s=4)
    ledger.equal(got.get("error"), "no_data", "outside the tolerance:")
    ledger.check(same_ns(got["nearest_earlier"], released_ns), got, "nearest earlier is", released_ns)


async def seconds_ago(memory, truth):
    ledger = memory.ledger
    for pose in truth["poses"]:
        ago_s = truth.seconds_ago(pose["asked_ns"])
        if ago_s is not None:
            odometry(ledger, await memory.ask("get_topic_seconds_ago", topic="/odom", seconds_ago=ago_s), pose)
    battery = truth.topics["/battery_state"]
    for ago_s in (0, 30, 299.5):
        got = await memory.ask("get_topic_seconds_ago", topic="/battery_state", seconds_ago=ago_s, tolerance_s=2)
        asked_ns = truth.latest_ns - round(ago_s * 1e9)
        age_ns = asked_ns - int(got["timestamp_ns"])
        ledger.check(0 <= age_ns < 1.2e9, "battery", ago_s, "s ago is", age_ns, "ns older:", got)
        ledger.check(0 < got["value"]["percentage"] <= 1, "battery:", got)
        same = await memory.ask("get_topic_at_time", topic="/battery_state", timestamp=digits(asked_ns), tolerance_s=2)
        ledger.equal(same, got, "battery by both tools:")
    ago_s = truth.seconds_ago(battery["last_ns"])
    got = await memory.ask("get_topic_seconds_ago", topic="/battery_state", seconds_ago=ago_s)
    ledger.equal(got.get("timestamp_ns"), str(battery["last_ns"]), "last battery state:")


def odometry(ledger, got, pose):
    about = ("/odom at", pose["asked_ns"])
    if ledger.equal(got.get("timestamp_ns"), str(pose["log_time_ns"]), *about, got):
        position = got["value"]["position"]
        ledger.close(position["x"], pose["x_m"], 1e-9, *about)
        ledger.close(position["y"], pose["y_m"], 1e-9, *about)
        ledger.close_angle(got["value"]["orientation"]["yaw_deg"], pose["yaw_deg"], *about)


async def in_range(memory, truth):
    ledger = memory.ledger
    for number, window in enumerate(truth["windows"]):
        ends = {"start": spelled(window["start_ns"], number), "end": spelled(window["end_ns"], number + 1)}
        got = await memory.ask("get_topic_in_range", topic="/odom", max_samples=30, **ends)
        thinned(ledger, got, window["messages"], 30, window)
    # Short windows fit whole: the way driven is the sum over what came back.
    whole = [window for window in truth["windows"] if window["messages"] <= 250]
    ledger.check(whole, "no window is short")
    for window in whole:
        ends = {"start": digits(window["start_ns"]), "end": digits(window["end_ns"])}
        got = await memory.ask("get_topic_in_range", topic="/odom", max_samples=250, max_bytes=MOST_BYTES, **ends)
        ledger.equal(len(got), window["messages"], "messages in", window)
        path = [(message["value"]["position"]["x"], message["value"]["position"]["y"]) for message in got]
        driven_m = sum(math.dist(a, b) for a, b in zip(path, path[1:]))
        ledger.close(driven_m, window["distance_m"], 1e-6, "driven in", window)
    everything = {"start": digits(truth["start_ns"]), "end": digits(truth["end_ns"])}
    for topic, expected in truth.topics.items():
        got = await memory.ask("get_topic_in_range", topic=topic, max_samples=1, **everything)
        ledger.equal(got[-1].get("total"), expected["count"], topic, "total:")
    # The ends belong to a range.
    stops = truth.topics["/estop"]
    ends = {"start": digits(stops["first_ns"]), "end": digits(stops["last_ns"])}
    got = await memory.ask("get_topic_in_range", topic="/estop", **ends)
    ledger.equal([message["value"]["value"] for message in got], [False, True, False], "emergency stops:")
    times = (got[0]["timestamp_ns"], got[-1]["timestamp_ns"])
    ledger.equal(times, (str(stops["first_ns"]), str(stops["last_ns"])), "emergency stops:")


def thinned(ledger, got, total, max_samples, window):
    *kept, note = got
    about = ("thinned", window)
    ledger.equal(note.get("total"), total, *about, note, "total:")
    ledger.equal(note.get("returned"), len(kept), *about, "returned:")
    ledger.check(note.get("note"), *about, "there is no note:", note)
    ledger.check(2 <= len(kept) <= max_samples, *about, len(kept), "samples")
    times = [int(message["timestamp_ns"]) for message in kept]
    ledger.check(times == sorted(set(times)), *about, "out of order:", times)
    # They span the window: at 20 Hz its first and last message lie near its ends.
    ledger.check(0 <= times[0] - window["start_ns"] < 1e8, *about, "begins at", times[0])
    ledger.check(0 <= window["end_ns"] - times[-1] < 1e8, *about, "ends at", times[-1])


async def in_last(memory, truth):
    ledger = memory.ledger
    fault = truth["fault"]
    for since_ns, expected in (
        (truth["last_estop_true_ns"], [True, False]),
        (fault["released_ns"], [False]),
    ):
        # A millisecond more, since a float may round the span down.
        seconds = truth.seconds_ago(since_ns) + 1e-3
        got = await memory.ask("get_topic_in_last", topic="/estop", seconds=seconds)
        ledger.equal([message["value"]["value"] for message in got], expected, "emergency stops of the last", seconds)
    duration_s = (truth.latest_ns - truth.first_ns) / 1e9 + 1
    for topic, expected in truth.topics.items():
        got = await memory.ask("get_topic_in_last", topic=topic, seconds=duration_s, max_samples=2)
        total = got[-1].get("total")
        ledger.equal(total, expected["count"], topic, "total of the last", duration_s)
    last = await memory.ask("get_topic_in_last", topic="/odom", seconds=10, max_samples=250, max_bytes=MOST_BYTES)
    same = await memory.ask(
        "get_topic_in_range",
        topic="/odom",
        start=digits(truth.latest_ns - 10 * 10**9),
        end=digits(truth.latest_ns),
        max_samples=250,
        max_bytes=MOST_BYTES,
    )
    ledger.equal(last, same, "the last ten seconds by both tools:")
    ledger.equal(last[-1].get("timestamp_ns"), str(truth.topics["/odom"]["last_ns"]), "last of the last:")

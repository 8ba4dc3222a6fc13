"""When a condition last held, and what another topic said then."""

import json
import math

from truth import digits

OBJECTS = "/vision/scene/scene_objects"
DETECTIONS = "/vision/find_object/detections_meta"


async def check(memory, truth):
    await labels(memory, truth)
    await places(memory, truth)
    await faults(memory, truth)


async def labels(memory, truth):
    ledger = memory.ledger
    track_ids = {}
    for thing in truth["objects"]:
        track_ids.setdefault(thing["label"], set()).add(thing["track_id"])
    for label in truth["labels"]:
        name = label["label"]
        holds = {"condition_type": "contains", "value": name}
        # Parts of words count: a label is found in every label that has it inside.
        wider = [other for other in truth["labels"] if name in other["label"]]
        newest = lambda topic: max((other[topic]["last_ns"] or 0 for other in wider), default=0)

        got = await memory.ask("find_last_match", topic="/vision/*/scene_objects", **holds)
        if found_at(ledger, got, newest("scene_objects"), "objects", name):
            ledger.equal(got["topic"], OBJECTS, name, "topic:")
            seen = json.loads(got["value"]["value"])
            ledger.check(any(name in other for other in seen), name, "is not in", got)

        got = await memory.ask("find_last_match", topic="/vision/*/detections_meta", **holds)
        if found_at(ledger, got, newest("detections_meta"), "detections", name):
            ledger.equal(got["topic"], DETECTIONS, name, "topic:")
            seen = [one for one in got["value"]["detections"] if one["label"] == name]
            ledger.check(seen or len(wider) > 1, name, "is not in", got)
            # What moves about is no object of the house, and has no place in it.
            for one in seen:
                is_known = name not in track_ids or one["track_id"] in track_ids[name]
                ledger.check(is_known, name, "is known as", one["track_id"])

        got = await memory.ask("get_value_when", value_topic="/odom", condition_topic=OBJECTS, **holds)
        if len(wider) == 1:
            where_it_was_seen(ledger, got, label)
    shouted = await memory.ask("find_last_match", topic=OBJECTS, condition_type="contains", value="SCISSORS")
    said = await memory.ask("find_last_match", topic=OBJECTS, condition_type="contains", value="scissors")
    ledger.check(said is not None, "scissors were never seen")
    ledger.equal(shouted, said, "case:")


def where_it_was_seen(ledger, got, label):
    pose = label["pose_when_last_seen"]
    about = ("robot when it saw", label["label"], got)
    if pose is None:
        ledger.equal(got, None, *about)
        return
    if not ledger.check(isinstance(got, dict) and "value" in got, *about):
        return
    ledger.equal(got["condition_timestamp_ns"], str(label["scene_objects"]["last_ns"]), *about)
    ledger.equal(got["condition_topic"], OBJECTS, *about)
    ledger.equal(got["timestamp_ns"], str(pose["log_time_ns"]), *about)
    ledger.close(got["value"]["position"]["x"], pose["x_m"], 1e-9, *about)
    ledger.close(got["value"]["position"]["y"], pose["y_m"], 1e-9, *about)
    ledger.close_angle(got["value"]["orientation"]["yaw_deg"], pose["yaw_deg"], *about)


async def places(memory, truth):
    ledger = memory.ledger
    for near in truth["near"]:
        point = {"x": near["x_m"], "y": near["y_m"]}
        got = await memory.ask(
            "find_last_match",
            topic="/odom",
            condition_type="near_position",
            value=point,
            tolerance_m=near["tolerance_m"],
        )
        if found_at(ledger, got, near["log_time_ns"], "near", point):
            there = got["value"]["position"]
            off_m = math.dist((there["x"], there["y"]), (near["x_m"], near["y_m"]))
            ledger.check(off_m <= near["tolerance_m"], point, "is", off_m, "m away")
            ledger.equal(got["value"]["frame"], "odom", point, "frame:")


async def faults(memory, truth):
    fault = truth["fault"]
    description = "/vision/scene/scene_description"
    contains = lambda text: {"condition_type": "contains", "value": text}
    for topic, holds, expected_ns in (
        (description, contains("path is clear"), truth["path_clear"]["last_ns"]),
        (description, contains("Path is Blocked"), truth["path_blocked"]["last_ns"]),
        ("/estop", {"condition_type": "equals", "value": True}, truth["last_estop_true_ns"]),
        ("/rosout", {"condition_type": "equals", "value": 40, "field": "level"}, fault["log_lines"]["last_ns"]),
        ("/rosout", contains(fault["message"]), fault["log_lines"]["last_ns"]),
        ("/diagnostics", contains(fault["message"]), fault["diagnostics"]["last_ns"]),
        ("/diagnostics", contains(fault["code"]) | {"field": "status[].message"}, fault["diagnostics"]["last_ns"]),
    ):
        got = await memory.ask("find_last_match", topic=topic, **holds)
        found_at(memory.ledger, got, expected_ns, topic, holds)
    stopped_ns = truth["last_estop_true_ns"]
    when = {"condition_topic": "/estop", "condition_type": "equals", "value": True}
    for topic in ("/odom", "/battery_state"):
        for tolerance in ({"tolerance_s": 2}, {}):
            got = await memory.ask("get_value_when", value_topic=topic, **when, **tolerance)
            at = await memory.ask("get_topic_at_time", topic=topic, timestamp=digits(stopped_ns), **tolerance)
            # One stop in all: with no value there is no older match to try.
            keys = ("timestamp_ns", "value", "error")
            value = [got.get(key) for key in keys]
            memory.ledger.equal(value, [at.get(key) for key in keys], topic, "at the stop:")
            if "error" not in at:
                memory.ledger.equal(got["condition_timestamp_ns"], str(stopped_ns), topic, "stopped:")


def found_at(ledger, got, expected_ns, *about):
    """Checks the time of a match, or that null says there is none; tells whether there is one."""
    if not expected_ns:
        ledger.equal(got, None, *about)
        return False
    found_ns = got.get("timestamp_ns") if isinstance(got, dict) else None
    return ledger.equal(found_ns, str(expected_ns), *about, got)

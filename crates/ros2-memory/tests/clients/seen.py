"""When things were last seen and where, how often, and why there is no answer."""

import math

OBJECTS = "/vision/scene/scene_objects"
DETECTIONS = "/vision/find_object/detections_meta"
TOPICS = ("scene_objects", "detections_meta")
# A detection is where the thing stands, but for what the camera's noise and rounding make of it.
NEAR_M = 0.1


async def check(memory, truth):
    await labels(memory, truth)
    await together(memory, truth)
    await card_and_gaps(memory, truth)
    await numbers(memory, truth)


async def labels(memory, truth):
    ledger = memory.ledger
    standing = {}
    for thing in truth["objects"]:
        standing.setdefault(thing["label"], []).append((thing["x_m"], thing["y_m"]))
    listed = await memory.ask("list_labels")
    counts = {of["label"]: of["count"] for of in listed["labels"]}
    n_placed = 0
    for label in truth["labels"]:
        name = label["label"]
        last_ns = max((label[topic]["last_ns"] or 0) for topic in TOPICS)
        n_messages = sum(label[topic]["messages"] for topic in TOPICS)
        got = await memory.ask("last_seen", label=name)
        if last_ns == 0:
            ledger.equal(got["seen"], False, name, got)
            ledger.equal(got["reason"], "never_seen", name, got)
            ledger.check(name not in counts, name, "is listed")
            continue
        if not ledger.equal(got["seen"], True, name, got):
            continue
        ledger.equal(got["timestamp_ns"], str(last_ns), name, "last seen:")
        ledger.equal(got["count"], n_messages, name, "messages:")
        ledger.equal(counts.get(name), n_messages, name, "listed:")
        first_ns = min(label[topic]["first_ns"] for topic in TOPICS if label[topic]["first_ns"])
        ledger.close(got["first_ever"], first_ns / 1e9, 1e-6, name, "first ever:")
        ledger.check(got["evidence"]["topic"] in (OBJECTS, DETECTIONS), name, got["evidence"])
        ledger.check("robot" in got, name, "without the robot's pose:", got)
        if "position" in got and name in standing and got["position"]["frame"] == "map":
            n_placed += 1
            at = (got["position"]["x"], got["position"]["y"])
            off_m = min(math.dist(at, there) for there in standing[name])
            ledger.check(off_m < NEAR_M, name, "is", off_m, "m from where it stands:", got)
        whole = await memory.ask("expand", handle=got["evidence"]["handle"])
        ledger.equal(whole["timestamp_ns"], str(last_ns), name, "expanded:")
        ledger.check(name in str(whole["value"]), name, "is not in its evidence", whole)
        # Just before that, it had been seen before or not at all.
        before = await memory.ask("last_seen", label=name, before=str(last_ns))
        if before["seen"]:
            ledger.check(int(before["timestamp_ns"]) < last_ns, name, "before:", before)
        else:
            ledger.equal(n_messages, 1, name, before)
    ledger.check(n_placed > 10, "only", n_placed, "things were placed")
    ledger.equal(sorted(counts), sorted(label["label"] for label in truth["labels"]
                                        if any(label[topic]["messages"] for topic in TOPICS)), "labels:")


async def together(memory, truth):
    ledger = memory.ledger
    seen = [label for label in truth["labels"] if label["scene_objects"]["messages"]]
    for one, other in zip(seen, seen[1:]):
        names = one["label"], other["label"]
        both = await memory.ask("find_sightings", labels=f"{names[0]} AND {names[1]}", limit=1000)
        either = await memory.ask("find_sightings", labels=f"{names[0]} OR {names[1]}", limit=1000)
        alone = await memory.ask("find_sightings", labels=f"{names[0]} NOT {names[1]}", limit=1000)
        n = lambda got: sum(of["messages"] for of in got["intervals"])
        wanted = [sum(label[topic]["messages"] for topic in TOPICS) for label in (one, other)]
        ledger.equal(n(either) + n(both), sum(wanted), *names, "together and apart:")
        ledger.equal(n(alone) + n(both), wanted[0], *names, "alone:")
        for got in (both, either, alone):
            starts = [of["start"] for of in got["intervals"]]
            ledger.equal(starts, sorted(starts, reverse=True), *names, "newest first:")
    got = await memory.ask("find_sightings", labels="unicorn OR scissors")
    ledger.check("unicorn" in got["never_seen"], got)


async def card_and_gaps(memory, truth):
    ledger = memory.ledger
    card = await memory.ask("memory_card")
    ledger.close(card["now"], truth.latest_ns / 1e9, 1e-6, "now:")
    ledger.equal(card["messages"], sum(topic["count"] for topic in truth["topics"]), "messages:")
    ledger.check(len(str(card)) < 2000, "the card has", len(str(card)), "characters")
    ledger.check("/odom" in card["topics"], card)
    first_s, last_s = truth.first_ns / 1e9, truth.latest_ns / 1e9
    got = await memory.ask("explain_gap", topic="/odom", start=first_s - 60, end=last_s + 60)
    ledger.equal([gap["cause"] for gap in got["gaps"]], ["after_the_last", "before_the_first"], got)
    got = await memory.ask("explain_gap", topic="/odom", start=first_s + 1, end=last_s - 1)
    ledger.equal(got["gaps"], [], "no gap:")
    got = await memory.ask("explain_gap", topic="/never/recorded", start=first_s, end=last_s)
    ledger.equal(got["cause"], "not_configured", got)


async def numbers(memory, truth):
    """A number over all of it, its peaks in a thinned list, and when it was above a limit."""
    ledger = memory.ledger
    field = "twist.twist.linear.x"
    asked = {"topic": "/odom", "field": field, "start": truth.first_ns / 1e9, "end": "now"}
    told = await memory.ask("get_statistics", **asked, buckets=4)
    count = next(topic["count"] for topic in truth["topics"] if topic["topic"] == "/odom")
    ledger.equal(told["count"], count, "count:")
    ledger.equal(sum(part["n"] for part in told["buckets"]), count, "buckets:")
    thinned = await memory.ask("get_topic_in_range", **asked, method="minmax", max_samples=10)
    handles = {of.get("handle") for of in thinned}
    ledger.check(told["max"]["handle"] in handles, "the peak is in the list:", told["max"], handles)
    limit = (told["min"]["value"] + told["max"]["value"]) / 2
    found = await memory.ask(
        "find_intervals", topic="/odom", condition_type="above", value=limit, field=field, limit=1000
    )
    n = sum(of["messages"] for of in found["intervals"])
    ledger.check(0 < n < count, "above the middle:", n, "of", count)
    when = [of["start"] <= told["max"]["timestamp"] <= of["end"] for of in found["intervals"]]
    ledger.equal(when.count(True), 1, "the peak lies in one interval:")

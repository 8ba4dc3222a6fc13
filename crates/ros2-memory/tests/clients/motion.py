"""Where the robot was, how it moved, where its camera was, and how far it drove."""

import math

import anyio

from truth import digits, spelled

XYZ = ("x", "y", "z")
# The pose topic has this rate: a window begins and ends at most this long from a message.
STEP_S = 0.1


async def check(memory, truth):
    for number, pose in enumerate(truth["poses"]):
        got = await memory.ask("get_position_at", timestamp=spelled(pose["asked_ns"], number))
        position(memory.ledger, got, pose)
        if (ago_s := truth.seconds_ago(pose["asked_ns"])) is not None:
            position(memory.ledger, await memory.ask("get_position_seconds_ago", seconds_ago=ago_s), pose)
    for number, velocity_then in enumerate(truth["velocities"]):
        got = await memory.ask("get_velocity_at", timestamp=spelled(velocity_then["asked_ns"], number))
        velocity(memory.ledger, got, velocity_then)
        if (ago_s := truth.seconds_ago(velocity_then["asked_ns"])) is not None:
            velocity(memory.ledger, await memory.ask("get_velocity_seconds_ago", seconds_ago=ago_s), velocity_then)
    frames = {"parent": "map", "child": "camera_link"}
    for camera in truth["transforms"]:
        got = await memory.ask("get_transform_at", timestamp=digits(camera["asked_ns"]), **frames)
        transform(memory.ledger, got, camera, 1e-9)
        if (ago_s := truth.seconds_ago(camera["asked_ns"])) is not None:
            got = await memory.ask("get_transform_seconds_ago", seconds_ago=ago_s, **frames)
            transform(memory.ledger, got, camera, 1e-6)
    await at_once(memory, truth)
    await trajectories(memory, truth)


def position(ledger, got, pose):
    about = ("position at", pose["asked_ns"], got)
    ledger.equal(got.get("timestamp_ns"), str(pose["log_time_ns"]), *about)
    ledger.equal(got.get("frame"), "odom", *about)
    ledger.close(got.get("x"), pose["x_m"], 1e-9, *about)
    ledger.close(got.get("y"), pose["y_m"], 1e-9, *about)
    ledger.close(got.get("z"), 0, 1e-9, *about)
    ledger.close_angle(got.get("yaw_deg"), pose["yaw_deg"], *about)


def velocity(ledger, got, then):
    about = ("velocity at", then["asked_ns"], got)
    ledger.equal(got.get("timestamp_ns"), str(then["log_time_ns"]), *about)
    ledger.equal(got.get("frame"), "base_link", *about)
    for kind, expected in (
        ("linear", (then["linear_x_mps"], 0, 0)),
        ("angular", (0, 0, then["angular_z_radps"])),
    ):
        for axis, number in zip(XYZ, expected):
            ledger.close(got.get(kind, {}).get(axis), number, 1e-9, *about)


def transform(ledger, got, camera, tolerance):
    about = ("camera at", camera["asked_ns"], got)
    moved, turned = got.get("translation", {}), got.get("rotation", {})
    for axis, number in zip(XYZ, camera["translation_m"]):
        ledger.close(moved.get(axis), number, tolerance, *about)
    # A rotation and its negative are the same one.
    expected = dict(zip((*XYZ, "w"), camera["rotation"]))
    sign = math.copysign(1, sum(turned.get(axis, math.nan) * expected[axis] for axis in expected))
    for axis, number in expected.items():
        ledger.close(turned.get(axis), sign * number, tolerance, *about)
    ledger.close_angle(got.get("yaw_deg"), camera["yaw_deg"], *about)


async def at_once(memory, truth):
    """Calls in flight together get the answer that is their own."""
    answers = {}

    async def ask(pose):
        reply = await memory.connection.call_tool("get_position_at", {"timestamp": digits(pose["asked_ns"])})
        answers[pose["asked_ns"]] = reply.content[0].text

    async with anyio.create_task_group() as group:
        for pose in truth["poses"][:8]:
            group.start_soon(ask, pose)
    for pose in truth["poses"][:8]:
        text = answers[pose["asked_ns"]]
        memory.ledger.check(f'"{pose["log_time_ns"]}"' in text, "of calls at once,", pose, "got", text)


async def trajectories(memory, truth):
    ledger = memory.ledger
    for number, window in enumerate(truth["windows"]):
        start, end = spelled(window["start_ns"], number), spelled(window["end_ns"], number + 2)
        got = await memory.ask("trajectory_summary", start=start, end=end)
        driven(ledger, got, window)
        for point in got["waypoints"][1:2]:
            there = await memory.ask("get_position_at", timestamp=point["timestamp"])
            ledger.equal((there.get("x"), there.get("y")), (point["x"], point["y"]), "waypoint", point)
    to_the_end = [window for window in truth["windows"] if window["end_ns"] >= truth.latest_ns]
    ledger.check(to_the_end, "no window reaches the end")
    for window in to_the_end:
        seconds = truth.seconds_ago(window["start_ns"])
        driven(ledger, await memory.ask("recent_trajectory_summary", seconds=seconds), window)
    for seconds in (10, 60, 600):
        got = await memory.ask("recent_trajectory_summary", seconds=seconds)
        start, end = digits(truth.latest_ns - seconds * 10**9), digits(truth.latest_ns)
        same = await memory.ask("trajectory_summary", start=start, end=end)
        ledger.equal(got, same, "the last", seconds, "s by both tools:")


def driven(ledger, got, window):
    about = ("driven in", window, got)
    ledger.close(got.get("distance_m"), window["distance_m"], 1e-6, *about)
    ledger.close(got.get("max_speed"), window["max_step_mps"], 1e-6, *about)
    ledger.equal(got.get("n_poses"), window["messages"], *about)
    duration_s = got["duration_s"]
    asked_s = (window["end_ns"] - window["start_ns"]) / 1e9
    ledger.check(0 <= asked_s - duration_s < 2 * STEP_S, *about, "lasted", duration_s)
    ledger.close(got["avg_speed"] * duration_s, got["distance_m"], 1e-6, *about)
    points = got["waypoints"]
    ledger.check(2 <= len(points) <= 20, *about, len(points), "waypoints")
    times = [point["timestamp"] for point in points]
    ledger.check(times == sorted(set(times)), *about, "waypoints out of order")
    is_inside = window["start_ns"] / 1e9 <= times[0] and times[-1] <= window["end_ns"] / 1e9
    ledger.check(is_inside, *about, "waypoints outside the window")
    straight_m = sum(math.dist((a["x"], a["y"]), (b["x"], b["y"])) for a, b in zip(points, points[1:]))
    ledger.check(straight_m <= got["distance_m"] + 1e-6, *about, "waypoints are", straight_m, "m apart")

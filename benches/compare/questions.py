"""The questions, the rules that all answer them by, and how an answer is timed."""

import json
import math
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

ODOMETRY = "/odom"
SCENE = "/vision/scene/scene_objects"  # a JSON list of labels in `data`
DETECTIONS = "/vision/find_object/detections_meta"  # a `label` in each of `detections`
LABEL_TOPICS = [SCENE, DETECTIONS]

# The program's defaults for data.jitter_m and data.max_speed_mps.
JITTER_M = 0.0
MAX_SPEED_MPS = 20.0
# The robot never was so far out, nor anything that it saw.
FAR_M = 1e6


class Pose(NamedTuple):
    """A message of /odom: its log time and its position."""

    ns: int
    x: float
    y: float
    z: float


class Span(NamedTuple):
    """A file and the log times of its first and last message."""

    path: Path
    start_ns: int
    end_ns: int


def newest_first(files: list[Path], span: Callable[[Path], Span]) -> list[Span]:
    """What a reader finds in the summary of each file."""
    return sorted(map(span, files), key=lambda span: span.end_ns, reverse=True)


class Peer(NamedTuple):
    """One that answers; `None` stands for a question that it has no way to answer."""

    name: str
    last_seen: Callable[[str], int | None] | None = None
    pose_at: Callable[[int], Pose | None] | None = None
    distance_m: Callable[[], float] | None = None
    last_far: Callable[[], int | None] | None = None
    last_far_seen: Callable[[], int | None] | None = None
    # How coarse its times are.
    resolution_ns: int = 1
    # Answers `pose_at` with the nearest message, be it later.
    takes_nearest: bool = False


def files_under(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.mcap"))


def labels_in(topic: str, message: Any) -> set[str]:
    """The labels of a decoded message; every decoder gives its fields as attributes."""
    if topic == SCENE:
        return set(json.loads(message.data))
    return {detection.label for detection in message.detections}


def is_far(detections: Any) -> bool:
    return any(detection.point.x > FAR_M for detection in detections.detections)


def pose_in(ns: int, message: Any) -> Pose:
    at = message.pose.pose.position
    return Pose(ns, at.x, at.y, at.z)


def distance_m(poses: Iterable[tuple[int, Pose]]) -> float:
    """The sum of the steps, by the rules of trajectory_summary; each pose with its session."""
    total, last_session, last = 0.0, None, None
    for session, pose in poses:
        if last is not None and session == last_session:
            step_m = math.dist(pose[1:], last[1:])
            if JITTER_M <= step_m <= MAX_SPEED_MPS * (pose.ns - last.ns) / 1e9:
                total += step_m
        last_session, last = session, pose
    return total


class Timed(NamedTuple):
    """The answers to as many calls as the time allowed, and the median of what they took."""

    answers: list[Any]
    median_ms: float


def timed(calls: Iterable[Callable[[], Any]], limit_s: float) -> Timed:
    """Makes the calls one after the other; the first always, more until the time is over."""
    answers, taken_ms = [], []
    began = time.perf_counter()
    for call in calls:
        start = time.perf_counter()
        answers.append(call())
        end = time.perf_counter()
        taken_ms.append((end - start) * 1e3)
        if end - began > limit_s:
            break
    return Timed(answers, statistics.median(taken_ms))

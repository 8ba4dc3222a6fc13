"""This project's program."""

import subprocess
import time
from pathlib import Path

from .pipe import Server
from .questions import DETECTIONS, FAR_M, ODOMETRY, Peer, Pose

NAME = "ros2-memory"


def run(program: Path, folder: Path, *arguments: str) -> str:
    # In `folder`, which has no `config` that the program would take for its configuration.
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, done.args))}: {done.stderr}")
    return done.stdout


def demo(program: Path, folder: Path, hours: float) -> Path:
    """A history that is the same on every machine."""
    start, bags = "2026-01-01T00:00:00Z", folder / "history"
    options = ["--hours", str(hours), "--start", start, "--dir", str(bags), "--write-only"]
    run(program, folder, "demo", *options)
    return bags


def settings(bags: Path, catalog: Path) -> list[str]:
    return ["--bag-dir", str(bags), "-o", "recorder=none", "-o", f"catalog.dir={catalog}"]


def first_index_ms(program: Path, folder: Path, bags: Path, catalog: Path) -> float:
    """A whole process, from an empty catalog to one that is written."""
    start = time.perf_counter()
    run(program, folder, "index", *settings(bags, catalog))
    return (time.perf_counter() - start) * 1e3


def whole_process_ms(program: Path, folder: Path, bags: Path, catalog: Path) -> float:
    """A process that answers one question on a catalog that is there."""
    question = ["get_position_seconds_ago", "--seconds_ago", "10"]
    start = time.perf_counter()
    run(program, folder, "query", *settings(bags, catalog), *question)
    return (time.perf_counter() - start) * 1e3


def serve(program: Path, folder: Path, bags: Path, catalog: Path) -> Server:
    command = [str(program), "serve", "--transport", "stdio", *settings(bags, catalog)]
    return Server(command, folder)


def peer(server: Server, start_ns: int, end_ns: int) -> Peer:
    # Of any age: the peers know no tolerance.
    tolerance_s = (end_ns - start_ns) / 1e9 + 1

    def last_seen(label: str) -> int | None:
        reply = server.ask("last_seen", label=label)
        return int(reply["timestamp_ns"]) if reply["seen"] else None

    def pose_at(ns: int) -> Pose | None:
        reply = server.ask("get_position_at", timestamp=str(ns), tolerance_s=tolerance_s)
        if reply.get("error") == "no_data":
            return None
        return Pose(int(reply["timestamp_ns"]), reply["x"], reply["y"], reply["z"])

    def distance_m() -> float:
        reply = server.ask("trajectory_summary", start=str(start_ns), end=str(end_ns))
        return reply["distance_m"]

    def last_above(topic: str, field: str) -> int | None:
        condition = {"condition_type": "above", "value": FAR_M, "field": field}
        reply = server.ask("find_last_match", topic=topic, **condition)
        return reply and int(reply["timestamp_ns"])

    return Peer(
        f"{NAME}, MCP over stdio",
        last_seen,
        pose_at,
        distance_m,
        # Neither field is one whose numbers are indexed.
        lambda: last_above(ODOMETRY, "pose.pose.position.x"),
        lambda: last_above(DETECTIONS, "detections[].point.x"),
    )

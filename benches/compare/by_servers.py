"""Other MCP servers over recordings, over the same pipe as this project's.

mcap-mcp-server loads every file into tables of its own, which SQL then asks. rosbag-mcp answers
from one file, which is chosen by the times that it names itself.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .by_sql import DISTANCE_M
from .pipe import Server
from .questions import DETECTIONS, FAR_M, LABEL_TOPICS, ODOMETRY, SCENE, Peer, Pose, timed


class Loaded(NamedTuple):
    """A server that can answer, and what it took to get there."""

    peer: Peer
    load_ms: float


@contextlib.contextmanager
def mcap_mcp_server(files: list[Path], bags: Path, folder: Path) -> Iterator[Loaded]:
    env = {**os.environ, "MCAP_FLATTEN_DEPTH": "5", "MCAP_MAX_MEMORY_MB": "8000"}
    command = [sys.executable, "-m", "mcap_mcp_server", "--data-dir", str(bags)]
    with Server(command, folder, env) as server:
        folders = sorted({path.parent for path in files})
        sessions: dict[str, int] = {}
        tables: dict[str, list[str]] = {ODOMETRY: [], SCENE: [], DETECTIONS: []}

        def load() -> None:
            for i, path in enumerate(files):
                alias = f"bag{i}"
                wanted = [ODOMETRY, *LABEL_TOPICS]
                reply = server.ask("load_recording", file=str(path), alias=alias, topics=wanted)
                for topic in tables:
                    table = alias + topic.replace("/", "_")
                    if table in reply["tables"]:
                        tables[topic].append(table)
                        sessions[table] = folders.index(path.parent)

        def select(what: str, topic: str, where: str) -> str:
            return " UNION ALL ".join(
                f"SELECT {what} FROM {table} WHERE {where}" for table in tables[topic]
            )

        def row(sql: str) -> Any:
            rows = server.ask("query", sql=sql)["rows"]
            return rows[0] if rows else None

        def last_seen(label: str) -> int | None:
            name = json.dumps(label)
            scene = select("timestamp_us", SCENE, f"data LIKE '%{name}%'")
            detections = select(
                "timestamp_us", DETECTIONS, f"""detections LIKE '%"label": {name}%'"""
            )
            found = row(f"SELECT max(timestamp_us) FROM ({scene} UNION ALL {detections})")[0]
            return found and found * 1000

        position = ", ".join(f"pose_pose_position_{axis}" for axis in "xyz")

        def pose_at(ns: int) -> Pose | None:
            poses = select(f"timestamp_us, {position}", ODOMETRY, f"timestamp_us <= {ns // 1000}")
            found = row(f"{poses} ORDER BY timestamp_us DESC LIMIT 1")
            return found and Pose(found[0] * 1000, *found[1:])

        def distance_m() -> float:
            poses = " UNION ALL ".join(
                f"SELECT timestamp_us * 1000 AS ns, {sessions[table]} AS session, "
                f"pose_pose_position_x AS x, pose_pose_position_y AS y, pose_pose_position_z AS z "
                f"FROM {table}"
                for table in tables[ODOMETRY]
            )
            steps = DISTANCE_M.strip().removeprefix("WITH ")
            return row(f"WITH odometry AS ({poses}), {steps}")[0]

        def last_far() -> int | None:
            far = select("timestamp_us", ODOMETRY, f"pose_pose_position_x > {FAR_M}")
            found = row(f"SELECT max(timestamp_us) FROM ({far})")[0]
            return found and found * 1000

        load_ms = timed([load], 0).median_ms
        name = "mcap-mcp-server, MCP over stdio"
        yield Loaded(
            Peer(name, last_seen, pose_at, distance_m, last_far, resolution_ns=1000), load_ms
        )


@contextlib.contextmanager
def rosbag_mcp(files: list[Path], _bags: Path, folder: Path) -> Iterator[Loaded]:
    program = "from rosbag_mcp.server import main; main()"
    with Server([sys.executable, "-c", program], folder) as server:
        starts: dict[Path, float] = {}

        def load() -> None:
            for path in files:
                starts[path] = server.ask("bag_info", bag_path=str(path))["start_time"]

        def pose_at(ns: int) -> Pose | None:
            before = [path for path, start in starts.items() if start <= ns / 1e9]
            if not before:
                return None
            path = str(max(before, key=starts.__getitem__))
            reply = server.ask(
                "get_message_at_time", topic=ODOMETRY, timestamp=ns / 1e9, bag_path=path
            )
            at = reply["data"]["pose"]["pose"]["position"]
            return Pose(round(reply["timestamp"] * 1e9), at["x"], at["y"], at["z"])

        def last_far() -> int | None:
            condition = {
                "condition_type": "greater_than",
                "value": str(FAR_M),
                "field": "pose.pose.position.x",
            }
            for path in sorted(files, key=starts.__getitem__, reverse=True):
                found = server.ask(
                    "search_messages", topic=ODOMETRY, **condition, limit=10**9, bag_path=str(path)
                )
                if found:
                    return round(found[-1]["timestamp"] * 1e9)
            return None

        load_ms = timed([load], 0).median_ms
        # Seconds as floating point are as coarse as 238 ns in these years.
        name = "rosbag-mcp, MCP over stdio"
        answers = {"pose_at": pose_at, "last_far": last_far}
        yield Loaded(Peer(name, **answers, resolution_ns=500, takes_nearest=True), load_ms)

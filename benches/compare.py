"""The same questions about the same history, asked of this project's program and of its peers.

    cargo build --release -p ros2-memory
    python3 benches/compare.py --program target/release/ros2-memory            an hour of the demo
    python3 benches/compare.py --program target/release/ros2-memory --quick    0.1 hours, few calls
    python3 benches/compare.py --program ... --hours 3 | --bags DIR [--peers rosbags duckdb]

Prints one table: the median of each and how many times ours it takes. Ends with exit code 1 when
any two answers differ, or one is not as the demo's truth.json has it, never because of a time. The
peers (compare-requirements.txt) are installed into a virtual environment that is made when it is
not there; one that cannot be installed, or fails, has its rows skipped with the reason.
"""

import argparse
import contextlib
import importlib.metadata
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from compare import ours
from compare.peers import open_peers
from compare.pipe import Server
from compare.questions import files_under
from compare.table import LOADING, SIZE, Table, ask, size_kb

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "compare-requirements.txt"
SCRATCH = HERE.parent / "target" / "tmp"

# Servers that were tried, and why they are in no row.
ABSENT = (
    "topicforge 0.8.1 answers with made-up data where no ROS is installed; "
    "iflow-mcp-binabik-ai-mcp-rosbag-server 0.1.1 refuses every value (no typestore); "
    "bagel-mcp 2.5.3 could answer, but takes 800 MB to install"
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, required=True, help="the ros2-memory program")
    data = parser.add_mutually_exclusive_group()
    data.add_argument(
        "--hours", type=float, help="how much of the demo's history (1; 0.1 when quick)"
    )
    data.add_argument("--bags", type=Path, help="recordings instead, with topics as the demo's")
    parser.add_argument(
        "--peers", nargs="+", metavar="NAME", help="these alone: long histories take some an hour"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions, for CI")
    parser.add_argument("--venv", type=Path, default=SCRATCH / "compare-venv", help="for the peers")
    return parser.parse_args()


def enter_venv(folder: Path) -> None:
    """Goes on as the Python of the virtual environment, with the peers installed there."""
    python = folder / "bin" / "python"
    if Path(sys.prefix).resolve() == folder.resolve():
        return
    installed = folder / "compare-requirements.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        print(f"installing the peers into {folder}", flush=True)
        venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, "-r", REQUIREMENTS]).returncode == 0:
            installed.write_text(REQUIREMENTS.read_text())
        else:
            # Each by itself, so that one of them does not take the others along.
            for line in requirements():
                subprocess.run([*pip, line])
    os.execv(python, [python, *sys.argv])


def requirements() -> list[str]:
    return REQUIREMENTS.read_text().split()


def print_facts(bags: Path, server: Server) -> None:
    files = files_under(bags)
    # Behind the topics there may be a note.
    n_messages = sum(topic.get("count", 0) for topic in server.ask("list_recorded_topics"))
    print(f"{len(files)} bags, {n_messages:,} messages, {size_kb(*files):,.0f} kB")
    versions = []
    for line in requirements():
        name = line.split("==")[0].split("[")[0]
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    print(f"Python {sys.version.split()[0]}; {', '.join(versions)}")


def calls_over_stdio(table: Table, server: Server, end_ns: int, n_calls: int) -> None:
    """From the request's bytes written to the line of the reply read: what a planner waits for."""
    for tool, given in {
        "last_seen": {"label": server.ask("list_labels")["labels"][0]["label"]},
        "get_position_seconds_ago": {"seconds_ago": 10},
        "list_labels": {},
        "memory_card": {},
        "get_topic_at_time": {"topic": "/odom", "timestamp": str(end_ns), "tolerance_s": 10},
    }.items():
        taken_ms = []
        for _ in range(n_calls):
            server.text(tool, **given)
            taken_ms.append(server.taken_ms)
        table.row(
            f"MCP call, ms: {tool}", f"{ours.NAME}, MCP over stdio", statistics.median(taken_ms)
        )


def check_truth(table: Table, bags: Path, last_seen: Any) -> None:
    """Every label of the demo's own truth."""
    if not (bags / "truth.json").exists():
        return
    labels = json.loads((bags / "truth.json").read_text()).get("labels")
    # Other histories keep their truth in other forms.
    for label in labels if isinstance(labels, list) else ():
        last = [label[topic]["last_ns"] or 0 for topic in ("scene_objects", "detections_meta")]
        right, answer = max(last) or None, last_seen(label["label"])
        if answer != right:
            table.differ(f"last seen, {label['label']}", ours.NAME, answer, right)


def main() -> int:
    options = arguments()
    enter_venv(options.venv)
    program = options.program.resolve()
    n_rounds, n_calls, limit_s = (1, 50, 1.0) if options.quick else (5, 200, 5.0)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="compare-", dir=SCRATCH))
        )
        hours = options.hours or (0.1 if options.quick else 1)
        bags = options.bags.resolve() if options.bags else ours.demo(program, scratch, hours)
        table = Table()

        first_ms = [
            ours.first_index_ms(program, scratch, bags, scratch / f"catalog-{i}")
            for i in range(n_rounds)
        ]
        catalog = scratch / "catalog-0"
        start_ms = [ours.whole_process_ms(program, scratch, bags, catalog) for _ in range(n_rounds)]
        server = stack.enter_context(ours.serve(program, scratch, bags, catalog))
        print_facts(bags, server)
        table.head()
        table.row(LOADING, f"{ours.NAME}: first index", statistics.median(first_ms))
        table.row(LOADING, f"{ours.NAME}: a query on its catalog", statistics.median(start_ms))
        table.row(SIZE, f"{ours.NAME}: catalog", size_kb(*catalog.iterdir()))
        table.row(SIZE, "the bags", size_kb(*files_under(bags)))

        span = server.ask("data_time_range")
        start_ns, end_ns = (math.floor(span["earliest"]) * 10**9, math.ceil(span["latest"]) * 10**9)
        us = ours.peer(server, start_ns, end_ns)
        peers = [us, *open_peers(table, stack, bags, scratch, options.peers)]

        labels = server.ask("list_labels", max_bytes=200_000)["labels"]
        common, rare = labels[0]["label"], min(labels, key=lambda label: label["last_ts"])["label"]
        for kind, label in [("common", common), ("long ago", rare), ("absent", "never-seen")]:
            ask(table, f"last seen, {kind}, ms", peers, "last_seen", [label] * n_calls, limit_s)
        chance = random.Random(1)
        moments = [chance.randrange(start_ns, end_ns) for _ in range(10 if options.quick else 100)]
        ask(table, "position at a moment, ms", peers, "pose_at", moments, limit_s)
        ask(table, "distance of it all, ms", peers, "distance_m", [None] * n_rounds, limit_s)
        for what, name in [("it never was", "last_far"), ("it never saw", "last_far_seen")]:
            ask(table, f"last time where {what}, ms", peers, name, [None] * n_rounds, limit_s)
        calls_over_stdio(table, server, end_ns, n_calls)
        check_truth(table, bags, us.last_seen)
        print(f"No rows: {ABSENT}")

    print(*table.differing, sep="\n", end="\n" if table.differing else "")
    print(
        f"{len(table.differing)} answers differ" if table.differing else "all answers are the same"
    )
    return 1 if table.differing else 0


if __name__ == "__main__":
    sys.exit(main())

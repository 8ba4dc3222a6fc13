"""Opens the peers that are there."""

import contextlib
import importlib
from pathlib import Path
from typing import Any

from .questions import Peer, files_under, newest_first, timed
from .table import LOADING, SIZE, Table, size_kb

# The other servers take a second for five files, and longer the more they hold.
MOST_FILES = 1000


def open_peers(
    table: Table,
    stack: contextlib.ExitStack,
    bags: Path,
    scratch: Path,
    wanted: list[str] | None = None,
) -> list[Peer]:
    """The peers that are wanted, or all, and can be opened, with a row each for what they need
    before they can answer."""
    files, peers = files_under(bags), []
    by_rosbags: Any = None

    def module(name: str) -> Any:
        return importlib.import_module(f"compare.{name}")

    def rosbags() -> None:
        nonlocal by_rosbags
        by_rosbags = module("by_rosbags")
        took = timed([lambda: newest_first(files, by_rosbags.span)], 0)
        table.row(LOADING, "rosbags: every summary", took.median_ms)
        peers.append(by_rosbags.peer(took.answers[0]))

    def mcap(decoder: str, package: str) -> None:
        by_mcap = module("by_mcap")
        factory = importlib.import_module(f"{package}.decoder").DecoderFactory
        took = timed([lambda: newest_first(files, by_mcap.span)], 0)
        table.row(LOADING, f"{decoder}: every summary", took.median_ms)
        peers.append(by_mcap.peer(decoder, factory, took.answers[0]))

    def sql() -> None:
        by_sql = module("by_sql")
        database = scratch / "history.sqlite"
        read = timed([lambda: by_sql.read(newest_first(files, by_rosbags.span))], 0)
        rows = read.answers[0]
        parquet_ms = timed([lambda: by_sql.write_parquet(rows, scratch)], 0).median_ms
        sqlite_ms = timed([lambda: by_sql.write_sqlite(rows, database)], 0).median_ms
        table.row(LOADING, "Parquet: rosbags reads, pyarrow writes", read.median_ms + parquet_ms)
        table.row(LOADING, "SQLite: rosbags reads, two indexes", read.median_ms + sqlite_ms)
        table.row(SIZE, "Parquet", size_kb(*scratch.glob("*.parquet")))
        table.row(SIZE, "SQLite", size_kb(database))
        peers.extend([*by_sql.duckdb_peers(scratch), by_sql.sqlite_peer(database)])

    def server(name: str) -> None:
        if len(files) > MOST_FILES:
            raise RuntimeError(f"it loads each file; more than {MOST_FILES} take too long")
        loaded = stack.enter_context(getattr(module("by_servers"), name)(files, bags, scratch))
        table.row(LOADING, f"{name.replace('_', '-')}: every file", loaded.load_ms)
        peers.append(loaded.peer)

    for who, opened in [
        ("rosbags", rosbags),
        ("mcap-ros2-support", lambda: mcap("mcap-ros2-support", "mcap_ros2")),
        (
            "mcap-ros2-support-fast",
            lambda: mcap("mcap-ros2-support-fast", "mcap_ros2_support_fast"),
        ),
        ("DuckDB, SQLite", sql),
        ("mcap-mcp-server", lambda: server("mcap_mcp_server")),
        ("rosbag-mcp", lambda: server("rosbag_mcp")),
    ]:
        if wanted is not None and not any(name.lower() in who.lower() for name in wanted):
            continue
        try:
            opened()
        except Exception as error:
            table.skip("all", who, f"{type(error).__name__}: {error}")
    return peers

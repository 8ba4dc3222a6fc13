"""DuckDB over Parquet files and SQLite with indexes, both filled from one reading by rosbags."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow
from pyarrow import parquet

from . import by_rosbags
from .questions import (
    FAR_M,
    JITTER_M,
    LABEL_TOPICS,
    MAX_SPEED_MPS,
    ODOMETRY,
    Peer,
    Pose,
    Span,
    labels_in,
    pose_in,
)

# The first array also looks for pandas and imports it, which is no part of the work.
pyarrow.array([0])

LAST_SEEN = "SELECT max(ns) FROM labels WHERE label = ?"
ALL_LAST_SEEN = "SELECT label, count(*), max(ns) FROM labels GROUP BY label ORDER BY 2 DESC, 1"
POSE_AT = "SELECT ns, x, y, z FROM odometry WHERE ns <= ? ORDER BY ns DESC LIMIT 1"
DISTANCE_M = f"""
    WITH steps AS (
        SELECT ns - lag(ns) OVER w AS step_ns, session - lag(session) OVER w AS is_border,
            sqrt(pow(x - lag(x) OVER w, 2) + pow(y - lag(y) OVER w, 2)
                + pow(z - lag(z) OVER w, 2)) AS step_m
        FROM odometry WINDOW w AS (ORDER BY ns))
    SELECT coalesce(sum(step_m), 0) FROM steps
    WHERE is_border = 0 AND step_m >= {JITTER_M} AND step_m <= {MAX_SPEED_MPS} * step_ns / 1e9"""
LAST_FAR = f"SELECT max(ns) FROM odometry WHERE x > {FAR_M}"


class Rows(NamedTuple):
    """What both hold: a row for each label of a message, and for each pose with its session."""

    labels: list[tuple[str, int]]
    odometry: list[tuple[int, int, float, float, float]]


def read(newest_first: list[Span]) -> Rows:
    labels: set[tuple[str, int]] = set()
    odometry = []
    folders = {
        folder: i for i, folder in enumerate(sorted({of.path.parent for of in newest_first}))
    }
    for span in newest_first:
        session = folders[span.path.parent]
        for connection, ns, data in by_rosbags.raw(span.path, [*LABEL_TOPICS, ODOMETRY]):
            message = by_rosbags.decode(connection, data)
            if connection.topic == ODOMETRY:
                pose = pose_in(ns, message)
                odometry.append((pose.ns, session, pose.x, pose.y, pose.z))
            else:
                labels.update((label, ns) for label in labels_in(connection.topic, message))
    return Rows(sorted(labels), sorted(odometry))


def write_parquet(rows: Rows, folder: Path) -> None:
    # In order, so that the extremes of the row groups pass over what cannot match.
    for name, columns, values in [
        ("labels", ["label", "ns"], rows.labels),
        ("odometry", ["ns", "session", "x", "y", "z"], rows.odometry),
    ]:
        table = pyarrow.table(
            [list(column) for column in zip(*values)] or [[]] * len(columns), columns
        )
        parquet.write_table(table, folder / f"{name}.parquet", compression="zstd")


def write_sqlite(rows: Rows, path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE labels (label TEXT, ns INTEGER)")
        columns = "ns INTEGER, session INTEGER, x REAL, y REAL, z REAL"
        database.execute(f"CREATE TABLE odometry ({columns})")
        database.executemany("INSERT INTO labels VALUES (?, ?)", rows.labels)
        database.executemany("INSERT INTO odometry VALUES (?, ?, ?, ?, ?)", rows.odometry)
        database.execute("CREATE INDEX by_label ON labels (label, ns)")
        database.execute("CREATE INDEX by_ns ON odometry (ns)")
    database.close()


def peer(name: str, row: Callable[..., Any]) -> Peer:
    def pose_at(ns: int) -> Pose | None:
        found = row(POSE_AT, ns)
        return found and Pose(*found)

    return Peer(
        name,
        lambda label: row(LAST_SEEN, label)[0],
        pose_at,
        lambda: row(DISTANCE_M)[0],
        lambda: row(LAST_FAR)[0],
    )


def duckdb_over(folder: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name in ("labels", "odometry"):
        file = folder / f"{name}.parquet"
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
    return connection


def duckdb_peers(folder: Path) -> list[Peer]:
    warm = duckdb_over(folder)

    def from_the_start(query: str, *values: Any) -> Any:
        with duckdb_over(folder) as connection:
            return connection.execute(query, values).fetchone()

    return [
        peer("DuckDB over Parquet, warm", lambda q, *values: warm.execute(q, values).fetchone()),
        peer("DuckDB over Parquet, connecting anew", from_the_start),
    ]


def sqlite_peer(path: Path) -> Peer:
    database = sqlite3.connect(path)
    return peer(
        "SQLite, indexed", lambda query, *values: database.execute(query, values).fetchone()
    )


def all_last_seen(folder: Path) -> list[tuple[str, int, int]]:
    """Each label, how many messages have it and when the last did; the most common first."""
    with duckdb_over(folder) as connection:
        return connection.execute(ALL_LAST_SEEN).fetchall()

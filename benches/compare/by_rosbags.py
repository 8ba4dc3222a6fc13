"""rosbags: each file by its own Reader, the newest first and no further than to a hit.

One store of types serves all files, since parsing the definitions anew takes longest.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from .questions import (
    DETECTIONS,
    FAR_M,
    LABEL_TOPICS,
    ODOMETRY,
    Peer,
    Pose,
    Span,
    distance_m,
    is_far,
    labels_in,
    pose_in,
)

STORE = get_typestore(Stores.EMPTY)


def span(path: Path) -> Span:
    with Reader(path) as reader:
        # `end_time` is behind the last message.
        return Span(path, reader.start_time, reader.end_time - 1)


def raw(
    path: Path, topics: list[str], stop_ns: int | None = None
) -> Iterator[tuple[Connection, int, bytes]]:
    with Reader(path) as reader:
        wanted = [connection for connection in reader.connections if connection.topic in topics]
        for connection in wanted:
            if connection.msgtype not in STORE.fielddefs:
                types = get_types_from_msg(connection.msgdef.data, connection.msgtype)
                new = {name: of for name, of in types.items() if name not in STORE.fielddefs}
                STORE.register(new)
        # No connections would mean all of them.
        if wanted:
            yield from reader.messages(wanted, stop=stop_ns)


def decode(connection: Connection, data: bytes) -> Any:
    return STORE.deserialize_cdr(data, connection.msgtype)


def peer(newest_first: list[Span]) -> Peer:
    def last_seen(label: str) -> int | None:
        last = None
        for span in newest_first:
            if last is not None and span.end_ns <= last:
                break
            for connection, ns, data in raw(span.path, LABEL_TOPICS):
                if label in labels_in(connection.topic, decode(connection, data)):
                    last = max(last or 0, ns)
        return last

    def pose_at(ns: int) -> Pose | None:
        found = None
        for span in newest_first:
            if found is not None and span.end_ns <= found[1]:
                break
            if span.start_ns <= ns:
                # Only the last of them is decoded.
                for message in raw(span.path, [ODOMETRY], ns + 1):
                    if found is None or message[1] >= found[1]:
                        found = message
        return found and pose_in(found[1], decode(found[0], found[2]))

    def poses() -> Iterator[tuple[str, Pose]]:
        for span in reversed(newest_first):
            for connection, ns, data in raw(span.path, [ODOMETRY]):
                yield str(span.path.parent), pose_in(ns, decode(connection, data))

    def last(topic: str, is_match: Callable[[Any], bool]) -> int | None:
        last = None
        for span in newest_first:
            if last is not None and span.end_ns <= last:
                break
            for connection, ns, data in raw(span.path, [topic]):
                if is_match(decode(connection, data)):
                    last = max(last or 0, ns)
        return last

    return Peer(
        "rosbags",
        last_seen,
        pose_at,
        lambda: distance_m(poses()),
        lambda: last(ODOMETRY, lambda message: message.pose.pose.position.x > FAR_M),
        lambda: last(DETECTIONS, is_far),
    )

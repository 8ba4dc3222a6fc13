"""The package mcap with a decoder of ROS 2 messages, backwards and no further than to a hit."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mcap.reader import make_reader

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


def span(path: Path) -> Span:
    with path.open("rb") as file:
        statistics = make_reader(file).get_summary().statistics
    return Span(path, statistics.message_start_time, statistics.message_end_time)


def kept(factory: Callable[[], Any]) -> SimpleNamespace:
    """Decoders that are made once for all files; a factory keeps them by a number that means
    something else in the next file."""
    decoders: dict[tuple[str, bytes], Any] = {}

    def decoder_for(encoding: str, schema: Any) -> Any:
        key = schema.name, schema.data
        if key not in decoders:
            decoders[key] = factory().decoder_for(encoding, schema)
        return decoders[key]

    return SimpleNamespace(decoder_for=decoder_for)


def peer(name: str, factory: Callable[[], Any], newest_first: list[Span]) -> Peer:
    factories = [kept(factory)]

    def decoded(span: Span, topics: list[str], **options: Any) -> Iterator[tuple[str, int, Any]]:
        with span.path.open("rb") as file:
            reader = make_reader(file, decoder_factories=factories)
            for _, channel, message, ros in reader.iter_decoded_messages(topics, **options):
                yield channel.topic, message.log_time, ros

    def newest(topics: list[str], is_match: Callable[[str, Any], bool], end_ns: int) -> Any:
        best = None
        for span in newest_first:
            if best is not None and span.end_ns <= best[0]:
                break
            if span.start_ns > end_ns:
                continue
            for topic, ns, ros in decoded(span, topics, ending_at=end_ns, reverse=True):
                if is_match(topic, ros):
                    best = max(best or (ns, ros), (ns, ros), key=lambda found: found[0])
                    break
        return best

    def last_seen(label: str) -> int | None:
        found = newest(LABEL_TOPICS, lambda topic, ros: label in labels_in(topic, ros), 2**63)
        return found and found[0]

    def pose_at(ns: int) -> Pose | None:
        found = newest([ODOMETRY], lambda *_: True, ns)
        return found and pose_in(*found)

    def poses() -> Iterator[tuple[str, Pose]]:
        for span in reversed(newest_first):
            for _, ns, ros in decoded(span, [ODOMETRY]):
                yield str(span.path.parent), pose_in(ns, ros)

    def last_far() -> int | None:
        found = newest([ODOMETRY], lambda _, ros: ros.pose.pose.position.x > FAR_M, 2**63)
        return found and found[0]

    def last_far_seen() -> int | None:
        found = newest([DETECTIONS], lambda _, ros: is_far(ros), 2**63)
        return found and found[0]

    return Peer(name, last_seen, pose_at, lambda: distance_m(poses()), last_far, last_far_seen)

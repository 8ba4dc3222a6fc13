"""The one table, and which answers differ."""

from functools import partial
from pathlib import Path
from typing import Any

from .questions import Peer, Pose, timed

LOADING = "before any answer, ms"
SIZE = "size on disk, kB"


class Table:
    """Prints rows, and keeps what a question took us and which answers differ."""

    def __init__(self) -> None:
        self.ours: dict[str, float] = {}
        self.differing: list[str] = []

    def head(self) -> None:
        self.line("question", "who", "median", "of ours", "answers")
        print(f"|{'-' * 40}|{'-' * 40}|{'-' * 13}:|{'-' * 10}:|{'-' * 9}|")

    def line(self, question: str, who: str, median: str, ratio: str, note: str) -> None:
        print(f"| {question:<38} | {who:<38} | {median:>12} | {ratio:>9} | {note:<7} |", flush=True)

    def row(self, question: str, who: str, median: float, note: str = "") -> None:
        """The first row of a question is ours."""
        first = self.ours.setdefault(question, median)
        self.line(question, who, f"{median:,.3f}", f"{median / first:,.2f}", note)

    def skip(self, question: str, who: str, reason: object) -> None:
        self.line(question, who, "", "", f"skipped: {' '.join(str(reason).split())[:150]}")

    def differ(self, question: str, who: str, answer: Any, right: Any) -> None:
        self.differing.append(f"{question}: {who} says {answer}, not {right}")


def same(answer: Any, right: Any, peer: Peer) -> bool:
    """Whether an answer is ours, as exactly as the peer can give it."""
    if answer is None or right is None:
        return answer is right
    if isinstance(right, Pose):
        return answer[1:] == right[1:] and same(answer.ns, right.ns, peer)
    if isinstance(right, float):
        return abs(answer - right) <= 1e-6 * abs(right)
    return abs(answer - right) < peer.resolution_ns


def ask(
    table: Table, question: str, peers: list[Peer], name: str, given: list[Any], limit_s: float
) -> None:
    """Asks each peer the question `name` with each of the given values, and compares with the
    first, which is this project's program."""
    right: list[Any] = []
    for peer in peers:
        answer = getattr(peer, name)
        if answer is None:
            continue
        values = given
        if name == "pose_at" and peer.takes_nearest:
            values = [pose.ns for pose in right if pose]
        try:
            took = timed(
                [partial(answer, value) if value is not None else answer for value in values],
                limit_s,
            )
        except Exception as error:
            if not right:
                raise
            table.skip(question, peer.name, f"{type(error).__name__}: {error}")
            continue
        right = right or took.answers
        expected = [pose for pose in right if pose] if values is not given else right
        wrong = [pair for pair in zip(took.answers, expected) if not same(*pair, peer)]
        if wrong:
            table.differ(question, peer.name, *wrong[0])
        table.row(question, peer.name, took.median_ms, f"{len(wrong)} DIFFER" if wrong else "same")


def size_kb(*files: Path) -> float:
    return sum(file.stat().st_size for file in files) / 1000

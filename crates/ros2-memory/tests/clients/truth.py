"""What really happened, and the spellings of a time."""

import datetime


class Truth:
    def __init__(self, content):
        self.content = content
        self.topics = {topic["topic"]: topic for topic in content["topics"]}
        self.first_ns = min(topic["first_ns"] for topic in content["topics"])
        # Nothing records: this is what `seconds_ago` counts from.
        self.latest_ns = max(topic["last_ns"] for topic in content["topics"])

    def __getitem__(self, key):
        return self.content[key]

    def seconds_ago(self, at_ns):
        """How long before now a time was, or None for one after the newest message."""
        return (self.latest_ns - at_ns) / 1e9 if at_ns <= self.latest_ns else None


def digits(at_ns):
    """A time to the nanosecond, as no float can hold it."""
    return str(at_ns)


def iso_8601(at_ns):
    seconds, ns = divmod(at_ns, 10**9)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ns:09}Z"


def spelled(at_ns, number):
    """A time in one of the ways that a planner writes it, each in turn."""
    ways = (lambda ns: ns / 1e9, digits, iso_8601, lambda ns: repr(ns / 1e9))
    return ways[number % len(ways)](at_ns)


def same_ns(seconds, at_ns):
    """Whether a float of unix seconds is the nearest to that time (integers divide exactly)."""
    return seconds == at_ns / 10**9

"""What was checked over one connection, and how long its calls took."""

import math
import statistics

# Failures past this number are counted but not told.
MAX_FAILURES = 40


class Ledger:
    def __init__(self):
        self.n_checks = 0
        self.n_failed = 0
        self.failures = []
        self.call_ms = []
        self.listing_bytes = 0
        self.protocol = "none"

    def check(self, is_right, *about):
        """Counts one promise, kept or not; `about` says what was asked and got."""
        self.n_checks += 1
        if not is_right:
            self.fail(" ".join(str(part) for part in about)[:1500])
        return is_right

    def equal(self, got, expected, *about):
        return self.check(got == expected, *about, f"got {got!r}, expected {expected!r}")

    def close(self, got, expected, tolerance, *about):
        is_close = is_number(got) and math.isclose(got, expected, rel_tol=0, abs_tol=tolerance)
        return self.check(is_close, *about, f"got {got!r}, expected {expected!r} to {tolerance}")

    def close_angle(self, got_deg, expected_deg, *about):
        """Compares headings, where -180 and 180 degrees are the same."""
        turn = (got_deg - expected_deg + 180) % 360 - 180 if is_number(got_deg) else math.inf
        return self.check(abs(turn) <= 1e-6, *about, f"got {got_deg!r} deg, expected {expected_deg!r} deg")

    def fail(self, words):
        self.n_failed += 1
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(words)

    def summary(self):
        median = f"{statistics.median(self.call_ms):.2f}" if self.call_ms else "no"
        return (
            f"{self.n_checks} checks in {len(self.call_ms)} calls, {self.n_failed} failed, "
            f"median {median} ms a call, revision {self.protocol}, "
            f"tools/list {self.listing_bytes} bytes"
        )


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)

"""The tools as functions: a call gives the reply's JSON, after what every reply must keep."""

import json
import time

import anyio

from connect import as_json

# Objects have been allowed as structured content since the first of these, other values since
# the second. Revisions are dates, and sort as text.
OBJECTS_SINCE = "2025-06-18"
VALUES_SINCE = "2026-07-28"
# Any server would call this small enough to be given twice.
SMALL_BYTES = 1000


def refuse(constant):
    """Python reads NaN and Infinity, which are no JSON."""
    raise ValueError(f"{constant} in a reply")


class Memory:
    def __init__(self, connection, ledger):
        self.connection = connection
        self.ledger = ledger
        self.called = set()

    async def until_all_is_known(self):
        """Waits for a server that was just started: until then, lists end with a note."""
        while any("note" in topic for topic in await self.ask("list_recorded_topics")):
            await anyio.sleep(0.1)

    async def ask(self, tool, **arguments):
        """An ordinary reply: an answer, null, or why there is none."""
        is_error, reply = await self.call(tool, arguments)
        self.ledger.check(not is_error, tool, arguments, "is an error:", reply)
        return reply

    async def refused(self, tool, **arguments):
        """A reply that is marked as an error."""
        is_error, reply = await self.call(tool, arguments)
        self.ledger.check(is_error, tool, arguments, "is no error:", reply)
        return reply

    async def call(self, tool, arguments):
        start = time.perf_counter()
        result = await self.connection.call_tool(tool, arguments)
        self.ledger.call_ms.append((time.perf_counter() - start) * 1e3)
        self.called.add(tool)
        result = as_json(result)
        about = (tool, arguments)
        content = result["content"]
        self.ledger.equal([block["type"] for block in content], ["text"], *about, "has one block:")
        text = content[0]["text"]
        reply = json.loads(text, parse_constant=refuse)
        self.ledger.check("\n" not in text, *about, "is not one line")
        self.check_structured(result, text, reply, about)
        return result.get("isError", False), reply

    def check_structured(self, result, text, reply, about):
        since = OBJECTS_SINCE if isinstance(reply, dict) else VALUES_SINCE
        is_allowed = self.connection.protocol >= since
        if "structuredContent" in result:
            self.ledger.check(is_allowed, *about, "has structured content of a kind that is not allowed")
            self.ledger.equal(result["structuredContent"], reply, *about, "structured content:")
        elif is_allowed and reply is not None:
            self.ledger.check(len(text) > SMALL_BYTES, *about, "has no structured content:", text)

"""How the server presents itself: its name, and the tools."""

import json

from connect import as_json

TOOLS = {
    "memory_card",
    "last_seen",
    "find_sightings",
    "find_intervals",
    "get_statistics",
    "list_labels",
    "explain_gap",
    "expand",
    "list_recorded_topics",
    "data_time_range",
    "get_topic_at_time",
    "get_topic_seconds_ago",
    "get_topic_in_range",
    "get_topic_in_last",
    "get_position_at",
    "get_position_seconds_ago",
    "get_velocity_at",
    "get_velocity_seconds_ago",
    "get_transform_at",
    "get_transform_seconds_ago",
    "list_frames",
    "find_last_match",
    "get_value_when",
    "trajectory_summary",
    "recent_trajectory_summary",
}
# A planner reads the list before every question.
MAX_LISTING_BYTES = 18_000


async def check(memory):
    ledger = memory.ledger
    ledger.equal(memory.connection.server_info["name"], "episodic", "server name:")
    ledger.check(memory.connection.instructions, "there are no instructions")
    listing = as_json(await memory.connection.list_tools())
    ledger.listing_bytes = len(json.dumps(listing, separators=(",", ":"), ensure_ascii=False).encode())
    ledger.check(ledger.listing_bytes < MAX_LISTING_BYTES, "tools/list has", ledger.listing_bytes, "bytes")
    ledger.equal(sorted(tool["name"] for tool in listing["tools"]), sorted(TOOLS), "tools:")
    for tool in listing["tools"]:
        name, hints = tool["name"], tool["annotations"]
        ledger.check(hints["readOnlyHint"] is True, name, "is not read-only")
        ledger.check(hints["destructiveHint"] is False, name, "is destructive")
        ledger.check(hints["idempotentHint"] is True, name, "is not idempotent")
        ledger.check(hints["openWorldHint"] is False, name, "is open-world")
        ledger.check(tool["description"], name, "has no description")
        schema = tool["inputSchema"]
        ledger.equal(schema["type"], "object", name, "takes")
        is_known = set(schema.get("required", [])) <= set(schema["properties"])
        ledger.check(is_known, name, "requires what it does not take")


def check_all_were_called(memory):
    memory.ledger.equal(sorted(TOOLS - memory.called), [], "tools that were not called:")

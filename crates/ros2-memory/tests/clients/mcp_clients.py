"""Asks a running ros2-memory every tool, through Python's own MCP client, and checks the answers.

What is right comes from the truth.json that `ros2-memory demo` leaves beside the history it
writes. The same questions go over standard input and output, over streamable HTTP and over the
older HTTP with server-sent events, with whichever major version of the `mcp` package the
interpreter has. One line a connection is printed; the exit code is 1 when a check failed.
Clients begin with a handshake; with `--newest` one asks for the newest revision without, as only
those since 2.0 can.

    mcp_clients.py --dir HISTORY --server ros2-memory --url http://127.0.0.1:9203

The server at the URL, and the one that is started for standard input and output, must serve the
directory with `-o recorder=none`, so that now is its newest message.
"""

import argparse
import importlib.metadata
import json
import pathlib
import sys
import traceback

import anyio

import connect
import matches
import messages
import motion
import refusals
import seen
import surface
from ledger import Ledger
from memory import Memory
from truth import Truth

# However a connection hangs, its questions end after this time.
TIME_LIMIT_S = 240


async def ask_everything(connection, truth, ledger):
    memory = Memory(connection, ledger)
    await surface.check(memory)
    await memory.until_all_is_known()
    await messages.check(memory, truth)
    await motion.check(memory, truth)
    await matches.check(memory, truth)
    await seen.check(memory, truth)
    await refusals.check(memory, truth)
    surface.check_all_were_called(memory)


async def over(way, truth):
    """Asks over one connection; returns whether all was right."""
    ledger = Ledger()
    try:
        with anyio.fail_after(TIME_LIMIT_S):
            async with way.open() as connection:
                ledger.protocol = connection.protocol
                await ask_everything(connection, truth, ledger)
    # Whatever ends a connection early is one more failure, and the other ways are still tried.
    except Exception:
        ledger.fail("the connection broke off:\n" + traceback.format_exc())
    for failure in ledger.failures:
        print(f"FAILED over {way.name}: {failure}")
    print(f"mcp {importlib.metadata.version('mcp')} over {way.name}: {ledger.summary()}", flush=True)
    return not ledger.failures


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="the history, with its truth.json")
    parser.add_argument("--server", help="the program, to be started for standard input and output")
    parser.add_argument("--url", help="where the program serves HTTP")
    parser.add_argument("--newest", action="store_true", help="agree on the newest revision, without a handshake")
    options = parser.parse_args()
    truth = Truth(json.loads((options.dir / "truth.json").read_text()))
    ways = connect.ways(options.server, options.dir, options.url, options.newest)
    if not ways:
        parser.error("give --server, --url or both")
    outcomes = [await over(way, truth) for way in ways]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))

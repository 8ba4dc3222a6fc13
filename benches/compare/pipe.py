"""MCP over a raw pipe: a line of JSON-RPC out, a line in."""

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

# No answer takes so long; a server that hangs must not keep the comparison from ending.
LIMIT_S = 300


class Server:
    """A server that this process started. Used with `with`, which ends it."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self.unread = b""
        self.n_sent = 0
        # From the request's bytes written to the line of the reply read, without any JSON.
        self.taken_ms = 0.0

    def __enter__(self) -> "Server":
        client = {"name": "compare", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        try:
            self.request("initialize", hello)
            self.write({"method": "notifications/initialized"})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def write(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        self.wrote_at = time.perf_counter()
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def line(self) -> bytes:
        output = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            if not select.select([output], [], [], LIMIT_S)[0]:
                raise RuntimeError(f"no reply within {LIMIT_S} s")
            part = os.read(output, 1 << 16)
            if not part:
                raise RuntimeError("the server ended without a reply")
            self.unread += part
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self.n_sent += 1
        self.write({"id": self.n_sent, "method": method, "params": params})
        while True:
            line = self.line()
            self.taken_ms = (time.perf_counter() - self.wrote_at) * 1e3
            reply = json.loads(line)
            # Notifications may come in between.
            if reply.get("id") == self.n_sent:
                if "error" in reply:
                    raise RuntimeError(reply["error"].get("message"))
                return reply["result"]

    def text(self, tool: str, **arguments: Any) -> str:
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {text[:200]}")
        return text

    def ask(self, tool: str, **arguments: Any) -> Any:
        return json.loads(self.text(tool, **arguments))

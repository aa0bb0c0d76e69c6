"""A client of the lake over one connection, in a process of its own, as every client is.

`python -m bench.serving.lake_client` takes a line `[port, token, queries]` and answers with one:
for each mode, the milliseconds of every answer. It imports nothing of ours, so that its work is not
the server's.
"""

import json
import sys
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any

MODERN = "2026-07-28"
MODES = ("hybrid", "lexical")


def timed(connection: HTTPConnection, token: str, words: Sequence[str], mode: str) -> list[float]:
    times: list[float] = []
    for it in words:
        began = time.perf_counter()
        search(connection, token, it, mode)
        times.append((time.perf_counter() - began) * 1000)
    return times


def search(connection: HTTPConnection, token: str, query: str, mode: str) -> None:
    """One search, by the newest MCP revision. Anything but a full answer ends the bench."""
    meta = "io.modelcontextprotocol"
    asked: dict[str, Any] = {
        "name": "search_content",
        "arguments": {"query": query, "limit": 10, "mode": mode},
        "_meta": {f"{meta}/protocolVersion": MODERN, f"{meta}/clientCapabilities": {}},
    }
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    headers = {
        "content-type": "application/json",
        "accept": "application/json",
        "authorization": f"Bearer {token}",
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "search_content",
    }
    connection.request("POST", "/mcp/lake", json.dumps(frame), headers)
    answer = json.loads(connection.getresponse().read())
    assert not answer["result"].get("isError"), answer
    assert answer["result"]["structuredContent"]["degraded"] == [], answer


def main() -> None:
    for line in sys.stdin:
        port, token, words = json.loads(line)
        connection = HTTPConnection("127.0.0.1", port)
        print(json.dumps({it: timed(connection, token, words, it) for it in MODES}), flush=True)


if __name__ == "__main__":
    main()

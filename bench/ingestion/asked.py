"""Tools of a running Pecia called over MCP, and waiting until all its files can be found."""

import json
import time
from typing import Any
from urllib.request import Request, urlopen

from bench.ingestion.local import Pecia

PAUSE_S = 5


def ask(endpoint: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool at an MCP endpoint."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = Request(endpoint, data=json.dumps(body).encode(), headers=headers)
    with urlopen(request, timeout=120) as answer:
        return json.load(answer)["result"]


def wait_until_indexed(pecia: Pecia, source: str, files: int) -> None:
    """Until every file is read, indexed and embedded."""
    while True:
        stats = pecia.call("admin/source_stats", source_id=source)
        with urlopen(f"{pecia.url}/capacity", timeout=60) as answer:
            index = json.load(answer)["index"]
        print(stats["indexed"] + stats["unread_files"], index, flush=True)
        is_read = stats["indexed"] + stats["unread_files"] >= files
        if is_read and index["vectors"] >= index["chunks"] and not index["lag"]:
            return
        time.sleep(PAUSE_S)

"""An MCP server that holds two nodes, and misbehaves as its first argument says."""

import json
import sys
import time
from typing import Any

NODES = {
    "systems/auth": {
        "node": "systems/auth",
        "title": "Auth",
        "kind": "system",
        "facts": [
            {"topic": "Owner", "text": "The graph team.", "lastTouched": "2026-04-01"},
            {"text": "Untopical.", "lastTouched": "2026-05-01"},
        ],
        "see_also": ["systems/db"],
    },
    "systems/db": {"node": "systems/db", "facts": "none", "see_also": [7]},
}
HOW = sys.argv[1]


def answer(method: str, params: dict[str, Any]) -> object:
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "n"}}
    arguments: dict[str, Any] = params.get("arguments") or {}
    if params["name"] == "list_nodes":
        found: object = {"nodes": [*NODES, "missing"]}
        if HOW == "lie":
            found = {"nodes": [7, None, "../../etc/passwd", "systems/auth"]}
        if HOW == "nonsense":
            return {"content": "words"}
    else:
        name = str(arguments["id"])
        found = NODES.get(name) or ({"node": name, "facts": []} if HOW == "lie" else None)
    return {"content": [{"type": "text", "text": json.dumps(found)}]}


def misbehave() -> None:
    if HOW == "hang":
        time.sleep(600)
    if HOW == "die":
        sys.exit(3)
    while HOW == "flood":
        sys.stdout.write("x" * 100_000)
    if HOW == "chatter":
        sys.stdout.write('not a frame\n{"jsonrpc":"2.0","method":"notifications/x"}\n[1]\n')


for line in sys.stdin:
    frame = json.loads(line)
    if "id" not in frame:
        continue
    if frame["method"] == "tools/call":
        misbehave()
    result = answer(frame["method"], frame.get("params", {}))
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}) + "\n")
    sys.stdout.flush()

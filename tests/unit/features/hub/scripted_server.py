"""An MCP server over stdio that answers with exactly the JSON in a file, and dies where it says so.

No SDK is between the file and the wire: what it sends is what the file holds.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

TOOLS: dict[str, dict[str, bool]] = {
    "give": {},
    "refuse": {},
    "die": {},
    "die_idempotent": {"idempotentHint": True},
    "die_reading": {"readOnlyHint": True},
    "hang": {},
}


def answer(method: str, params: dict[str, Any], script: Path) -> dict[str, Any] | None:
    """The `result` or `error` of an answer; None where there is none to come."""
    if method == "initialize":
        about = {"name": "scripted", "version": "1"}
        version = params["protocolVersion"]
        told: dict[str, Any] = {
            "protocolVersion": version,
            "serverInfo": about,
            "capabilities": {"tools": {}},
        }
        return {"result": told}
    if method == "tools/list":
        schema = {"type": "object"}
        tools = [
            {"name": name, "description": name, "inputSchema": schema, "annotations": hints}
            for name, hints in TOOLS.items()
        ]
        return {"result": {"tools": tools}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": f"no method {method}"}}
    name = str(params["name"])
    if name.startswith("die"):
        os._exit(3)
    if name == "hang":
        return None
    return json.loads(script.read_text(encoding="utf-8"))[name]


def main() -> None:
    script = Path(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked or "method" not in asked:
            continue
        told = answer(asked["method"], asked.get("params") or {}, script)
        if told is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""An MCP server over stdio with one tool, `big`, that returns as many characters as it is asked."""

import json
import sys
from typing import Any

TOOL = {
    "name": "big",
    "description": "Returns n characters.",
    "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "annotations": {"readOnlyHint": True},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = "y" * params["arguments"]["n"]
        content = [{"type": "text", "text": text}]
        return {"content": content, "structuredContent": {"result": text}}
    return {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "large", "version": "1"},
    }


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and asked["method"] in ("initialize", "tools/list", "tools/call"):
        made: dict[str, Any] = {"result": answer(asked["method"], asked.get("params", {}))}
    elif "id" in asked:
        made = {"error": {"code": -32601, "message": "no such method"}}
    else:
        continue
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **made}) + "\n")
    sys.stdout.flush()

"""An MCP server that holds two concepts in one of three ways, and misbehaves as it is told.

The first argument says how it behaves, the second what it has: nodes, concepts or resources.
"""

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
OWNER: dict[str, Any] = {"key": "owner", "heading": "## Owner {#owner}", "content": "The team."}
HIDDEN: dict[str, Any] = {"key": "x", "heading": "## X", "content": "", "suppressed": True}
RESOLVED = {
    "systems/auth": {"frontmatter": {"type": "system"}, "sections": [OWNER, HIDDEN]},
    "systems/db": {"frontmatter": {"type": "system"}, "sections": "none"},
}
PAGES = {
    "okf://kb/systems/auth": "---\ntype: system\n---\n\n## Owner {#owner}\n\nThe resource.\n",
    "okf://kb/systems/db.md": "no frontmatter",
    "okf://kb/picture": None,
}
HOW, HOLDS = sys.argv[1], (*sys.argv[2:], "nodes")[0]
TOOLS = {
    "nodes": ["list_nodes", "get_node"],
    "concepts": ["search", "list_concepts", "read_file"],
    "resources": ["other"],
    "nothing": ["other"],
}


class Refusal(Exception):
    """What it answers with an error."""


def answer(method: str, params: dict[str, Any]) -> object:
    if method == "initialize":
        able: dict[str, Any] = {"resources": {}} if HOLDS == "resources" else {}
        return {"protocolVersion": "2025-06-18", "capabilities": able, "serverInfo": {"name": "n"}}
    if method == "tools/list":
        return {"tools": [{"name": it} for it in TOOLS[HOLDS]]}
    if method == "resources/list":
        return listed_resources(params)
    if method == "resources/read":
        text = PAGES[params["uri"]]
        return {"contents": [{"uri": params["uri"], **({"text": text} if text else {"blob": ""})}]}
    found = called(params["name"], params.get("arguments") or {})
    return {"content": [{"type": "text", "text": json.dumps(found)}]}


def listed_resources(params: dict[str, Any]) -> object:
    """One a page, and for a liar the same page for ever."""
    number = 0 if HOW == "lie" else int(params.get("cursor") or 0)
    page: dict[str, Any] = {"resources": [{"uri": [*PAGES][number]}]}
    more = number + 1 < len(PAGES)
    return {**page, "nextCursor": str(number + 1)} if more else page


def called(tool: str, arguments: dict[str, Any]) -> object:
    if tool == "list_nodes":
        if HOW == "lie":
            return {"nodes": [7, None, "../../etc/passwd", "systems/auth"]}
        return "words" if HOW == "nonsense" else {"nodes": [*NODES, "missing"]}
    if tool == "get_node":
        name = str(arguments["id"])
        return NODES.get(name) or ({"node": name, "facts": []} if HOW == "lie" else None)
    if tool == "list_concepts" and HOW == "nonsense":
        return "words"
    if tool == "list_concepts":
        odd = [7, {"id": 7}, {"id": "../../etc/passwd"}] if HOW == "lie" else []
        return [{"id": it} for it in RESOLVED] + odd
    concept = str(arguments["concept_id"])
    if concept not in RESOLVED or (HOW == "refuse" and concept == "systems/db"):
        raise Refusal
    return RESOLVED[concept]


def misbehave() -> None:
    if HOW == "hang":
        time.sleep(600)
    if HOW == "drip":
        time.sleep(0.4)
    if HOW == "die":
        sys.exit(3)
    while HOW == "flood":
        sys.stdout.write("x" * 100_000)
    while HOW == "babble":
        sys.stdout.write('{"jsonrpc":"2.0","method":"notifications/x","params":{}}\n' * 1_000)
    if HOW == "chatter":
        sys.stdout.write('not a frame\n{"jsonrpc":"2.0","method":"notifications/x"}\n[1]\n')


def said(frame: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": answer(frame["method"], frame.get("params", {}))}
    except Refusal:
        return {"error": {"code": -32000, "message": "no"}}


for line in sys.stdin:
    frame = json.loads(line)
    if "id" not in frame:
        continue
    if frame["method"] in ("tools/call", "resources/read"):
        misbehave()
    reply = {"jsonrpc": "2.0", "id": frame["id"], **said(frame)}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()

"""`pecia remember` and `pecia recall`: what was learnt, for you and your agents."""

import sys
from typing import Any, cast

from pecia.interfaces.cli.output.render import format_cell
from pecia.interfaces.cli.output.style import text_style, wrap_passage
from pecia.interfaces.cli.output.terminal import CommandUsageError, Terminal
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.errors import Json, MissingField

LEARN = "memory.cipher_extract_and_operate_memory"
SEARCH = "memory.cipher_memory_search"
OUTCOMES = {
    "ADD": "Remembered",
    "UPDATE": "Remembered, in place of an older one",
    "DELETE": "Retired an older one",
    "NONE": "Known already",
}


def remember(terminal: Terminal, given: CommandArguments) -> int:
    text = _read_fact(given["words"] or [])
    with open_backend(terminal) as tools:
        found = cast(dict[str, Any], tools.call(tools.find_tool(LEARN), {"interaction": text}))
    document: dict[str, Json] = {
        "memories": [
            {"id": it["id"], "text": it["text"], "outcome": it["event"]} for it in found["memory"]
        ],
        "skipped": [*found["skippedReasons"]],
    }
    terminal.print_result(document, lambda it: _show_outcome(it, document))
    for it in found.get("summary", []):
        if it["action"] in ("UPDATE", "DELETE") and it.get("undo"):
            terminal.info(f"to take it back: pecia memory undo {it['undo']}")
    for it in found["skippedReasons"]:
        terminal.info(f"not remembered: {it['preview']!r}: {it['reason']}")
    return 0 if document["memories"] else 1


def _read_fact(words: list[str]) -> str:
    is_piped = words == ["-"] or not (words or sys.stdin.isatty())
    text = (sys.stdin.read() if is_piped else " ".join(words)).strip()
    if not text:
        raise CommandUsageError(
            MissingField(
                "there is nothing to remember: give a fact, or - for stdin", field="words"
            ),
            hint='pecia remember "Loan bikes are checked on Mondays."',
        )
    return text


def _show_outcome(terminal: Terminal, document: dict[str, Json]) -> None:
    for it in cast(list[dict[str, str]], document["memories"]):
        outcome = OUTCOMES.get(it["outcome"], it["outcome"])
        if terminal.is_terminal:
            terminal.print_line(f"{outcome}: {format_cell(it['text'])}")
        else:
            terminal.print_line("\t".join([it["id"], it["outcome"], format_cell(it["text"])]))


def recall(terminal: Terminal, given: CommandArguments) -> int:
    query = " ".join(given["words"])
    asked: dict[str, Json] = {"query": query, "top_k": given["limit"], "include_metadata": True}
    if given["all_projects"]:
        asked["all_projects"] = True
    with open_backend(terminal) as tools:
        found = cast(dict[str, Any], tools.call(tools.find_tool(SEARCH), asked))
    document: dict[str, Json] = {
        "query": query,
        "memories": [
            {
                "id": it["id"],
                "text": it["text"],
                "tags": it.get("tags", []),
                "said_at": it.get("said_at"),
                "similarity": it.get("similarity"),
            }
            for it in found["results"]
        ],
        "degraded": [reason] if (reason := found.get("metadata", {}).get("fallbackReason")) else [],
    }
    terminal.print_result(document, lambda it: _show_memories(it, document))
    return 0 if document["memories"] else 1


def _show_memories(terminal: Terminal, document: dict[str, Json]) -> None:
    found = cast(list[dict[str, Any]], document["memories"])
    if not found:
        terminal.info(f"nothing remembered about {document['query']!r}")
    for it in cast(list[str], document["degraded"]):
        terminal.info(f"warning: {it}")
    style = text_style(terminal)
    for it in found:
        day = str(it["said_at"] or "")[:10]
        if not terminal.is_terminal:
            terminal.print_line("\t".join([it["id"], day, format_cell(it["text"])]))
            continue
        [first, *rest] = wrap_passage(it["text"], [], style, "  ") or ["  "]
        terminal.print_line(f"•{first[1:]}")
        for line in rest:
            terminal.print_line(line)
        terminal.print_line(style.dim(f"  {day}  {', '.join(it['tags'])}"))


_WORDS = {"type": "array", "items": {"type": "string"}}

COMMANDS = {
    "remember": DirectCommand(
        remember,
        "Remember a fact for you and your agents. One fact, written so that it stands alone.\n"
        "--json: memories (id, text, outcome: ADD, UPDATE, DELETE or NONE), skipped.",
        {"words": {**_WORDS, "description": "The fact; - or nothing reads it from stdin."}},
        ("words",),
        tool_names={"interaction": "words"},
    ),
    "recall": DirectCommand(
        recall,
        "Search what was remembered. Exits with 1 when nothing is found.\n"
        "--json: query, memories (id, text, tags, said_at, similarity), degraded.",
        {
            "words": {**_WORDS, "description": "What to search for."},
            "limit": {"type": "integer", "default": 5, "description": "How many at most."},
            "all_projects": {
                "type": "boolean",
                "default": False,
                "description": "Of all projects, not only this one.",
            },
        },
        ("words",),
        ("words",),
        tool_names={"top_k": "limit", "query": "words"},
    ),
}

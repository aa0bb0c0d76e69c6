"""`pecia search`: passages from everything that you may see."""

import html
import re
import shlex
import time
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote

from pecia.interfaces.cli.output.render import format_cell, format_one_line
from pecia.interfaces.cli.output.style import text_style, wrap_passage
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.corpus.file_uri import file_uri
from pecia.kernel.errors import Json

TOOL = "lake.search_content"
SCHEME = "pecia://file/"
FILTERS = (
    *("mode", "path", "content_type", "modified_after", "modified_before", "author", "cursor"),
)
STILL_READ = re.compile(
    r"\b(?:being crawled|not been crawled yet|index is being built)\b.*: search again shortly"
)
"""What the tool says while a worker reads files, or is about to. Missing embeddings are no reason
to wait: they may take hours, and words are found without them."""
MAX_WAIT_S, POLL_INTERVAL_S = 15.0, 0.25
_MARK = re.compile(r"</?mark>")


def search(terminal: Terminal, given: CommandArguments) -> int:
    arguments: dict[str, Json] = {
        "query": " ".join(given["words"]),
        "limit": given["limit"],
        **({"source_id": given["source"]} if given["source"] else {}),
        **{it: given[it] for it in FILTERS if given[it] is not None},
    }
    with open_backend(terminal) as tools:
        tool = tools.find_tool(TOOL)
        answer = _ask_again_while_crawled(
            terminal, lambda: cast(dict[str, Any], tools.call(tool, arguments))
        )
    document = search_document(str(arguments["query"]), answer)
    terminal.print_result(document, lambda it: _show_hits(it, document))
    for it in cast(list[dict[str, Any]], document["more"]):
        where = f"--source {shlex.quote(it['source'])} --path {shlex.quote(it['path'])}"
        terminal.info(f"{it['passages']} or more other passages of {it['path']}: {where}")
    for it in cast(list[str], document["degraded"]):
        terminal.info(f"warning: {it}")
    return 0 if document["hits"] and not document["unlikely"] else 1


def _ask_again_while_crawled(
    terminal: Terminal, ask: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """The answer; where there is none because files are still being read, a later one."""
    answer, until = ask(), time.monotonic() + MAX_WAIT_S
    if may_find_more(answer):
        terminal.info("nothing found yet, and files are still being read: asking again…")
    while may_find_more(answer) and time.monotonic() < until:
        time.sleep(POLL_INTERVAL_S)
        answer = ask()
    return answer


def may_find_more(answer: dict[str, Any]) -> bool:
    """Whether nothing was found, and files are still being read."""
    return not answer["hits"] and any(map(STILL_READ.search, answer.get("degraded", [])))


def search_document(query: str, answer: dict[str, Any]) -> dict[str, Json]:
    """The shape of `--json`."""
    return {
        "query": query,
        "hits": [_hit_document(it) for it in answer["hits"]],
        "unlikely": bool(answer.get("unlikely")),
        "absent": [*answer.get("absent", [])],
        "more": [_more_document(it) for it in answer.get("more", [])],
        "next_cursor": answer.get("next_cursor"),
        "degraded": [*answer.get("degraded", [])],
    }


def _hit_document(hit: dict[str, Any]) -> dict[str, Json]:
    passage, marks = split_marks(str(hit["snippet"] or ""))
    return {
        "title": hit["title"],
        "source": hit["source_id"],
        "path": hit["key"],
        "uri": file_uri(hit["source_id"], hit["key"]),
        "page": hit["page_no"],
        "passage": passage,
        "matches": [[start, end] for start, end in marks],
        "rank": hit["rank"],
        "match": hit.get("match"),
    }


def _more_document(it: dict[str, Any]) -> dict[str, Json]:
    source, _, path = str(it["uri"]).removeprefix(SCHEME).partition("/")
    return {"source": unquote(source), "path": unquote(path), "passages": it["passages"]}


def split_marks(snippet: str) -> tuple[str, list[tuple[int, int]]]:
    """A snippet as text, and where its matches stand in it."""
    text, marks, start = "", list[tuple[int, int]](), 0
    for place, part in enumerate(_MARK.split(snippet)):
        start, text = len(text), text + html.unescape(part)
        if place % 2:
            marks.append((start, len(text)))
    return text, marks


def _show_hits(terminal: Terminal, document: dict[str, Json]) -> None:
    hits = cast(list[dict[str, Any]], document["hits"])
    if not hits:
        terminal.info(f"nothing found for {document['query']!r}")
        return
    if document["absent"]:
        terminal.info(f"no text here has: {', '.join(cast(list[str], document['absent']))}")
    if document["unlikely"]:
        terminal.info(f"nothing here seems to answer {document['query']!r}{_nearest(terminal)}")
    if not terminal.is_terminal:
        # A line is a hit, and these are none.
        hits = [] if document["unlikely"] else hits
        for it in hits:
            cells = [f"{it['source']}/{it['path']}", it["page"], it["title"], it["passage"]]
            terminal.print_line("\t".join(format_one_line(one) for one in cells))
        return
    style = text_style(terminal)
    for place, it in enumerate(hits, 1):
        page = f", page {it['page']}" if it["page"] is not None else ""
        terminal.print_line(f"{place:>2}  {style.bold(format_cell(it['title'] or it['path']))}")
        where = format_cell(f"{it['source']}/{it['path']}")
        terminal.print_line(f"    {style.dim(where + page)}")
        marks = [(start, end) for start, end in it["matches"]]
        for line in wrap_passage(it["passage"], marks, style, "    "):
            terminal.print_line(line)
        terminal.print_line()
    first = shlex.quote(f"{hits[0]['source']}/{hits[0]['path']}")
    terminal.info(f"Read one: pecia read {first}")
    if document["next_cursor"]:
        terminal.info(f"More: --cursor {document['next_cursor']}")


def _nearest(terminal: Terminal) -> str:
    return "; nearest:" if terminal.is_terminal else "; --json shows the nearest passages"


COMMANDS = {
    "search": DirectCommand(
        search,
        "Search everything that you may see: files, documents and memories. Exits with 1 when\n"
        "nothing is found, or nothing that is likely to answer: then a terminal shows the nearest\n"
        "passages, and a pipe none. While files are still being read, it asks again when nothing\n"
        "is found, for up to 15 seconds. --json: query, hits (title, source, path, uri, page,\n"
        "passage, matches, rank, match from 0 to 1), unlikely, absent (words that nothing has),\n"
        "more (files with more hits than are shown of one: source, path, passages), next_cursor,\n"
        "degraded. In a pipe, or with --plain: a line for each hit, with tabs between place,\n"
        "page, title and passage.",
        {
            "words": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What to search for; the most distinctive words first.",
            },
            "limit": {"type": "integer", "default": 5, "description": "How many, 100 at most."},
            "source": {"type": "string", "description": "Only this source."},
            "path": {"type": "string", "description": "Only paths like this: reports/**."},
            "mode": {"enum": ["hybrid", "lexical"], "description": "lexical: keywords only."},
            "content_type": {"type": "string", "description": "text/html, or text/*."},
            "modified_after": {"type": "string", "description": "A date, inclusive."},
            "modified_before": {"type": "string", "description": "A date, exclusive."},
            "author": {
                "type": "string",
                "description": "Who wrote it last: NAME, person, agent.",
            },
            "cursor": {"type": "string", "description": "Go on where the last answer ended."},
        },
        ("words",),
        ("words",),
        tool_names={"query": "words", "source_id": "source"},
    )
}

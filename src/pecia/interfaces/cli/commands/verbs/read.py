"""`pecia read`: the text of a file or document."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from unicodedata import normalize
from urllib.parse import unquote

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.tools.backend import ToolBackend, open_backend
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.corpus.file_uri import file_uri
from pecia.kernel.errors import InvalidFormat, InvalidInput, Json, NotFound
from pecia.kernel.tool.suggestion import suggest_name

SCHEME = "pecia://file/"
MAX_SOURCES = 200
STATUS_OK = "ok"
DOCUMENT = ".md"
MAX_NAMED = 20
_GLOB_SIGNS = frozenset("*?[]{}!\\")


def read(terminal: Terminal, given: CommandArguments) -> int:
    with open_backend(terminal) as tools:
        source, path = find_file(tools, given["place"])
        pages = [*_read_pages(tools, source, path)]
    last = pages[-1]
    document: dict[str, Json] = {
        "title": last["title"],
        "source": source,
        "path": path,
        "uri": file_uri(source, path),
        "revision": last["revision"],
        "status": last["status"],
        "text": join_chunks([it for page in pages for it in page["chunks"]]),
    }
    text = str(document["text"])
    terminal.print_result(document, lambda it: it.print_line(text.rstrip("\n")))
    if last["status"] != STATUS_OK:
        terminal.info(f"{source}/{path}: {last['reason']}")
    return 0 if last["status"] == STATUS_OK else 1


def find_file(tools: ToolBackend, place: str) -> tuple[str, str]:
    """Source and path of `pecia://file/SOURCE/PATH`, `SOURCE/PATH`, a path in one source, or a
    file of this machine in the folder of a space. A document is found without its `.md` too."""
    if "://" in place:
        source, _, path = place.removeprefix(SCHEME).partition("/")
        if not place.startswith(SCHEME) or not path:
            raise InvalidFormat(
                f"{place!r} is not the address of a file",
                field="place",
                got=place,
                expected=f"{SCHEME}SOURCE/PATH, SOURCE/PATH or PATH",
            )
        return unquote(source), _kept_spelling(tools, unquote(source), unquote(path))
    asked = {"limit": MAX_SOURCES}
    found = cast(Any, tools.call(tools.find_tool("lake.list_sources"), asked))
    sources = [str(it["source_id"]) for it in found["sources"]]
    if (source := place.rstrip("/")) in sources:
        raise InvalidInput(
            f"{source!r} is a source, and files are read",
            field="place",
            got=place,
            expected="SOURCE/PATH",
            hint=f"its files: pecia call lake.list_files --source-id {shlex.quote(source)}",
        )
    named = sorted((it for it in sources if place.startswith(f"{it}/")), key=len)
    if named:
        return named[-1], _kept_spelling(tools, named[-1], place.removeprefix(f"{named[-1]}/"))
    for path in (it for form in _spellings(place) for it in (form, f"{form}{DOCUMENT}")):
        holders = [it for it in sources if path and _has_file(tools, it, path)]
        if len(holders) == 1:
            return holders[0], path
        if holders:
            raise _ambiguous(
                f"{len(holders)} sources have a file {path!r}", [f"{it}/{path}" for it in holders]
            )
    if (found_here := _find_on_disk(tools, place)) is not None:
        return found_here
    return _find_by_name(tools, place)


def _find_by_name(tools: ToolBackend, place: str) -> tuple[str, str]:
    """The one file, in whichever folder, that has this name or title."""
    near = _search_files(tools, place)
    ends = tuple(f"/{form}{end}" for form in _spellings(place) for end in ("", DOCUMENT))
    named = {it: title for it, title in near.items() if f"/{it[1]}".endswith(ends)}
    found = [*(named or (it for it, title in near.items() if title == place))]
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous(f"{len(found)} files are named {place!r}", ["/".join(it) for it in found])
    near_name = suggest_name(place, [path for _, path in near])
    raise NotFound(
        f"no source that you may see has a file {place!r}{near_name}",
        field="place",
        hint="find it with `pecia search WORDS`, or list files with "
        "`pecia call lake.list_files --source-id SOURCE`",
    )


def _search_files(tools: ToolBackend, place: str) -> dict[tuple[str, str], str]:
    """The titles of files that may be meant, by source and path: first those at such a path."""
    words = " ".join(re.findall(r"\w+", place))
    if not words:
        return {}
    tool = tools.find_tool("lake.search_content")
    asked: dict[str, Json] = {"query": words, "mode": "lexical", "limit": MAX_NAMED}
    globs = [f"**/{it}{end}" for it in _spellings(place) for end in ("", DOCUMENT)]
    within = [] if _GLOB_SIGNS & {*place} else [{**asked, "path": it} for it in globs]
    found: dict[tuple[str, str], str] = {}
    for one in (*within, asked):
        answer = cast(dict[str, Any], tools.call(tool, one))
        found |= {(str(it["source_id"]), str(it["key"])): it["title"] for it in answer["hits"]}
    return found


def _ambiguous(message: str, places: Sequence[str]) -> InvalidInput:
    return InvalidInput(
        message, field="place", expected=[*places], hint=f"pecia read {shlex.quote(places[0])}"
    )


def _find_on_disk(tools: ToolBackend, place: str) -> tuple[str, str] | None:
    """A file of this machine, as a shell completes it, by the space whose folder it is in."""
    here = (Path.cwd() / it for it in _spellings(place))
    path = next((it for it in here if it.is_file()), None)
    if path is None:
        return None
    listed = cast(Any, tools.call(tools.find_tool("admin.list_spaces"), {}))
    spaces = [it for it in listed["spaces"] if it["folder"] is not None]
    folders = {Path(str(it["folder"])): str(it["source_id"]) for it in spaces}
    around = next((it for it in path.resolve().parents if it in folders), None)
    if around is None:
        return None
    return folders[around], path.resolve().relative_to(around).as_posix()


def _spellings(path: str) -> list[str]:
    """As it was typed, then with its accents composed and decomposed: which of them a name has
    depends on the system that it was made on, and nobody sees it."""
    return [*dict.fromkeys((path, normalize("NFC", path), normalize("NFD", path)))]


def _kept_spelling(tools: ToolBackend, source: str, path: str) -> str:
    """The spelling under which the source has the file; as typed where it has none."""
    forms = _spellings(path)
    if len(forms) == 1:
        return path
    return next((it for it in forms if _has_file(tools, source, it)), path)


def _has_file(tools: ToolBackend, source: str, path: str) -> bool:
    try:
        tools.call(tools.find_tool("lake.get_file_metadata"), {"source_id": source, "key": path})
    except NotFound:
        return False
    return True


def _read_pages(tools: ToolBackend, source: str, path: str) -> Iterator[dict[str, Any]]:
    tool = tools.find_tool("lake.get_file_text")
    start: int | None = 0
    while start is not None:
        asked: dict[str, Json] = {"source_id": source, "key": path, "start": start}
        page = cast(dict[str, Any], tools.call(tool, asked))
        yield page
        start = page["next_cursor"]


def join_chunks(chunks: list[dict[str, Any]]) -> str:
    """The text of a file. What two neighbours share is written once."""
    parts: list[str] = []
    page, end = None, 0
    for it in chunks:
        start = int(it["char_start"] or 0)
        shared = end - start if it["page_no"] == page and end - start > 0 else 0
        parts.append(str(it["text"])[shared:])
        page, end = it["page_no"], int(it["char_end"] or 0)
    return "".join(parts)


COMMANDS = {
    "read": DirectCommand(
        read,
        "Print the whole text of a file or document. Exits with 1 when it could not be read.\n"
        "--json: title, source, path, uri, revision, status, text.",
        {
            "place": {
                "type": "string",
                "description": "SOURCE/PATH as `pecia search` prints it, pecia://file/SOURCE/PATH, "
                "a path in a source, a file in the folder of a space, or the name or title of "
                "one file.",
            }
        },
        ("place",),
        ("place",),
        tool_names={"key": "place"},
    )
}

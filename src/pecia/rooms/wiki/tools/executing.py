"""`exec`: ten read-only commands over a space, with what is known of the files they name."""

from collections.abc import Mapping
from dataclasses import dataclass

from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki.catalog import ALIAS, FOLDER
from pecia.rooms.wiki.cataloging import catalogs_for
from pecia.rooms.wiki.config.rules import shared
from pecia.rooms.wiki.graph import Graph
from pecia.rooms.wiki.ignore import FILES
from pecia.rooms.wiki.names import split_extension
from pecia.rooms.wiki.shell.execute import execute
from pecia.rooms.wiki.shell.parse import COMMANDS, Refused, Stage
from pecia.rooms.wiki.shell.shape import referenced, shown
from pecia.rooms.wiki.shell.tree import DiskReader, Entry, Tree
from pecia.rooms.wiki.tools.reading import (
    ROOM,
    backlink_rows,
    forward_rows,
    listed,
    moment,
    recent_rows,
)
from pecia.rooms.wiki.tools.shapes import Exec, ExecOut
from pecia.rooms.wiki.wiki import Document, Opened, Wiki

MOST_ENRICHED = 100
MOST_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class Executing:
    """The handler."""

    wiki: Wiki

    async def exec(self, call: Call, ask: Exec) -> Result:
        """Read the space as with a shell: cat, ls, grep, find, head, tail, wc, sort, uniq and cut,
        joined by pipes; globs work. Nothing can be written or run. Documents that the output names
        come with title, tags and links."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        reader, files = await _readable(opened, ask.command)
        home = str(opened.space.folder) if call.caller.kind is CredentialKind.LOCAL else ""
        try:
            stages, ran = await execute(ask.command, reader, files, home)
        except Refused as error:
            return _refused(opened, error)
        tree = Tree(files, reader, home)
        out = shown(stages, ran, tree)
        named = referenced(stages, ran, tree)
        entries = await self._entries(opened, stages, tree, named[:MOST_ENRICHED])
        warnings = list(out.warnings)
        if len(named) > MOST_ENRICHED:
            warnings.append(f"{len(named) - MOST_ENRICHED} more files are named than are described")
        opened.returned([it.removeprefix(opened.lead) for it in named])
        told: dict[str, Json] = {
            "enrichedPaths": entries,
            **listed(opened),
            "stdout": out.text,
            "stdoutTruncated": out.truncated,
            "exitCode": ran.code,
        }
        if warnings:
            told["warnings"] = [*warnings]
        return Result(told, (Text(_said(out.text, warnings, entries)),))

    async def _entries(
        self, opened: Opened, stages: tuple[Stage, ...], tree: Tree, named: list[str]
    ) -> list[Json]:
        if not named:
            return []
        graph = await opened.graph()
        is_one_cat = len(stages) == 1 and stages[0].name == "cat" and len(named) == 1
        rows = [_described(opened, graph, tree, it, is_rich=is_one_cat) for it in named]
        document = _document_at(opened, named[0])
        if is_one_cat and document is not None:
            rows[0]["history"] = await recent_rows(opened, document)
            rows[0]["historySource"] = "shadow-repo" if rows[0]["history"] else "shadow-repo-absent"
        return [*rows]


def executing_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    return (Tool(ROOM, "exec", Scope.READ, Exec, ExecOut, Executing(wiki).exec),)


async def _readable(opened: Opened, command: str) -> tuple[DiskReader, Mapping[str, Entry]]:
    """The files, and catalogs made for this caller where the command speaks of any."""
    files = _files(opened)
    if "catalogs" not in command:
        return DiskReader(opened.space.folder), files
    pages = await catalogs_for(opened)
    pages |= {ALIAS + path[len(FOLDER) :]: text for path, text in pages.items()}
    entries = {path: Entry(len(text.encode()), 0) for path, text in pages.items()}
    return DiskReader(opened.space.folder, pages), {**files, **entries}


def _files(opened: Opened) -> Mapping[str, Entry]:
    """What the caller may read, by its path from the project."""
    stamps = {it.path: it.stamp for it in opened.documents.values()}
    # What is hidden is often a secret, and never a document.
    stamps |= {path: it for path, it in opened.others.items() if not _is_hidden(path)}
    return {opened.lead + path: Entry(it.size_bytes, it.mtime_ns) for path, it in stamps.items()}


def _is_hidden(path: str) -> bool:
    *folders, leaf = path.split("/")
    return any(it.startswith(".") for it in folders) or (leaf[:1] == "." and leaf not in FILES)


def _refused(opened: Opened, error: Refused) -> Result:
    told: dict[str, Json] = {
        "enrichedPaths": [],
        **listed(opened),
        "stdout": "",
        "stdoutTruncated": False,
        "error": {
            "category": error.category,
            "message": error.message,
            "code": InvalidInput.code.name,
            "field": "command",
            "retryable": False,
        },
    }
    allowed = ", ".join(COMMANDS)
    text = f"Error: [{error.category}] {error.message}\nAllowed: {allowed}, joined by |"
    failure = InvalidInput(
        error.message, field="command", category=error.category, allowed=[*COMMANDS]
    )
    return Result(told, (Text(text),), is_error=True, failure=failure)


def _described(
    opened: Opened, graph: Graph, tree: Tree, path: str, *, is_rich: bool
) -> dict[str, Json]:
    document = _document_at(opened, path)
    if document is not None:
        return _document(opened, graph, document, is_rich=is_rich)
    if tree.is_folder(path):
        return _folder(opened, graph, tree, path)
    return {"path": path, "tags": []}


def _document_at(opened: Opened, path: str) -> Document | None:
    found = opened.documents.get(split_extension(path.removeprefix(opened.lead))[0])
    return found if found is not None and opened.lead + found.path == path else None


def _document(
    opened: Opened, graph: Graph, document: Document, *, is_rich: bool
) -> dict[str, Json]:
    name = document.name
    card = opened.card(document, graph.facts[name])
    backlinks = backlink_rows(opened, graph, name)
    forward = forward_rows(opened, graph, name) if is_rich else None
    return {
        "path": opened.lead + document.path,
        "title": card.title,
        "description": card.description,
        "tags": [*card.tags],
        "backlinkCount": len(backlinks),
        "backlinks": backlinks if is_rich else None,
        "forwardLinkCount": None if forward is None else len(forward),
        "forwardLinks": forward,
        "history": None,
        "historySource": None,
        "projectHistory": None,
        "projectHistorySource": None,
        **opened.preview.link(name),
    }


def _folder(opened: Opened, graph: Graph, tree: Tree, path: str) -> dict[str, Json]:
    given = shared(opened.settings.config.folders, path)
    below = tree.below(path)
    counted = below[:MOST_COUNTED]
    documents = [it for path in counted if (it := _document_at(opened, path)) is not None]
    told: dict[str, Json] = {
        "path": path,
        "type": "directory",
        "title": given.title,
        "description": given.description,
        "tags": [*given.tags],
        "directMdCount": sum(
            "/" not in (opened.lead + it.path)[len(path) + 1 :] for it in documents
        ),
        "recursiveMdCount": len(documents),
        "childDirCount": sum(tree.is_folder(f"{path}/{it}") for it in tree.children(path)),
        "truncated": len(below) > MOST_COUNTED,
    }
    if documents:
        newest = max(documents, key=lambda it: it.stamp.mtime_ns)
        told["mostRecentMd"] = {
            "path": opened.lead + newest.path,
            "title": graph.title(newest.name),
            "updatedAt": moment(newest.stamp),
        }
    return told


def _said(out: str, warnings: list[str], entries: list[Json]) -> str:
    lines = [out.rstrip("\n")]
    if warnings:
        lines += ["", "Warnings:", *(f"- {it}" for it in warnings)]
    if entries:
        lines += ["", "Referenced files:"]
    for it in entries:
        assert isinstance(it, dict)
        title = f" — {it['title']}" if it.get("title") else ""
        links = f" ({it['backlinkCount']} backlinks)" if it.get("backlinkCount") else ""
        lines.append(f"- {it['path']}{title}{links}")
    return "\n".join(lines)

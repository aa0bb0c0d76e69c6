"""`exec`: ten read-only commands over a space, with metadata of the files in the output."""

from collections.abc import Mapping
from dataclasses import dataclass

from pecia.features.wiki.catalog_builder import build_catalogs
from pecia.features.wiki.config.folder_rules import match_folder_defaults
from pecia.features.wiki.core.catalog import CATALOG_FOLDER, CATALOG_FOLDER_ALIAS
from pecia.features.wiki.core.graph import LinkGraph
from pecia.features.wiki.core.ignore import IGNORE_FILES
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.shell.execute import execute
from pecia.features.wiki.shell.output import format_output, list_referenced_paths
from pecia.features.wiki.shell.parse import COMMANDS, CommandRefused, PipelineStage
from pecia.features.wiki.shell.tree import DiskReader, FileTree, TreeFile
from pecia.features.wiki.space import OpenSpace, Wiki, WikiDocument
from pecia.features.wiki.tools.documents import (
    FEATURE,
    LINKS_UNREAD,
    MAX_LINKS,
    format_mtime,
    list_backlinks,
    list_forward_links,
    list_recent_versions,
    listing_fields,
)
from pecia.features.wiki.tools.schemas import Exec, ExecOut
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult

MAX_ENRICHED = 100
MAX_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class ShellTool:
    """The handler."""

    wiki: Wiki

    async def exec(self, call: Call, ask: Exec) -> ToolResult:
        """Read the space as with a shell: cat, ls, grep, find, head, tail, wc, sort, uniq and cut,
        joined by pipes; globs work. Nothing can be written or run. Documents that the output names
        come with title, tags and links."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space)
        reader, files = await _open_tree(opened, ask.command)
        home = str(opened.space.folder) if call.caller.kind is CredentialKind.LOCAL else ""
        try:
            stages, ran = await execute(ask.command, reader, files, home)
        except CommandRefused as error:
            return _refusal_result(opened, error)
        tree = FileTree(files, reader, home)
        out = format_output(stages, ran, tree)
        named = list_referenced_paths(stages, ran, tree)
        warnings = list(out.warnings)
        graph = await opened.graph_soon() if named else None
        if named and graph is None:
            shown = (_document_at(opened, it) for it in named[:MAX_ENRICHED])
            graph = await opened.graph_of([it for it in shown if it is not None])
            warnings.append(LINKS_UNREAD)
        entries = await self._entries(opened, graph, stages, tree, named[:MAX_ENRICHED])
        if len(named) > MAX_ENRICHED:
            warnings.append(f"{len(named) - MAX_ENRICHED} more files are not described")
        opened.record_returned([it.removeprefix(opened.prefix) for it in named])
        fields: dict[str, Json] = {
            "enrichedPaths": entries,
            **listing_fields(opened),
            "stdout": out.text,
            "stdoutTruncated": out.truncated,
            "exitCode": ran.code,
        }
        if warnings:
            fields["warnings"] = [*warnings]
        return ToolResult(fields, (TextContent(_format_text(out.text, warnings, entries)),))

    async def _entries(
        self,
        opened: OpenSpace,
        graph: LinkGraph | None,
        stages: tuple[PipelineStage, ...],
        tree: FileTree,
        named: list[str],
    ) -> list[Json]:
        if graph is None:
            return []
        is_one_cat = len(stages) == 1 and stages[0].name == "cat" and len(named) == 1
        rows = [_describe_path(opened, graph, tree, it, is_rich=is_one_cat) for it in named]
        document = _document_at(opened, named[0])
        if is_one_cat and document is not None:
            rows[0]["history"] = await list_recent_versions(opened, document)
            rows[0]["historySource"] = "shadow-repo" if rows[0]["history"] else "shadow-repo-absent"
        return [*rows]


def shell_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    return (Tool(FEATURE, "exec", Scope.READ, Exec, ExecOut, ShellTool(wiki).exec),)


async def _open_tree(opened: OpenSpace, command: str) -> tuple[DiskReader, Mapping[str, TreeFile]]:
    """The files, and catalogs built for this caller if the command names any."""
    files = _files(opened)
    if "catalogs" not in command:
        return DiskReader(opened.space.folder), files
    pages = await build_catalogs(opened)
    pages |= {
        CATALOG_FOLDER_ALIAS + path[len(CATALOG_FOLDER) :]: text for path, text in pages.items()
    }
    entries = {path: TreeFile(len(text.encode()), 0) for path, text in pages.items()}
    return DiskReader(opened.space.folder, pages), {**files, **entries}


def _files(opened: OpenSpace) -> Mapping[str, TreeFile]:
    """What the caller may read, by its path from the project."""
    stamps = {it.path: it.stamp for it in opened.documents.values()}
    # Hidden files are often secrets, and never documents.
    stamps |= {path: it for path, it in opened.other_files.items() if not _is_hidden(path)}
    return {
        opened.prefix + path: TreeFile(it.size_bytes, it.mtime_ns) for path, it in stamps.items()
    }


def _is_hidden(path: str) -> bool:
    *folders, leaf = path.split("/")
    return any(it.startswith(".") for it in folders) or (
        leaf[:1] == "." and leaf not in IGNORE_FILES
    )


def _refusal_result(opened: OpenSpace, error: CommandRefused) -> ToolResult:
    fields: dict[str, Json] = {
        "enrichedPaths": [],
        **listing_fields(opened),
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
    return ToolResult(fields, (TextContent(text),), is_error=True, failure=failure)


def _describe_path(
    opened: OpenSpace, graph: LinkGraph, tree: FileTree, path: str, *, is_rich: bool
) -> dict[str, Json]:
    document = _document_at(opened, path)
    if document is not None:
        return _describe_document(opened, graph, document, is_rich=is_rich)
    if tree.is_folder(path):
        return _describe_folder(opened, graph, tree, path)
    return {"path": path, "tags": []}


def _document_at(opened: OpenSpace, path: str) -> WikiDocument | None:
    found = opened.documents.get(split_extension(path.removeprefix(opened.prefix))[0])
    return found if found is not None and opened.prefix + found.path == path else None


def _describe_document(
    opened: OpenSpace, graph: LinkGraph, document: WikiDocument, *, is_rich: bool
) -> dict[str, Json]:
    name = document.name
    card = opened.card(document, graph.facts[name])
    backlinks = list_backlinks(opened, graph, name)
    forward = list_forward_links(opened, graph, name) if is_rich else None
    return {
        "path": opened.prefix + document.path,
        "title": card.title,
        "description": card.description,
        "tags": [*card.tags],
        "backlinkCount": len(backlinks),
        "backlinks": [*backlinks[:MAX_LINKS]] if is_rich else None,
        "forwardLinkCount": None if forward is None else len(forward),
        "forwardLinks": None if forward is None else [*forward[:MAX_LINKS]],
        "history": None,
        "historySource": None,
        "projectHistory": None,
        "projectHistorySource": None,
        **opened.preview.link(name),
    }


def _describe_folder(
    opened: OpenSpace, graph: LinkGraph, tree: FileTree, path: str
) -> dict[str, Json]:
    given = match_folder_defaults(opened.settings.config.folders, path)
    below = tree.below(path)
    counted = below[:MAX_COUNTED]
    documents = [it for path in counted if (it := _document_at(opened, path)) is not None]
    fields: dict[str, Json] = {
        "path": path,
        "type": "directory",
        "title": given.title,
        "description": given.description,
        "tags": [*given.tags],
        "directMdCount": sum(
            "/" not in (opened.prefix + it.path)[len(path) + 1 :] for it in documents
        ),
        "recursiveMdCount": len(documents),
        "childDirCount": sum(tree.is_folder(f"{path}/{it}") for it in tree.children(path)),
        "truncated": len(below) > MAX_COUNTED,
    }
    if documents:
        newest = max(documents, key=lambda it: it.stamp.mtime_ns)
        fields["mostRecentMd"] = {
            "path": opened.prefix + newest.path,
            "title": graph.title(newest.name),
            "updatedAt": format_mtime(newest.stamp),
        }
    return fields


def _format_text(out: str, warnings: list[str], entries: list[Json]) -> str:
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

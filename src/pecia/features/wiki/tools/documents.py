"""Reading: one document with its metadata, and the list of all."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from anyio.to_thread import run_sync

from pecia.features.wiki.catalog_builder import build_catalogs
from pecia.features.wiki.config.folder_rules import DocumentCard
from pecia.features.wiki.core.assets import find_referenced_assets, media_kind
from pecia.features.wiki.core.catalog import canonical_catalog_path, is_catalog
from pecia.features.wiki.core.graph import LinkEdge, LinkGraph
from pecia.features.wiki.core.guard import document_version
from pecia.features.wiki.core.names import parse_file_path, parse_folder_name, split_extension
from pecia.features.wiki.core.text.section import find_section
from pecia.features.wiki.history.visible import VisibleHistory
from pecia.features.wiki.space import OpenSpace, Wiki, WikiDocument
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileStamp
from pecia.features.wiki.suggestion.store import Suggestions
from pecia.features.wiki.tools.pagination import TextPart, paginate_rows, slice_text, sort_rows
from pecia.features.wiki.tools.schemas import (
    DocumentsOut,
    ListDocuments,
    PreviewedOutput,
    ReadDocument,
)
from pecia.kernel.errors import InvalidFormat, Json, NotFound
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult

FEATURE = "wiki"

LINKS_UNREAD = (
    "The space is being read for the first time since the start: links from other documents, which "
    "files they embed, and where links by title lead are not known yet. Ask again in a moment."
)
NOT_INDEXED = (
    "The space is being indexed for the first time since the start: some documents may be missing "
    "here. Ask again in a moment."
)
# Links returned with a document; the link tools return all of them.
MAX_LINKS = 200
MAX_UNREADABLE = 50


@dataclass(frozen=True, slots=True)
class DocumentTools:
    """The handlers."""

    wiki: Wiki

    async def read_document(self, call: Call, ask: ReadDocument) -> ToolResult:
        """Read a document with title, description, tags, links both ways and latest versions."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space, ask.path)
        path = parse_file_path(opened.parse_uri(ask.path, "path") or ask.path)
        if is_catalog(path):
            return await _read_catalog(opened, ask, path)
        document = find_document(opened, path)
        body = await run_sync(disk.read, opened.root, document.path)
        text = opened.decode(document, body)
        whole = await opened.graph_soon()
        graph = await opened.graph_of([document]) if whole is None else whole
        facts = graph.facts[document.name]
        card = opened.card(document, facts)
        fields = _document_fields(opened, document, card, graph)
        if whole is None:
            fields["incomplete"] = LINKS_UNREAD
        if ask.heading is not None:
            fields["section"] = [*(section := find_section(text, ask.heading)).path]
            part = slice_text(section.span.of(text), ask.offset, ask.limit)
        else:
            part = slice_text(text, ask.offset, ask.limit)
        fields |= {"frontmatter": dict(facts.frontmatter), **_content(part)}
        fields["version"] = document_version(body)
        fields["history"] = await list_recent_versions(opened, document)
        if facts.problem:
            fields["frontmatterProblem"] = facts.problem
        if waiting := await _count_suggestions(opened, document.path):
            fields["openSuggestions"] = waiting
        opened.record_returned([document.path])
        return ToolResult(fields, (TextContent(_format_document(fields, _with_part_note(part))),))

    async def list_documents(self, call: Call, ask: ListDocuments) -> ToolResult:
        """List the documents of the space and the files that they embed, all or those below one
        folder, in pages: continue with `cursor` as `nextCursor` says."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space)
        below = _folder(ask.dir)
        if below:
            await _require_folder(opened, below.rstrip("/"))
        found = [it for it in opened.documents.values() if it.name.startswith(below)]
        templates = opened.template_names
        rows = [_document_row(opened, it, is_template=it.name in templates) for it in found]
        graph = await opened.graph_soon() if opened.other_files else None
        rows += [] if graph is None else await _asset_rows(opened, graph, below)
        page = paginate_rows(sort_rows(rows), ask.cursor, ask.limit)
        shown = {str(it["docName"]) for it in page.rows if it["kind"] == "document"}
        opened.record_returned([it.path for it in found if it.name in shown])
        ends: dict[str, Json] = {"total": len(rows), "nextCursor": page.next_cursor}
        if opened.unreadable:
            named = islice(sorted(opened.unreadable.items()), MAX_UNREADABLE)
            ends["unreadable"] = [{"path": it, "reason": why} for it, why in named]
            ends["unreadableTotal"] = len(opened.unreadable)
        fields = listing_fields(opened)
        # What is missing of the documents themselves matters more.
        if graph is None and opened.other_files and "incomplete" not in fields:
            fields["incomplete"] = LINKS_UNREAD
        return ToolResult({"documents": [*page.rows], **fields, **ends})


def document_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = DocumentTools(wiki)
    return (
        Tool(FEATURE, "read_document", Scope.READ, ReadDocument, PreviewedOutput, it.read_document),
        Tool(FEATURE, "list_documents", Scope.READ, ListDocuments, DocumentsOut, it.list_documents),
    )


def listing_fields(opened: OpenSpace) -> dict[str, Json]:
    """Fields that go with every list."""
    # Where the folder lies is only for users of a local install.
    is_local = opened.call.caller.kind is CredentialKind.LOCAL
    cwd = str(opened.space.folder) if is_local else opened.space.name
    fields: dict[str, Json] = {"ui": opened.preview.ui, "cwd": cwd, "space": opened.space.name}
    if not opened.is_indexed and not opened.space.is_whole:
        fields["incomplete"] = NOT_INDEXED
    return fields


def find_document(opened: OpenSpace, path: str) -> WikiDocument:
    """The document at a path from the project; its name alone works as well."""
    wanted = parse_file_path(path)
    inside = wanted.removeprefix(opened.prefix)
    if wanted.startswith(opened.prefix):
        name, extension = split_extension(inside)
        found = opened.documents.get(name)
        if found is not None and (not extension or found.path == inside):
            return found
        opened.require_markdown(inside, "path")
        _require_no_folder(opened, path, inside)
    name = split_extension(inside)[0]
    raise opened.refuse_unknown(f"no document at {path!r}", name, path=path[:500])


def _require_no_folder(opened: OpenSpace, path: str, inside: str) -> None:
    """Refuse a folder with the way to what is in it."""
    below = f"{inside}/"
    if count := sum(it.startswith(below) for it in opened.documents):
        raise NotFound(
            f"{path!r} is a folder of {count} documents, not a document",
            path=path[:500],
            hint=f'list_documents with "dir": "{inside}" lists them.',
        )


async def list_recent_versions(opened: OpenSpace, document: WikiDocument) -> list[Json]:
    """The latest versions, as many as configured."""
    depth = opened.settings.config.mcp.tools.read_document.historyDepth
    found = await VisibleHistory(opened).list_recent(document.path, depth)
    names = await opened.wiki.load_writer_names(opened.call) if found else {}
    return [
        {
            "hash": it.sha,
            "date": it.at,
            "writerId": it.note.writer,
            "writerName": names.get(it.note.writer, it.note.writer),
            "isAgent": it.note.writer.startswith("agent-"),
            "writerClassification": it.note.writer.partition("-")[0],
            "message": it.note.subject,
            "branch": "main",
            "contributors": [it.note.writer],
            **it.note.client_fields(),
        }
        for it in found
    ]


async def _count_suggestions(opened: OpenSpace, path: str) -> int:
    async with opened.wiki.store.reading(opened.call.caller) as tx:
        return await Suggestions(tx, opened.location).count_open(path)


async def _read_catalog(opened: OpenSpace, ask: ReadDocument, asked: str) -> ToolResult:
    path = canonical_catalog_path(asked)
    pages = await build_catalogs(opened)
    if path not in pages:
        raise NotFound(f"no catalog at {path!r}", path=path[:500])
    part = slice_text(pages[path], ask.offset, ask.limit)
    fields: dict[str, Json] = {"previewUrl": None, "path": path, **_content(part)}
    return ToolResult(fields, (TextContent(_with_part_note(part)),))


def _content(part: TextPart) -> dict[str, Json]:
    """The text; if it is a part, which one, and where the next begins."""
    if part.start == 0 and part.next_offset is None:
        return {"content": part.text}
    return {
        "content": part.text,
        "contentStart": part.start,
        "contentEnd": part.end,
        "contentTotal": part.total,
        "nextOffset": part.next_offset,
    }


def _with_part_note(part: TextPart) -> str:
    """The text with a note, for clients that read no structured fields."""
    if part.next_offset is None:
        return part.text
    return (
        f"{part.text}\n\n[Truncated: characters {part.start} to {part.end} of {part.total}. "
        f"Continue with read_document, offset {part.next_offset}.]"
    )


def list_backlinks(opened: OpenSpace, graph: LinkGraph, name: str) -> list[dict[str, Json]]:
    return [
        {
            "source": it.source,
            "anchor": it.anchor,
            "title": graph.title(it.source),
            "snippet": it.snippet,
            **edge_fields(it),
            **opened.preview.link(it.source),
        }
        for it in graph.backlinks(name)
    ]


def edge_fields(edge: LinkEdge) -> dict[str, Json]:
    """What kind of link it is, where it is no plain one."""
    relation: dict[str, Json] = {} if edge.relation is None else {"relation": edge.relation}
    return {**relation, **({"embed": True} if edge.is_embed else {})}


def list_forward_links(opened: OpenSpace, graph: LinkGraph, name: str) -> list[dict[str, Json]]:
    """Links that lead nowhere are `dead`; or `unread`, if that is not known yet."""
    unresolved: dict[str, Json] = {"unread" if graph.is_partial else "dead": True}
    documents: list[dict[str, Json]] = [
        {
            "kind": "doc",
            "docName": it.target,
            "anchor": it.anchor,
            "title": graph.title(it.target),
            "snippet": it.snippet,
            **edge_fields(it),
            **({} if it.is_alive or opened.has_place(it.target) else unresolved),
            **opened.preview.link(it.target),
        }
        for it in graph.forward_links(name)
    ]
    addresses: list[dict[str, Json]] = [
        {"kind": "external", "url": it.url, "title": it.title, "snippet": it.snippet}
        for it in graph.addresses.get(name, ())
    ]
    return [*documents, *addresses]


def _document_fields(
    opened: OpenSpace, document: WikiDocument, card: DocumentCard, graph: LinkGraph
) -> dict[str, Json]:
    back = list_backlinks(opened, graph, document.name)
    forward = list_forward_links(opened, graph, document.name)
    return {
        **opened.preview.link(document.name),
        "docName": document.name,
        "path": opened.prefix + document.path,
        "title": card.title or document.name.rpartition("/")[2],
        "description": card.description,
        "tags": [*card.tags],
        "backlinks": [*back[:MAX_LINKS]],
        "backlinkCount": len(back),
        "forwardLinks": [*forward[:MAX_LINKS]],
        "forwardLinkCount": len(forward),
    }


def _format_document(fields: dict[str, Json], text: str) -> str:
    """The same as text."""
    lines = [f"## {fields['title']}", ""]
    if fields["description"]:
        lines.append(f"**Description:** {fields['description']}")
    if tags := fields["tags"]:
        assert isinstance(tags, list)
        lines.append(f"**Tags:** {', '.join(map(str, tags))}")
    lines += [f"**Path:** {fields['path']}", f"**Version:** {fields['version']}"]
    if waiting := fields.get("openSuggestions"):
        lines.append(f"**Open suggestions:** {waiting}; list_suggestions has them")
    rows = fields["history"]
    if isinstance(rows, list) and rows:
        lines += ["", "### Recent activity", *map(_format_version, rows)]
    lines += _format_links(fields, "Backlinks", "backlink", "get_backlinks")
    lines += _format_links(fields, "Forward links", "forwardLink", "get_forward_links")
    if "incomplete" in fields:
        lines += ["", f"[{fields['incomplete']}]"]
    return "\n".join([*lines, "", "### Content", "", text])


def _format_links(fields: dict[str, Json], title: str, key: str, tool: str) -> list[str]:
    rows, count = fields[f"{key}s"], fields[f"{key}Count"]
    assert isinstance(rows, list)
    assert isinstance(count, int)
    if not rows:
        return []
    more = [f"- {count - len(rows)} more: {tool}"] if count > len(rows) else []
    return ["", f"### {title} ({count})", *map(_format_link, rows), *more]


def _format_link(row: Json) -> str:
    assert isinstance(row, dict)
    place = row.get("source") or row.get("docName") or row.get("url")
    return f"- {row['title']} ({place})" + (" [dead]" if row.get("dead") else "")


def _format_version(row: Json) -> str:
    assert isinstance(row, dict)
    who = f"{row['writerClassification']}: {row['writerName']}"
    return f"- {str(row['hash'])[:7]} {row['date']} [{who}] {row['message']}"


def _document_row(
    opened: OpenSpace, document: WikiDocument, *, is_template: bool
) -> dict[str, Json]:
    return {
        "kind": "document",
        "docName": document.name,
        "docExt": document.extension,
        "path": opened.prefix + document.path,
        "size": document.stamp.size_bytes,
        "modified": format_mtime(document.stamp),
        "isSymlink": False,
        "canonicalDocName": None,
        "targetPath": None,
        **({"template": True} if is_template else {}),
        **opened.preview.link(document.name),
    }


async def _asset_rows(opened: OpenSpace, graph: LinkGraph, below: str) -> list[dict[str, Json]]:
    found = await run_sync(
        find_referenced_assets, graph.facts, graph.names, opened.other_files, graph.rules
    )
    return [
        {
            "kind": "asset",
            "docName": path,
            "docExt": "",
            "path": opened.prefix + path,
            "assetExt": path[path.rfind(".") :] if "." in path else "",
            **({"mediaKind": kind} if (kind := media_kind(path)) else {}),
            "referencedBy": [*sources],
            "size": opened.other_files[path].size_bytes,
            "modified": format_mtime(opened.other_files[path]),
            "isSymlink": False,
            "canonicalDocName": None,
            "targetPath": None,
            "previewUrl": None,
        }
        for path, sources in found.items()
        if path.startswith(below)
    ]


def format_mtime(stamp: FileStamp) -> str:
    at = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _require_folder(opened: OpenSpace, folder: str) -> None:
    """Refuse a folder that is not there, as one that the caller may not see."""
    if opened.has_place(folder) or not (opened.is_indexed or opened.space.is_whole):
        return
    if opened.space.is_whole and await run_sync(disk.is_folder, opened.root, folder):
        return
    raise NotFound(f"no folder {folder!r}", field="dir", got=folder[:200])


def _folder(text: str | None) -> str:
    if text is None or text.strip("/") in ("", "."):
        return ""
    if text.startswith("/"):
        raise InvalidFormat(
            f'Field "dir" must be relative to the space, not {text[:200]!r}',
            field="dir",
            got=text[:200],
        )
    return f"{parse_folder_name(text.removeprefix('./').rstrip('/'), 'dir')}/"

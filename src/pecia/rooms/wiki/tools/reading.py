"""Reading: one document with what is known of it, and the list of all."""

from dataclasses import dataclass
from datetime import UTC, datetime

from anyio.to_thread import run_sync

from pecia.kernel.errors import InvalidFormat, Json, NotFound
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki.assets import media_kind, referenced_assets
from pecia.rooms.wiki.catalog import is_catalog, own_path
from pecia.rooms.wiki.cataloging import catalogs_for
from pecia.rooms.wiki.config.rules import Card
from pecia.rooms.wiki.disk import Stamp
from pecia.rooms.wiki.graph import Graph
from pecia.rooms.wiki.names import file_path, folder_name, split_extension
from pecia.rooms.wiki.tools.parts import TextPart, in_order, rows_page, text_part
from pecia.rooms.wiki.tools.shapes import DocumentsOut, ListDocuments, Previewed, ReadDocument
from pecia.rooms.wiki.wiki import Document, Opened, Wiki

ROOM = "wiki"

# Beside a document; the tools for links give all of them.
MOST_LINKS = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """The handlers."""

    wiki: Wiki

    async def read_document(self, call: Call, ask: ReadDocument) -> Result:
        """Read a document with title, description, tags, links both ways and latest versions."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        if is_catalog(file_path(ask.path)):
            return await _catalog(opened, own_path(file_path(ask.path)), ask.offset)
        document = document_at(opened, ask.path)
        text = await opened.text(document)
        graph = await opened.graph()
        facts = graph.facts[document.name]
        card = opened.card(document, facts)
        told = _told(opened, document, card, graph)
        part = text_part(text, ask.offset)
        told |= {"frontmatter": dict(facts.frontmatter), **_content(part)}
        told["history"] = await recent_rows(opened, document)
        if facts.problem:
            told["frontmatterProblem"] = facts.problem
        opened.returned([document.path])
        return Result(told, (Text(_page(told, _marked(part))),))

    async def list_documents(self, call: Call, ask: ListDocuments) -> Result:
        """List the documents of the space and the files that they show, all of them or those below
        one folder, in pages: go on with `cursor` as `nextCursor` says."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        below = _folder(ask.dir)
        found = [it for it in opened.documents.values() if it.name.startswith(below)]
        rows = [_row(opened, it) for it in found]
        rows += await _asset_rows(opened, below)
        page = rows_page(in_order(rows), ask.cursor, ask.limit)
        shown = {str(it["docName"]) for it in page.rows if it["kind"] == "document"}
        opened.returned([it.path for it in found if it.name in shown])
        ends: dict[str, Json] = {"total": len(rows), "nextCursor": page.next_cursor}
        return Result({"documents": [*page.rows], **ends, **listed(opened)})


def reading_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = Reading(wiki)
    return (
        Tool(ROOM, "read_document", Scope.READ, ReadDocument, Previewed, it.read_document),
        Tool(ROOM, "list_documents", Scope.READ, ListDocuments, DocumentsOut, it.list_documents),
    )


def listed(opened: Opened) -> dict[str, Json]:
    """What goes with every list."""
    # Where the folder lies is for those who sit at the machine.
    is_local = opened.call.caller.kind is CredentialKind.LOCAL
    cwd = str(opened.space.folder) if is_local else opened.space.name
    return {"ui": opened.preview.ui, "cwd": cwd, "space": opened.space.name}


def document_at(opened: Opened, path: str) -> Document:
    """The document at a path from the project; its name alone will do as well."""
    wanted = file_path(path)
    inside = wanted.removeprefix(opened.lead)
    if wanted.startswith(opened.lead):
        name, extension = split_extension(inside)
        found = opened.documents.get(name)
        if found is not None and (not extension or found.path == inside):
            return found
    raise NotFound(f"no document at {path!r}", path=path[:500])


async def recent_rows(opened: Opened, document: Document) -> list[Json]:
    """The latest versions, as many as the settings say."""
    depth = opened.settings.config.mcp.tools.read_document.historyDepth
    found = await opened.history.recent(document.path, depth)
    names = await opened.wiki.writers(opened.call) if found else {}
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
        }
        for it in found
    ]


async def _catalog(opened: Opened, path: str, offset: int) -> Result:
    pages = await catalogs_for(opened)
    if path not in pages:
        raise NotFound(f"no catalog at {path!r}", path=path[:500])
    part = text_part(pages[path], offset)
    told: dict[str, Json] = {"previewUrl": None, "path": path, **_content(part)}
    return Result(told, (Text(_marked(part)),))


def _content(part: TextPart) -> dict[str, Json]:
    """The text; and where it is a part, which one, and where the next begins."""
    if part.start == 0 and part.next_offset is None:
        return {"content": part.text}
    return {
        "content": part.text,
        "contentStart": part.start,
        "contentEnd": part.end,
        "contentTotal": part.total,
        "nextOffset": part.next_offset,
    }


def _marked(part: TextPart) -> str:
    """The text for whoever reads no fields."""
    if part.next_offset is None:
        return part.text
    return (
        f"{part.text}\n\n[Cut: characters {part.start} to {part.end} of {part.total}. "
        f"Go on with read_document, offset {part.next_offset}.]"
    )


def backlink_rows(opened: Opened, graph: Graph, name: str) -> list[Json]:
    return [
        {
            "source": it.source,
            "anchor": it.anchor,
            "title": graph.title(it.source),
            "snippet": it.snippet,
            **opened.preview.link(it.source),
        }
        for it in graph.backlinks(name)
    ]


def forward_rows(opened: Opened, graph: Graph, name: str) -> list[Json]:
    documents: list[Json] = [
        {
            "kind": "doc",
            "docName": it.target,
            "anchor": it.anchor,
            "title": graph.title(it.target),
            "snippet": it.snippet,
            **({} if it.alive else {"dead": True}),
            **opened.preview.link(it.target),
        }
        for it in graph.forward(name)
    ]
    addresses: list[Json] = [
        {"kind": "external", "url": it.url, "title": it.title, "snippet": it.snippet}
        for it in graph.addresses.get(name, ())
    ]
    return [*documents, *addresses]


def _told(opened: Opened, document: Document, card: Card, graph: Graph) -> dict[str, Json]:
    back = backlink_rows(opened, graph, document.name)
    forward = forward_rows(opened, graph, document.name)
    return {
        **opened.preview.link(document.name),
        "docName": document.name,
        "path": opened.lead + document.path,
        "title": card.title or document.name.rpartition("/")[2],
        "description": card.description,
        "tags": [*card.tags],
        "backlinks": back[:MOST_LINKS],
        "backlinkCount": len(back),
        "forwardLinks": forward[:MOST_LINKS],
        "forwardLinkCount": len(forward),
    }


def _page(told: dict[str, Json], text: str) -> str:
    """The same for whoever reads text."""
    lines = [f"## {told['title']}", ""]
    if told["description"]:
        lines.append(f"**Description:** {told['description']}")
    if tags := told["tags"]:
        assert isinstance(tags, list)
        lines.append(f"**Tags:** {', '.join(map(str, tags))}")
    lines.append(f"**Path:** {told['path']}")
    rows = told["history"]
    if isinstance(rows, list) and rows:
        lines += ["", "### Recent activity", *map(_activity, rows)]
    lines += _links(told, "Backlinks", "backlink", "get_backlinks")
    lines += _links(told, "Forward links", "forwardLink", "get_forward_links")
    return "\n".join([*lines, "", "### Content", "", text])


def _links(told: dict[str, Json], title: str, key: str, tool: str) -> list[str]:
    rows, count = told[f"{key}s"], told[f"{key}Count"]
    assert isinstance(rows, list)
    assert isinstance(count, int)
    if not rows:
        return []
    more = [f"- {count - len(rows)} more: {tool}"] if count > len(rows) else []
    return ["", f"### {title} ({count})", *map(_line, rows), *more]


def _line(row: Json) -> str:
    assert isinstance(row, dict)
    place = row.get("source") or row.get("docName") or row.get("url")
    return f"- {row['title']} ({place})"


def _activity(row: Json) -> str:
    assert isinstance(row, dict)
    who = f"{row['writerClassification']}: {row['writerName']}"
    return f"- {str(row['hash'])[:7]} {row['date']} [{who}] {row['message']}"


def _row(opened: Opened, document: Document) -> dict[str, Json]:
    return {
        "kind": "document",
        "docName": document.name,
        "docExt": document.extension,
        "path": opened.lead + document.path,
        "size": document.stamp.size_bytes,
        "modified": moment(document.stamp),
        "isSymlink": False,
        "canonicalDocName": None,
        "targetPath": None,
        **opened.preview.link(document.name),
    }


async def _asset_rows(opened: Opened, below: str) -> list[dict[str, Json]]:
    if not opened.others:
        return []
    graph = await opened.graph()
    found = await run_sync(referenced_assets, graph.facts, graph.names, opened.others)
    return [
        {
            "kind": "asset",
            "docName": path,
            "docExt": "",
            "path": opened.lead + path,
            "assetExt": path[path.rfind(".") :] if "." in path else "",
            **({"mediaKind": kind} if (kind := media_kind(path)) else {}),
            "referencedBy": [*sources],
            "size": opened.others[path].size_bytes,
            "modified": moment(opened.others[path]),
            "isSymlink": False,
            "canonicalDocName": None,
            "targetPath": None,
            "previewUrl": None,
        }
        for path, sources in found.items()
        if path.startswith(below)
    ]


def moment(stamp: Stamp) -> str:
    at = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _folder(text: str | None) -> str:
    if text is None or text.strip("/") in ("", "."):
        return ""
    if text.startswith("/"):
        raise InvalidFormat('Field "dir" must be relative', field="dir", got=text[:200])
    return f"{folder_name(text.removeprefix('./').rstrip('/'), 'dir')}/"

"""Writing: a document made, replaced, edited in place or deleted."""

from dataclasses import dataclass

from pecia.kernel.errors import (
    InvalidFormat,
    InvalidInput,
    Json,
    NotFound,
    PayloadTooLarge,
    Unprocessable,
)
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki import disk, edit
from pecia.rooms.wiki.edit import Find
from pecia.rooms.wiki.names import document_name
from pecia.rooms.wiki.parents import parent_candidates
from pecia.rooms.wiki.scan import ignored_at
from pecia.rooms.wiki.stored import decoded
from pecia.rooms.wiki.summary import Summary, read_summary
from pecia.rooms.wiki.tools.reading import ROOM, backlink_rows
from pecia.rooms.wiki.tools.shapes import (
    DeletedOut,
    EditDocument,
    OneDocument,
    Previewed,
    WriteDocument,
)
from pecia.rooms.wiki.turn import Turn, taking_turn
from pecia.rooms.wiki.wiki import Document, Opened, Wiki


@dataclass(frozen=True, slots=True)
class Writing:
    """The handlers."""

    wiki: Wiki

    async def write_document(self, call: Call, ask: WriteDocument) -> Result:
        """Make a document, replace it whole (frontmatter included), or add to its body."""
        name = document_name(ask.docName)
        summary = read_summary(ask.summary)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        async with taking_turn(opened) as turn:
            path = await _path(opened, turn, name)
            old = await _text(turn, path)
            await turn.write(path, _encoded(edit.written(old, ask.markdown, ask.position)))
            await turn.record(f"wip: {name}", [name], summary)
        document = await opened.written(name, path)
        told: dict[str, Json] = {
            "docName": name,
            "path": opened.lead + path,
            "created": old is None,
        }
        return await self._written(opened.holding(document), document, told, summary)

    async def edit_document(self, call: Call, ask: EditDocument) -> Result:
        """Replace exact words in a document's body: at the first place, an offset, the n-th
        occurrence or all. Frontmatter: use write_document."""
        name = document_name(ask.docName)
        summary = read_summary(ask.summary)
        find = _find(ask)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        document = opened.find(name)
        async with taking_turn(opened) as turn:
            old = await _text(turn, document.path)
            if old is None:
                raise NotFound(f"no document {name!r}", field="docName", docName=name)
            done = edit.edited(old, find)
            if done.text != old:
                await turn.write(document.path, _encoded(done.text))
                await turn.record(f"wip: {name}", [name], summary)
            else:
                await turn.require_may_write(document.path)
        document = await opened.written(name, document.path)
        told: dict[str, Json] = {
            "docName": name,
            "replacements": len(done.offsets),
            "occurrences": edit.count(old, ask.find),
            "offset": done.offsets[0],
        }
        return await self._written(opened.holding(document), document, told, summary)

    async def delete_document(self, call: Call, ask: OneDocument) -> Result:
        """Delete a document. Links to it stay as they are: the answer lists who has one."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        document = opened.find(ask.docName)
        graph = await opened.graph()
        links = backlink_rows(opened, graph, document.name)
        async with taking_turn(opened) as turn:
            await turn.remove(document.path)
            await turn.record(f"delete: {document.name}", [document.name], None)
        told: dict[str, Json] = {
            "ok": True,
            "deletedDocNames": [document.name],
            "previousPreviewUrl": opened.preview.url(document.name),
            "backlinks": links,
        }
        opened.returned([document.path])
        left = f" {len(links)} documents still link to it." if links else ""
        return Result(told, (Text(f"Deleted {document.name}.{left}"),))

    async def _written(
        self, now: Opened, document: Document, told: dict[str, Json], summary: Summary | None
    ) -> Result:
        """What a writer is told: where to see it, which links lead nowhere, who could link here."""
        name = document.name
        graph = await now.graph()
        dead: list[Json] = [it.target for it in graph.forward(name) if not it.alive]
        told |= now.preview.link(name)
        if dead:
            told["deadLinks"] = dead
        hints: list[Json] = [] if graph.backlinks(name) else [_orphan_hint(name, now)]
        facts = (await now.facts_of([document])).get(name)
        if facts and facts.problem:
            message = f"The document is saved, and its frontmatter is not read: {facts.problem}."
            hints.append({"type": "frontmatter", "message": message})
        if hints:
            told["hints"] = hints
        if summary is not None:
            told["summary"] = summary.shown()
        now.returned([document.path])
        return Result(told, (Text(_said(name, told, dead)),))


def writing_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = Writing(wiki)
    write = Scope.WRITE
    return (
        Tool(
            ROOM,
            "write_document",
            write,
            WriteDocument,
            Previewed,
            it.write_document,
            read_only=False,
            destructive=True,
        ),
        Tool(
            ROOM,
            "edit_document",
            write,
            EditDocument,
            Previewed,
            it.edit_document,
            read_only=False,
            destructive=True,
        ),
        Tool(
            ROOM,
            "delete_document",
            write,
            OneDocument,
            DeletedOut,
            it.delete_document,
            read_only=False,
            destructive=True,
        ),
    )


def require_free(opened: Opened, name: str, field: str) -> str:
    """The path that a new document of that name gets, where documents may lie."""
    path = f"{name}.md"
    if ignored_at(opened.root, path).covers_below(path):
        raise InvalidFormat(
            f"{name!r} would be left out by the ignore rules", field=field, got=name[:200]
        )
    return path


async def _path(opened: Opened, turn: Turn, name: str) -> str:
    if (known := opened.documents.get(name)) is not None:
        return known.path
    path = require_free(opened, name, "docName")
    await turn.require_may_write(path)
    # One that came meanwhile, or that this caller could not see before, is written to all the same.
    other = f"{name}.mdx"
    return other if disk.exists(opened.root, other) else path


async def _text(turn: Turn, path: str) -> str | None:
    body = await turn.read(path)
    if body is None:
        return None
    text = decoded(body)
    if text is None:
        raise Unprocessable(
            f"{path!r} is not in UTF-8: it can be read, renamed and deleted, and not be written",
            path=path,
            hint="save it as UTF-8 first, then write",
        )
    return text


def _encoded(text: str) -> bytes:
    try:
        body = text.encode()
    except UnicodeEncodeError:
        raise InvalidFormat("half of a surrogate pair is no text", field="markdown") from None
    if len(body) > disk.MOST_BYTES:
        raise PayloadTooLarge(
            f"a document has at most {disk.MOST_BYTES} bytes", field="markdown", max=disk.MOST_BYTES
        )
    return body


def _find(ask: EditDocument) -> Find:
    given = [
        name
        for name, value in (
            ("offset", ask.offset),
            ("occurrence", ask.occurrence),
            ("replace_all", ask.replace_all or None),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise InvalidInput(f"{' and '.join(given)} do not go together", field=given[1])
    return Find(ask.find, ask.replace, ask.offset, ask.occurrence, ask.replace_all)


def _orphan_hint(name: str, opened: Opened) -> Json:
    candidates = parent_candidates(name, opened.documents)
    where = f" {', '.join(candidates)} could." if candidates else ""
    return {
        "type": "orphan",
        "parentCandidates": [*candidates],
        "message": f"Nothing links to {name}.{where}",
    }


def _said(name: str, told: dict[str, Json], dead: list[Json]) -> str:
    lines = [f"Saved {name}."]
    if told.get("previewUrl"):
        lines.append(f"See it at {told['previewUrl']}")
    if dead:
        lines.append(f"Links that lead nowhere yet: {', '.join(map(str, dead))}.")
    hints = told.get("hints")
    for hint in hints if isinstance(hints, list) else ():
        assert isinstance(hint, dict)
        lines.append(str(hint["message"]))
    return "\n".join(lines)

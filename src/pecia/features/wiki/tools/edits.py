"""Writing: create, replace, edit and delete documents."""

from dataclasses import dataclass, replace
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.config.folder_rules import find_template
from pecia.features.wiki.core import edit
from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.core.edit import Replacement
from pecia.features.wiki.core.graph import LinkGraph
from pecia.features.wiki.core.guard import document_version, require_unlocked, require_version
from pecia.features.wiki.core.names import (
    EXTENSIONS,
    FoldedNames,
    parse_document_name,
    require_new_name,
    require_no_twin,
    split_extension,
)
from pecia.features.wiki.core.similar import find_similar
from pecia.features.wiki.core.suggest import find_parent_candidates
from pecia.features.wiki.core.summary import EditSummary, parse_summary
from pecia.features.wiki.core.text.section import find_section, write_section
from pecia.features.wiki.space import OpenSpace, Wiki, WikiDocument
from pecia.features.wiki.space_write import MergeBase, SpaceWrite, begin_space_write
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.obstacle import require_folders, require_plain_file
from pecia.features.wiki.storage.scan import load_ignore_rules
from pecia.features.wiki.suggestion.policy import WriteTarget, choose_target, require_direct
from pecia.features.wiki.suggestion.propose import AddedSuggestion, add_suggestion
from pecia.features.wiki.tools.documents import (
    FEATURE,
    LINKS_UNREAD,
    MAX_LINKS,
    list_backlinks,
)
from pecia.features.wiki.tools.schemas import (
    DeleteDocument,
    DeletedOut,
    EditDocument,
    PreviewedOutput,
    WriteDocument,
)
from pecia.kernel.errors import (
    InvalidFormat,
    InvalidInput,
    Json,
    NotFound,
    PayloadTooLarge,
    Unprocessable,
)
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.links.name_index import folder_of
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult


@dataclass(frozen=True, slots=True)
class EditTools:
    """The handlers."""

    wiki: Wiki

    async def write_document(self, call: Call, ask: WriteDocument) -> ToolResult:
        """Create a document, replace it, or append to its body. `replace` without frontmatter
        keeps the old one; patch_frontmatter changes or removes its keys."""
        summary = parse_summary(ask.summary)
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        name = opened.parse_name(ask.docName)
        async with begin_space_write(opened) as writer:
            path, target = await find_target(opened, writer, ask.docName, suggest=ask.suggest)
            old = await read_guarded(writer, name, path, ask.expected_version, target=target)
            body = encode_text(_apply_write(name, old, ask))
            made = await write_or_suggest(writer, name, path, (old, body), summary, target)
        if made is not None:
            return made.result(opened, summary)
        document = await opened.restat(name, path)
        fields: dict[str, Json] = {
            "docName": name,
            "path": opened.prefix + path,
            "created": old is None,
            "version": document_version(body),
        }
        if old is not None and old.encode() == body:
            fields["unchanged"] = True
        return await build_write_result(opened.with_document(document), document, fields, summary)

    async def edit_document(self, call: Call, ask: EditDocument) -> ToolResult:
        """Replace exact text in a document's body: the first, at an offset, the n-th occurrence
        or all. Frontmatter: use patch_frontmatter."""
        summary = parse_summary(ask.summary)
        find = _find(ask)
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        document = opened.find(ask.docName)
        name = document.name
        async with begin_space_write(opened) as writer:
            target = await choose_target(writer, document.path, asked=ask.suggest)
            old = await read_guarded(writer, name, document.path, ask.expected_version)
            if old is None:
                raise NotFound(f"no document {name!r}", field="docName", docName=name)
            within = None if ask.heading is None else find_section(old, ask.heading).span
            done = edit.apply_replacement(old, replace(find, within=within))
            made = None
            if done.text != old or target is WriteTarget.SUGGESTION:
                change = (old, encode_text(done.text))
                made = await write_or_suggest(writer, name, document.path, change, summary, target)
        if made is not None:
            return made.result(opened, summary)
        document = await opened.restat(name, document.path)
        fields: dict[str, Json] = {
            "docName": name,
            "replacements": len(done.offsets),
            "occurrences": edit.count_occurrences(old, ask.find),
            "offset": done.offsets[0],
            "version": document_version(encode_text(done.text)),
        }
        if done.text == old:
            fields["unchanged"] = True
        return await build_write_result(opened.with_document(document), document, fields, summary)

    async def delete_document(self, call: Call, ask: DeleteDocument) -> ToolResult:
        """Delete a document. Links to it stay: the answer lists its backlinks, at most 200;
        get_dead_links has all."""
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        document = opened.find(ask.docName)
        graph = await opened.graph()
        links = list_backlinks(opened, graph, document.name)
        require_direct(opened, document.path, "deleting it")
        async with begin_space_write(opened) as writer:
            await read_guarded(writer, document.name, document.path, ask.expected_version)
            await writer.remove(document.path)
            await writer.record(f"delete: {document.name}", [document.name], None)
        fields: dict[str, Json] = {
            "ok": True,
            "deletedDocNames": [document.name],
            "previousPreviewUrl": opened.preview.url(document.name),
            "backlinks": [*links[:MAX_LINKS]],
            "backlinkCount": len(links),
        }
        opened.record_returned([document.path])
        left = f" {len(links)} documents still link to it." if links else ""
        return ToolResult(fields, (TextContent(f"Deleted {document.name}.{left}"),))


def edit_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = EditTools(wiki)
    write = Scope.WRITE
    return (
        Tool(
            FEATURE,
            "write_document",
            write,
            WriteDocument,
            PreviewedOutput,
            it.write_document,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "edit_document",
            write,
            EditDocument,
            PreviewedOutput,
            it.edit_document,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "delete_document",
            write,
            DeleteDocument,
            DeletedOut,
            it.delete_document,
            read_only=False,
            destructive=True,
        ),
    )


def require_free_path(opened: OpenSpace, name: str, field: str, extension: str = ".md") -> str:
    """The path of a new document of that name; refused if ignored."""
    path = name + extension
    if load_ignore_rules(opened.root, path).is_path_ignored(path):
        raise InvalidFormat(
            f"{name!r} would be excluded by the ignore rules", field=field, got=name[:200]
        )
    return path


def _apply_write(name: str, old: str | None, ask: WriteDocument) -> str:
    if ask.heading is None:
        return edit.apply_write(old, ask.markdown, ask.position)
    if old is None:
        raise NotFound(f"no document {name!r}", field="docName", docName=name)
    return write_section(old, ask.heading, ask.markdown, ask.position)


async def find_target(
    opened: OpenSpace,
    writer: SpaceWrite,
    given: str,
    *,
    suggest: bool,
    folded: FoldedNames | None = None,
) -> tuple[str, WriteTarget]:
    """The document's file, and whether the write changes it or is a suggestion.

    A new one has the extension that it was asked for with, or `.md`. `folded` are the documents
    there are, if somebody has them already.
    """
    given = opened.parse_path(given)
    name, extension = parse_document_name(given), split_extension(given)[1].lower()
    if (known := opened.documents.get(name)) is not None:
        return known.path, await choose_target(writer, known.path, asked=suggest)
    require_new_name(name, "docName")
    twin = (folded or FoldedNames.of(opened.documents)).find_twin(name)
    require_no_twin(name, twin, field="docName", existing=twin)
    path = require_free_path(opened, name, "docName", extension or ".md")
    target = await choose_target(writer, path, asked=suggest)
    return await run_sync(_new_path, opened.root, name, path), target


def _new_path(root: Path, name: str, path: str) -> str:
    """One created meanwhile, or not visible to this caller before, is written to all the same."""
    require_folders(root, folder_of(name), "docName")
    there = [it for it in EXTENSIONS if disk.exists(root, name + it)]
    path = name + there[0] if there else path
    require_plain_file(root, path, "docName")
    return path


async def write_or_suggest(
    writer: SpaceWrite,
    name: str,
    path: str,
    change: tuple[str | None, bytes],
    summary: EditSummary | None,
    target: WriteTarget,
) -> AddedSuggestion | None:
    """Write the document as a version of its own, or store the change as a suggestion."""
    old, body = change
    if target is WriteTarget.SUGGESTION:
        text = summary.value if summary else None
        return await add_suggestion(writer, name, path, (old, body.decode()), text)
    await writer.write(path, body, MergeBase.DOCUMENT)
    await writer.record(f"wip: {name}", [name], summary)
    return None


async def read_guarded(
    writer: SpaceWrite,
    name: str,
    path: str,
    expected: str | None,
    *,
    unlocks: bool = False,
    target: WriteTarget = WriteTarget.DOCUMENT,
) -> str | None:
    """The text of a document that may be written; None where there is none.

    Refused if it is another version than expected, or locked.
    """
    body = await writer.read(path)
    if body is None and expected is None and target is WriteTarget.DOCUMENT:
        # No right to write there comes first: who may not see a document learns nothing of it.
        await writer.require_may_write(path)
    require_version(name, body, expected)
    opened = writer.opened
    rules = opened.settings.config.folders
    text = None if body is None else decode_utf8(body)
    require_unlocked(name, opened.prefix + path, None if unlocks else text, rules)
    if body is None:
        return None
    if text is None:
        raise Unprocessable(
            f"{path!r} is not UTF-8: it can be read, renamed and deleted, but not written",
            path=path,
            hint="save it as UTF-8 first, then write",
        )
    return text


def encode_text(text: str) -> bytes:
    try:
        body = text.encode()
    except UnicodeEncodeError:
        raise InvalidFormat("a lone surrogate is not valid text", field="markdown") from None
    if len(body) > disk.MAX_FILE_BYTES:
        raise PayloadTooLarge(
            f"a document has at most {disk.MAX_FILE_BYTES} bytes",
            field="markdown",
            max=disk.MAX_FILE_BYTES,
        )
    return body


def _find(ask: EditDocument) -> Replacement:
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
        raise InvalidInput(f"{' and '.join(given)} cannot be combined", field=given[1])
    return Replacement(ask.find, ask.replace, ask.offset, ask.occurrence, ask.replace_all)


async def build_write_result(
    now: OpenSpace,
    document: WikiDocument,
    fields: dict[str, Json],
    summary: EditSummary | None,
) -> ToolResult:
    """The result of a write: preview, dead links, and hints who could link here."""
    name, is_template = document.name, document.name in now.template_names
    # It is written: an answer must not wait for links that are still being read after a start.
    whole = await now.graph_soon()
    graph = await now.graph_of([document]) if whole is None else whole
    # What a template links to is decided by the documents that are made of it.
    dead: list[Json] = [
        it.target
        for it in graph.forward_links(name)
        if not is_template and not it.is_alive and not now.has_place(it.target)
    ]
    fields |= now.preview.link(name)
    if dead and graph.is_partial:
        # They may be links by title.
        dead, fields["incomplete"] = [], LINKS_UNREAD
    if dead:
        fields["deadLinks"] = dead
    hints: list[Json] = []
    if whole is not None and not is_template:
        hints += await _link_hints(now, name, graph, is_new=bool(fields.get("created")))
    if fields.get("created") and (hint := _template_hint(now, document, fields)):
        hints.append(hint)
    facts = (await now.load_metadata_of([document])).get(name)
    if facts and facts.problem and not is_template:
        message = f"The document is saved, but its frontmatter is invalid: {facts.problem}."
        hints.append({"type": "frontmatter", "message": message})
    if hints:
        fields["hints"] = hints
    if summary is not None:
        fields["summary"] = summary.to_json()
    now.record_returned([document.path])
    path = now.prefix + document.path
    return ToolResult(fields, (TextContent(_format_text(path, fields, dead)),))


async def _link_hints(now: OpenSpace, name: str, graph: LinkGraph, *, is_new: bool) -> list[Json]:
    hints: list[Json] = []
    if not graph.backlinks(name):
        hints.append(_orphan_hint(name, graph))
    if is_new and (hint := await run_sync(_similar_hint, now, name, graph)):
        hints.append(hint)
    return hints


def _template_hint(now: OpenSpace, document: WikiDocument, fields: dict[str, Json]) -> Json:
    """That the folder of a new document has a template which it was not made of."""
    rules = now.settings.config.folders
    named = None if "template" in fields else find_template(rules, now.prefix + document.path)
    if named is None or named not in now.documents or document.name in now.template_names:
        return None
    return {
        "type": "template",
        "template": named,
        "message": f"New documents in this folder have the template {named}: create_document "
        "uses it.",
    }


def _orphan_hint(name: str, graph: LinkGraph) -> Json:
    candidates = find_parent_candidates(name, graph.names)
    where = f" {', '.join(candidates)} could." if candidates else ""
    return {
        "type": "orphan",
        "parentCandidates": [*candidates],
        "message": f"Nothing links to {name}.{where}",
    }


def _similar_hint(now: OpenSpace, name: str, graph: LinkGraph) -> Json:
    templates = now.template_names
    titles = ((it, graph.title(it)) for it in graph.facts if it not in templates)
    found = find_similar(name, graph.title(name), titles)
    if not found:
        return None
    return {
        "type": "similar",
        "documents": [*found],
        "message": f"Similar documents exist: {', '.join(found)}.",
    }


def _format_text(path: str, fields: dict[str, Json], dead: list[Json]) -> str:
    said = "Nothing changed in" if fields.get("unchanged") else "Saved"
    lines = [f"{said} {path}, version {fields['version']}."]
    if fields.get("previewUrl"):
        lines.append(f"See it at {fields['previewUrl']}")
    if dead:
        lines.append(f"Dead links: {', '.join(map(str, dead))}.")
    if "incomplete" in fields:
        lines.append(str(fields["incomplete"]))
    hints = fields.get("hints")
    for hint in hints if isinstance(hints, list) else ():
        assert isinstance(hint, dict)
        lines.append(str(hint["message"]))
    return "\n".join(lines)

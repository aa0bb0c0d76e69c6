"""Versions: a document's timeline, checkpoints of the space, and rollback."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyio.to_thread import run_sync
from pydantic import Field

from pecia.features.wiki.core.document import decode_any_charset
from pecia.features.wiki.core.summary import EditSummary, parse_summary
from pecia.features.wiki.core.text.diff import diff_texts
from pecia.features.wiki.history.history import DocumentVersion, is_checkpoint
from pecia.features.wiki.history.message import CommitNote, client_of, writer_of
from pecia.features.wiki.history.visible import VisibleHistory
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.space_write import MergeBase, begin_space_write
from pecia.features.wiki.storage import disk
from pecia.features.wiki.store import SQL
from pecia.features.wiki.suggestion.policy import require_direct
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.edits import read_guarded
from pecia.features.wiki.tools.pagination import slice_text
from pecia.features.wiki.tools.schemas import (
    DOC_NAME,
    EXPECTED_VERSION,
    SUMMARY_FIELD,
    OptionalText,
    PreviewedOutput,
    SpaceInput,
    WikiOutput,
)
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import Conflict, InvalidInput, Json, NotFound, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult

SHA_CHARS = 40
SHA = f"^[0-9a-f]{{7,{SHA_CHARS}}}$"
# Document extensions, in either case.
FORMER_EXTENSIONS = (".md", ".mdx", ".MD", ".MDX")


class GetHistory(SpaceInput):
    docName: str = DOC_NAME
    branch: OptionalText = Field(default=None, max_length=200, description="There is one: main.")
    limit: int = Field(default=50, ge=1, le=200)
    offset: int = Field(default=0, ge=0)
    type: OptionalText = Field(default=None, pattern="^(checkpoint|upstream|wip)$")
    author: OptionalText = Field(default=None, max_length=500, description="Part of a name; a,b.")
    excludeAuthor: OptionalText = Field(default=None, max_length=500)


class SaveVersion(SpaceInput):
    message: OptionalText = Field(
        default=None, max_length=256, description="Stored permanently: no secrets."
    )


class Rollback(SpaceInput):
    docName: str = DOC_NAME
    commitSha: str = Field(pattern=SHA, description="From get_history or read_document.")
    expected_version: OptionalText = EXPECTED_VERSION
    summary: OptionalText = SUMMARY_FIELD


class CompareVersions(SpaceInput):
    docName: str = DOC_NAME
    fromSha: str = Field(pattern=SHA, description="From get_history or read_document.")
    toSha: str | None = Field(
        default=None, pattern=SHA, description="Without it, the document as it is."
    )
    context: int = Field(default=3, ge=0, le=1000, description="Unchanged lines around.")
    offset: int = Field(default=0, ge=0, description="`nextOffset` of the part before.")


class VersionDiffOut(PreviewedOutput):
    docName: str
    diff: str
    addedLines: int
    removedLines: int
    nextOffset: int | None


class HistoryOut(PreviewedOutput):
    entries: list[dict[str, object]]
    total: int
    hasMore: bool


class SavedVersionOut(WikiOutput):
    checkpointRef: str


@dataclass(frozen=True, slots=True)
class VersionTools:
    """The handlers."""

    wiki: Wiki

    async def get_history(self, call: Call, ask: GetHistory) -> ToolResult:
        """The versions of a document, newest first: who, when, why, and the id to roll back to."""
        if ask.branch not in (None, "main"):
            raise InvalidInput(
                'Field "branch" is unknown: there is only main',
                field="branch",
                allowed=["main"],
                got=ask.branch,
            )
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        name = opened.parse_name(ask.docName)
        path = await find_version_path(opened, name)
        names = await self.wiki.load_writer_names(call)
        rows = await VisibleHistory(opened).timeline(path)
        found = [it for it in rows if _matches_filter(it, ask, names)]
        page = found[ask.offset : ask.offset + ask.limit]
        if not found and name not in opened.documents:
            raise NotFound(f"no document {name!r}", field="docName", docName=name)
        fields: dict[str, Json] = {
            "entries": [_version_row(opened, name, it, names) for it in page],
            "total": len(found),
            "hasMore": ask.offset + len(page) < len(found),
            **opened.preview.link(name),
        }
        opened.record_returned([path])
        return ToolResult(fields)

    async def save_version(self, call: Call, ask: SaveVersion) -> ToolResult:
        """Save a checkpoint of the whole space, under a permanent reference."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        async with begin_space_write(opened) as writer:
            await writer.require_may_write("")
            bodies = await run_sync(_read_all_documents, opened)
            words = parse_summary(ask.message)
            subject = f"checkpoint: {words.value if words else 'saved'}"
            docs = tuple(sorted(opened.documents))
            note = CommitNote(writer_of(call), subject, docs, client=client_of(call))
            reference = await writer.versions.checkpoint(bodies, note)
        fields: dict[str, Json] = {"checkpointRef": reference, "previewUrl": None}
        return ToolResult(fields, (TextContent(f"Saved {len(bodies)} documents as {reference}."),))

    async def rollback_to_version(self, call: Call, ask: Rollback) -> ToolResult:
        """Restore a document to a version. This makes a new version: nothing is lost."""
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        name = opened.parse_name(ask.docName)
        path = await find_version_path(opened, name, ask.commitSha)
        sha = await find_version_id(opened, path, ask.commitSha, "commitSha")
        body, commit = await VisibleHistory(opened).read(sha, path)
        short = sha[:7]
        summary = parse_summary(ask.summary) or EditSummary(f"Restored to {short}")
        async with begin_space_write(opened) as writer:
            require_direct(opened, path, "restoring a version")
            await read_guarded(writer, name, path, ask.expected_version)
            await writer.write(path, body, MergeBase.FILE)
            await writer.record(f"rollback: {name} to {short}", [name], summary)
        who = (await self.wiki.load_writer_names(call)).get(commit.author_name, commit.author_name)
        when = commit.authored_at.isoformat(timespec="seconds")
        fields: dict[str, Json] = {
            "docName": name,
            **opened.preview.link(name),
            "summary": summary.to_json(),
        }
        return ToolResult(
            fields,
            (TextContent(f"{name} is restored to the version of {who} from {when} ({short})."),),
        )

    async def compare_versions(self, call: Call, ask: CompareVersions) -> ToolResult:
        """What changed in a document between two versions, or since one: a unified diff."""
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        name = opened.parse_name(ask.docName)
        path = await find_version_path(opened, name, ask.fromSha)
        sha = await find_version_id(opened, path, ask.fromSha, "fromSha")
        old = (await VisibleHistory(opened).read(sha, path))[0]
        if ask.toSha is not None:
            sha = await find_version_id(opened, path, ask.toSha, "toSha")
            new = (await VisibleHistory(opened).read(sha, path))[0]
        else:
            document = opened.documents.get(name)
            new = b"" if document is None else await run_sync(disk.read, opened.root, path)
        texts = (decode_any_charset(old) or "", decode_any_charset(new) or "")
        labels = (ask.fromSha[:7], ask.toSha[:7] if ask.toSha else "now")
        found = await compute(call.caller.tenant_id, diff_texts, *texts, labels, ask.context)
        part = slice_text(found.text, ask.offset)
        opened.record_returned([path])
        fields: dict[str, Json] = {
            "docName": name,
            "diff": part.text,
            "addedLines": found.added,
            "removedLines": found.removed,
            "nextOffset": part.next_offset,
            **opened.preview.link(name),
        }
        return ToolResult(fields, (TextContent(part.text or "The versions are equal."),))


async def find_version_path(opened: OpenSpace, name: str, sha: str | None = None) -> str:
    """The path of the document, now or at a version. For a deleted one, only if the caller may
    write."""
    if (known := opened.documents.get(name)) is not None:
        return known.path
    async with opened.wiki.store.reading(opened.call.caller) as tx:
        asked = {"source_id": opened.space.source_id, "key": opened.location.key(f"{name}.md")}
        if name in opened.hidden or not await tx.fetch_value(SQL["may_write"], **asked):
            raise NotFound(f"no document {name!r}", field="docName", docName=name)
    return await _former_path(opened, name, sha)


async def find_version_id(opened: OpenSpace, path: str, given: str, field: str) -> str:
    """The whole id of a version of the document, of which `given` may be only the beginning, as
    read_document shows it."""
    if len(given) == SHA_CHARS:
        return given
    rows = await VisibleHistory(opened).timeline(path)
    found = {it.sha for it in rows if it.sha.startswith(given)}
    if len(found) > 1:
        raise Conflict(
            f"several versions begin with {given!r}", field=field, allowed=[*sorted(found)[:20]]
        )
    if not found:
        raise NotFound(f"no version {given!r} of this document", field=field, got=given)
    return found.pop()


async def _former_path(opened: OpenSpace, name: str, sha: str | None) -> str:
    """The last path of a deleted document: its extension is only in the versions."""
    latest: dict[str, str] = {}
    for extension in FORMER_EXTENSIONS:
        rows = await VisibleHistory(opened).timeline(f"{name}{extension}")
        if sha is not None and any(it.sha.startswith(sha) for it in rows):
            return f"{name}{extension}"
        if rows:
            latest[f"{name}{extension}"] = rows[0].at
    return max(latest, key=lambda it: latest[it], default=f"{name}.md")


def version_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = VersionTools(wiki)
    return (
        Tool(
            FEATURE,
            "compare_versions",
            Scope.READ,
            CompareVersions,
            VersionDiffOut,
            it.compare_versions,
        ),
        Tool(FEATURE, "get_history", Scope.READ, GetHistory, HistoryOut, it.get_history),
        Tool(
            FEATURE,
            "save_version",
            Scope.WRITE,
            SaveVersion,
            SavedVersionOut,
            it.save_version,
            read_only=False,
        ),
        Tool(
            FEATURE,
            "rollback_to_version",
            Scope.WRITE,
            Rollback,
            PreviewedOutput,
            it.rollback_to_version,
            read_only=False,
            destructive=True,
        ),
    )


def _version_row(
    opened: OpenSpace, name: str, version: DocumentVersion, names: Mapping[str, str]
) -> dict[str, Json]:
    """One row of a timeline, with the documents of the version that are still there."""
    note = version.note
    docs: list[Json] = [it for it in note.docs if it == name or it in opened.documents]
    contributors: list[dict[str, Json]] = [
        {"v": 1, "id": it, "name": names.get(it, it), "colorSeed": it, "docs": docs}
        for it in (note.writer, *note.others)
    ]
    if note.summaries:
        contributors[0]["summaries"] = [*note.summaries]
    return {
        "sha": version.sha,
        "timestamp": version.at,
        "author": names.get(note.writer, note.writer),
        "authorEmail": f"{note.writer}@pecia.local",
        "type": note.kind,
        "message": note.subject,
        "contributors": [*contributors],
        "checkpoint": {"docs": docs} if is_checkpoint(version) else None,
        **note.client_fields(),
    }


def _matches_filter(version: DocumentVersion, ask: GetHistory, names: Mapping[str, str]) -> bool:
    note = version.note
    writers = (note.writer, *note.others)
    shown = " ".join(f"{names.get(it, it)} {it}@pecia.local" for it in writers).casefold()
    if ask.type is not None and note.kind != ask.type:
        return False
    if ask.author is not None and not any(it in shown for it in _split_names(ask.author)):
        return False
    return ask.excludeAuthor is None or not any(
        it in shown for it in _split_names(ask.excludeAuthor)
    )


def _split_names(text: str) -> Sequence[str]:
    return [it.strip().casefold() for it in text.split(",") if it.strip()]


def _read_all_documents(opened: OpenSpace) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for it in opened.documents.values():
        try:
            found[it.path] = disk.read(opened.root, it.path)
        except PeciaError:
            continue
    return found

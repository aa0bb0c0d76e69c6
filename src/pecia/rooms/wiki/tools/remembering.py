"""Versions: a document's timeline, a checkpoint of the whole space, and the way back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyio.to_thread import run_sync
from pydantic import Field

from pecia.kernel.errors import InvalidInput, Json, NotFound, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.history.history import Version, is_checkpoint
from pecia.rooms.wiki.history.note import Note
from pecia.rooms.wiki.names import document_name
from pecia.rooms.wiki.space import SQL
from pecia.rooms.wiki.summary import Summary, read_summary
from pecia.rooms.wiki.tools.reading import ROOM
from pecia.rooms.wiki.tools.shapes import DOC, SUMMARY, Open, Previewed, Where, Words
from pecia.rooms.wiki.turn import taking_turn
from pecia.rooms.wiki.wiki import Opened, Wiki
from pecia.rooms.wiki.writer import writer_of

# As documents may end, and as people write that.
ONCE = (".md", ".mdx", ".MD", ".MDX")


class GetHistory(Where):
    docName: str = DOC
    branch: Words = Field(default=None, max_length=200, description="There is one: main.")
    limit: int = Field(default=50, ge=1, le=200)
    offset: int = Field(default=0, ge=0)
    type: Words = Field(default=None, pattern="^(checkpoint|upstream|wip)$")
    author: Words = Field(default=None, max_length=500, description="Part of a name; a,b.")
    excludeAuthor: Words = Field(default=None, max_length=500)


class SaveVersion(Where):
    message: Words = Field(default=None, max_length=256, description="Kept for good: no secrets.")


class Rollback(Where):
    docName: str = DOC
    commitSha: str = Field(pattern="^[0-9a-f]{40}$", description="From get_history.")
    summary: Words = SUMMARY


class HistoryOut(Previewed):
    entries: list[dict[str, object]]
    total: int
    hasMore: bool


class SavedOut(Open):
    checkpointRef: str


@dataclass(frozen=True, slots=True)
class Remembering:
    """The handlers."""

    wiki: Wiki

    async def get_history(self, call: Call, ask: GetHistory) -> Result:
        """The versions of a document, newest first: who, when, why, and the id to go back to."""
        if ask.branch not in (None, "main"):
            raise InvalidInput(
                'Field "branch" names no branch here: there is main',
                field="branch",
                allowed=["main"],
                got=ask.branch,
            )
        name = document_name(ask.docName)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        path = await self._path(opened, name)
        names = await self.wiki.writers(call)
        rows = await opened.history.timeline(path)
        found = [it for it in rows if _is_wanted(it, ask, names)]
        page = found[ask.offset : ask.offset + ask.limit]
        if not found and name not in opened.documents:
            raise NotFound(f"no document {name!r}", field="docName", docName=name)
        told: dict[str, Json] = {
            "entries": [_shown(opened, name, it, names) for it in page],
            "total": len(found),
            "hasMore": ask.offset + len(page) < len(found),
            **opened.preview.link(name),
        }
        opened.returned([path])
        return Result(told)

    async def save_version(self, call: Call, ask: SaveVersion) -> Result:
        """Keep the whole space as it is now, under a reference that stays."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        async with taking_turn(opened) as turn:
            await turn.require_may_write("")
            bodies = await run_sync(_bodies, opened)
            words = read_summary(ask.message)
            subject = f"checkpoint: {words.value if words else 'saved'}"
            note = Note(writer_of(call), subject, tuple(sorted(opened.documents)))
            reference = await opened.history.checkpoint(bodies, note)
        told: dict[str, Json] = {"checkpointRef": reference, "previewUrl": None}
        return Result(told, (Text(f"Saved {len(bodies)} documents as {reference}."),))

    async def rollback_to_version(self, call: Call, ask: Rollback) -> Result:
        """Give a document the text it had at a version. That is a new version: nothing is lost."""
        name = document_name(ask.docName)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        path = await self._path(opened, name, ask.commitSha)
        body, commit = await opened.history.read(ask.commitSha, path)
        short = ask.commitSha[:7]
        summary = read_summary(ask.summary) or Summary(f"Restored to {short}")
        async with taking_turn(opened) as turn:
            await turn.write(path, body)
            await turn.record(f"rollback: {name} to {short}", [name], summary)
        who = (await self.wiki.writers(call)).get(commit.author.name, commit.author.name)
        when = commit.author.when.isoformat(timespec="seconds")
        told: dict[str, Json] = {
            "docName": name,
            **opened.preview.link(name),
            "summary": summary.shown(),
        }
        return Result(told, (Text(f"{name} is again as {who} left it on {when} ({short})."),))

    async def _path(self, opened: Opened, name: str, sha: str | None = None) -> str:
        """Where the document lies or lay, at a version if one is given. Of one that is gone, only a
        writer may know."""
        if (known := opened.documents.get(name)) is not None:
            return known.path
        async with self.wiki.store.reading(opened.call.caller) as tx:
            asked = {"source_id": opened.space.source_id, "key": opened.place.key(f"{name}.md")}
            if name in opened.hidden or not await tx.value(SQL["may_write"], **asked):
                raise NotFound(f"no document {name!r}", field="docName", docName=name)
        return await _path_once(opened, name, sha)


async def _path_once(opened: Opened, name: str, sha: str | None) -> str:
    """The file that a document was: its extension stands in the versions alone."""
    latest: dict[str, str] = {}
    for extension in ONCE:
        rows = await opened.history.timeline(f"{name}{extension}")
        if any(it.sha == sha for it in rows):
            return f"{name}{extension}"
        if rows:
            latest[f"{name}{extension}"] = rows[0].at
    return max(latest, key=lambda it: latest[it], default=f"{name}.md")


def remembering_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = Remembering(wiki)
    return (
        Tool(ROOM, "get_history", Scope.READ, GetHistory, HistoryOut, it.get_history),
        Tool(
            ROOM,
            "save_version",
            Scope.WRITE,
            SaveVersion,
            SavedOut,
            it.save_version,
            read_only=False,
        ),
        Tool(
            ROOM,
            "rollback_to_version",
            Scope.WRITE,
            Rollback,
            Previewed,
            it.rollback_to_version,
            read_only=False,
            destructive=True,
        ),
    )


def _shown(
    opened: Opened, name: str, version: Version, names: Mapping[str, str]
) -> dict[str, Json]:
    """One row of a timeline. Of the other documents of a version, those the caller may see."""
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
    }


def _is_wanted(version: Version, ask: GetHistory, names: Mapping[str, str]) -> bool:
    note = version.note
    writers = (note.writer, *note.others)
    shown = " ".join(f"{names.get(it, it)} {it}@pecia.local" for it in writers).casefold()
    if ask.type is not None and note.kind != ask.type:
        return False
    if ask.author is not None and not any(it in shown for it in _words(ask.author)):
        return False
    return ask.excludeAuthor is None or not any(it in shown for it in _words(ask.excludeAuthor))


def _words(text: str) -> Sequence[str]:
    return [it.strip().casefold() for it in text.split(",") if it.strip()]


def _bodies(opened: Opened) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for it in opened.documents.values():
        try:
            found[it.path] = disk.read(opened.root, it.path)
        except PeciaError:
            continue
    return found

"""The versions of a space: every change of ours, and what others did between them.

They lie in a repository of our own beside the settings. The user's repository is never touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.kernel.errors import InvalidInput, NotFound
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.history.note import (
    CHECKPOINT,
    FILE_SYSTEM,
    Note,
    Read,
    read_note,
    subject_of,
)
from pecia.rooms.wiki.history.port import Committed, OpenVersions, Versions
from pecia.rooms.wiki.names import split_extension
from pecia.rooms.wiki.own import FOLDER, prepare

PLACE = f"{FOLDER}/history"
BRANCH = "refs/heads/main"
CHECKPOINTS = "refs/checkpoints/main/"
MOST_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class Version:
    """One row of a document's timeline. `path` is where the document was then."""

    sha: str
    at: str
    path: str
    note: Read


@dataclass(frozen=True, slots=True)
class History:
    """The versions of one space. Paths are those of documents, from the content folder."""

    project: Path
    lead: str
    opening: OpenVersions

    async def record(
        self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None], note: Note
    ) -> str | None:
        """A change. What was there before it and is not known yet comes first, as nobody's.

        To be called by whoever has the turn. The id of the version, None where nothing changed.
        """
        versions = await self._made()
        found = await self._unknown(versions, before)
        if found:
            docs = tuple(split_extension(it)[0] for it in found)
            seen = Note(FILE_SYSTEM, subject_of(docs), docs)
            await versions.record(BRANCH, self._led(found), FILE_SYSTEM, seen.message(), kept=False)
        made = await versions.record(
            BRANCH, self._led(after), note.writer, note.message(), kept=False
        )
        return made.oid if made else None

    async def knows(self, path: str) -> bool:
        """Whether there is a version of this document."""
        versions = await self._open()
        if versions is None or BRANCH not in await versions.references():
            return False
        return await _content(versions, self.lead + path) is not None

    async def tracked(self) -> set[str]:
        """The documents that the latest version holds."""
        versions = await self._open()
        return set() if versions is None else {*await self._tracked(versions)}

    async def checkpoint(self, now: Mapping[str, bytes], note: Note) -> str:
        """Everything as it is now, under a reference that stays."""
        versions = await self._made()
        gone = {it: None for it in await self._tracked(versions) if it not in now}
        changes: dict[str, bytes | None] = {**now, **gone}
        made = await versions.record(
            BRANCH, self._led(changes), note.writer, note.message(), kept=True
        )
        assert made is not None
        reference = f"{CHECKPOINTS}{made.oid}"
        await versions.point(reference, made.oid)
        return reference

    async def timeline(self, path: str) -> list[Version]:
        """The versions of a document, the newest first; none where there is no history."""
        versions = await self._open()
        if versions is None or BRANCH not in await versions.references():
            return []
        led = self.lead + path
        page = await versions.history([BRANCH], led, limit=MOST_STEPS)
        rows = {it.commit.oid: self._version(it.commit, it.path) for it in page.steps}
        for sha in (await versions.references(CHECKPOINTS)).values():
            if sha not in rows and await _holds(versions, sha, led):
                rows[sha] = self._version(await versions.commit(sha), led)
        order = {it.commit.oid: -at for at, it in enumerate(page.steps)}
        return sorted(rows.values(), key=lambda it: (it.at, order.get(it.sha, 1)), reverse=True)

    async def recent(self, path: str, count: int) -> list[Version]:
        """The latest versions of a document alone, without checkpoints that changed nothing."""
        versions = await self._open() if count else None
        if versions is None or BRANCH not in await versions.references():
            return []
        page = await versions.history([BRANCH], self.lead + path, limit=count)
        return [self._version(it.commit, it.path) for it in page.steps]

    async def read(self, sha: str, path: str) -> tuple[bytes, Committed]:
        """A document as of a version; NotFound where either is not there."""
        versions = await self._open()
        if versions is None:
            raise NotFound(f"no version {sha}", field="commitSha")
        commit = await versions.commit(sha)
        for row in [path, *await self._earlier(versions, path, sha)]:
            try:
                return await versions.read(sha, self.lead + row), commit
            except NotFound:
                continue
        raise NotFound(f"the document is not in version {sha[:7]}", field="commitSha")

    async def _earlier(self, versions: Versions, path: str, sha: str) -> list[str]:
        """What the document was called in that version, if it moved since."""
        page = await versions.history([BRANCH], self.lead + path, limit=MOST_STEPS)
        return [it.path.removeprefix(self.lead) for it in page.steps if it.commit.oid == sha]

    async def _unknown(
        self, versions: Versions, before: Mapping[str, bytes | None]
    ) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        has_any = BRANCH in await versions.references()
        for path, body in before.items():
            known = await _content(versions, self.lead + path) if has_any else None
            if known != body:
                found[path] = body
        return found

    async def _tracked(self, versions: Versions) -> Sequence[str]:
        if BRANCH not in await versions.references():
            return ()
        listed = await versions.tree(BRANCH)
        return [it.path.removeprefix(self.lead) for it in listed.files]

    def _version(self, commit: Committed, path: str) -> Version:
        at = commit.author.when.isoformat(timespec="seconds")
        note = read_note(commit.message, commit.author.name)
        return Version(commit.oid, at, path.removeprefix(self.lead), note)

    def _led(self, changes: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
        return {self.lead + path: body for path, body in changes.items()}

    async def _open(self) -> Versions | None:
        if not await run_sync(disk.is_folder, self.project, PLACE):
            return None
        return await self.opening(self.project / PLACE)

    async def _made(self) -> Versions:
        await run_sync(_prepare, self.project)
        return await self.opening(self.project / PLACE)


def is_checkpoint(version: Version) -> bool:
    return version.note.kind == CHECKPOINT


async def _holds(versions: Versions, sha: str, path: str) -> bool:
    try:
        await versions.read(sha, path)
    except NotFound:
        return False
    return True


async def _content(versions: Versions, path: str) -> bytes | None:
    try:
        return await versions.read(BRANCH, path)
    except NotFound:
        return None


def _prepare(project: Path) -> None:
    prepare(project)
    if disk.exists(project, PLACE) and not disk.is_folder(project, PLACE):
        raise InvalidInput(f"{PLACE} is not a folder", field="space")

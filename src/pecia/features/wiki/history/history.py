"""The version history of a space: our changes, and external ones between them.

Stored in a git repository of our own in the project folder. The user's repository is never touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.history.message import (
    CHECKPOINT,
    FILE_SYSTEM,
    CommitNote,
    ParsedNote,
    format_subject,
    parse_note,
)
from pecia.features.wiki.history.port import CommitRecord, OpenVersionStore, VersionStore
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import PROJECT_FOLDER, ensure_project_folder
from pecia.kernel.errors import InvalidInput, NotFound

HISTORY_PATH = f"{PROJECT_FOLDER}/history"
BRANCH = "refs/heads/main"
CHECKPOINTS = "refs/checkpoints/main/"
MAX_COMMITS = 10_000


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """One row of a document's timeline. `path` is where the document was then."""

    sha: str
    at: str
    path: str
    note: ParsedNote


@dataclass(frozen=True, slots=True)
class SpaceHistory:
    """The versions of one space. Paths are relative to the content folder."""

    project: Path
    prefix: str
    open_versions: OpenVersionStore

    async def record(
        self,
        before: Mapping[str, bytes | None],
        after: Mapping[str, bytes | None],
        note: CommitNote,
    ) -> str | None:
        """Commit a change. Unrecorded external edits are committed first, without an author.

        The caller must hold the space lock. Returns the id of the version, None if nothing changed.
        """
        versions = await self._open_or_create()
        found = await self._find_untracked(versions, before)
        if found:
            docs = tuple(split_extension(it)[0] for it in found)
            seen = CommitNote(FILE_SYSTEM, format_subject(docs), docs)
            await versions.record(
                BRANCH, self._with_prefix(found), FILE_SYSTEM, seen.message(), kept=False
            )
        made = await versions.record(
            BRANCH, self._with_prefix(after), note.writer, note.message(), kept=False
        )
        return made.oid if made else None

    async def has_versions(self, path: str) -> bool:
        """Whether this document has a version."""
        versions = await self._open()
        if versions is None or BRANCH not in await versions.references():
            return False
        return await _content(versions, self.prefix + path) is not None

    async def list_tracked(self) -> set[str]:
        """The documents in the latest version."""
        versions = await self._open()
        return set() if versions is None else {*await self._tracked(versions)}

    async def checkpoint(self, now: Mapping[str, bytes], note: CommitNote) -> str:
        """Commit everything as it is now, under a permanent reference."""
        versions = await self._open_or_create()
        gone = {it: None for it in await self._tracked(versions) if it not in now}
        changes: dict[str, bytes | None] = {**now, **gone}
        made = await versions.record(
            BRANCH, self._with_prefix(changes), note.writer, note.message(), kept=True
        )
        assert made is not None
        reference = f"{CHECKPOINTS}{made.oid}"
        await versions.point(reference, made.oid)
        return reference

    async def timeline(self, path: str) -> list[DocumentVersion]:
        """The versions of a document, newest first; empty without history."""
        versions = await self._open()
        if versions is None or BRANCH not in await versions.references():
            return []
        led = self.prefix + path
        page = await versions.history([BRANCH], led, limit=MAX_COMMITS)
        rows = {it.commit.oid: self._version(it.commit, it.path) for it in page.steps}
        for sha in (await versions.references(CHECKPOINTS)).values():
            if sha not in rows and await _contains_path(versions, sha, led):
                rows[sha] = self._version(await versions.commit(sha), led)
        order = {it.commit.oid: -at for at, it in enumerate(page.steps)}
        return sorted(rows.values(), key=lambda it: (it.at, order.get(it.sha, 1)), reverse=True)

    async def list_recent(self, path: str, count: int) -> list[DocumentVersion]:
        """The latest versions of a document, without checkpoints that did not change it."""
        versions = await self._open() if count else None
        if versions is None or BRANCH not in await versions.references():
            return []
        page = await versions.history([BRANCH], self.prefix + path, limit=count)
        return [self._version(it.commit, it.path) for it in page.steps]

    async def read(self, sha: str, path: str) -> tuple[bytes, CommitRecord]:
        """A document as of a version; NotFound if either is missing."""
        versions = await self._open()
        if versions is None:
            raise NotFound(f"no version {sha}", field="commitSha")
        commit = await versions.commit(sha)
        for row in [path, *await self._former_paths(versions, path, sha)]:
            try:
                return await versions.read(sha, self.prefix + row), commit
            except NotFound:
                continue
        raise NotFound(f"the document is not in version {sha[:7]}", field="commitSha")

    async def _former_paths(self, versions: VersionStore, path: str, sha: str) -> list[str]:
        """The earlier paths of the document as of that version."""
        page = await versions.history([BRANCH], self.prefix + path, limit=MAX_COMMITS)
        return [it.path.removeprefix(self.prefix) for it in page.steps if it.commit.oid == sha]

    async def _find_untracked(
        self, versions: VersionStore, before: Mapping[str, bytes | None]
    ) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        has_any = BRANCH in await versions.references()
        for path, body in before.items():
            known = await _content(versions, self.prefix + path) if has_any else None
            if known != body:
                found[path] = body
        return found

    async def _tracked(self, versions: VersionStore) -> Sequence[str]:
        if BRANCH not in await versions.references():
            return ()
        listed = await versions.tree(BRANCH)
        return [it.path.removeprefix(self.prefix) for it in listed.files]

    def _version(self, commit: CommitRecord, path: str) -> DocumentVersion:
        at = commit.author.when.isoformat(timespec="seconds")
        note = parse_note(commit.message, commit.author.name)
        return DocumentVersion(commit.oid, at, path.removeprefix(self.prefix), note)

    def _with_prefix(self, changes: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
        return {self.prefix + path: body for path, body in changes.items()}

    async def _open(self) -> VersionStore | None:
        if not await run_sync(disk.is_folder, self.project, HISTORY_PATH):
            return None
        return await self.open_versions(self.project / HISTORY_PATH)

    async def _open_or_create(self) -> VersionStore:
        await run_sync(_ensure_repository, self.project)
        return await self.open_versions(self.project / HISTORY_PATH)


def is_checkpoint(version: DocumentVersion) -> bool:
    return version.note.kind == CHECKPOINT


async def _contains_path(versions: VersionStore, sha: str, path: str) -> bool:
    try:
        await versions.read(sha, path)
    except NotFound:
        return False
    return True


async def _content(versions: VersionStore, path: str) -> bytes | None:
    try:
        return await versions.read(BRANCH, path)
    except NotFound:
        return None


def _ensure_repository(project: Path) -> None:
    ensure_project_folder(project)
    if disk.exists(project, HISTORY_PATH) and not disk.is_folder(project, HISTORY_PATH):
        raise InvalidInput(f"{HISTORY_PATH} is not a folder", field="space")

"""The version history of a space: our changes, and external ones between them.

Stored in a git repository of our own in the project folder. The user's repository is never touched.
A version is prepared first, as a commit that nothing names, and put into history after COMMIT.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.history.message import (
    CHECKPOINT,
    FILE_SYSTEM,
    RENAME,
    CommitNote,
    ParsedNote,
    format_subject,
    parse_note,
)
from pecia.features.wiki.history.port import OpenVersions, VersionCommit, VersionRepository
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import PROJECT_FOLDER, ensure_project_folder
from pecia.kernel.errors import InvalidInput, NotFound

HISTORY_PATH = f"{PROJECT_FOLDER}/history"
CHECKPOINTS = "refs/checkpoints/main/"
MAX_COMMITS = 10_000
EMAIL = "@pecia.local"


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """One row of a document's timeline. `path` is where the document was then."""

    sha: str
    at: str
    path: str
    note: ParsedNote


@dataclass(frozen=True, slots=True)
class RemovedDocument:
    """A file that is no longer there, and the last version that has it."""

    path: str
    last_sha: str
    by: DocumentVersion | None
    """The version that deleted it; None if another program removed the file."""


@dataclass(frozen=True, slots=True)
class PreparedVersions:
    """Commits that follow `base` up to `tip`, and are not in history yet."""

    base: str | None
    tip: str
    is_checkpoint: bool = False
    """Whether `tip` gets a permanent reference."""


@dataclass(frozen=True, slots=True)
class SpaceHistory:
    """The versions of one space. Paths are relative to the content folder."""

    project: Path
    prefix: str
    open_versions: OpenVersions

    @property
    def root(self) -> Path:
        """The content folder."""
        return self.project / self.prefix

    async def advance(self, prepared: PreparedVersions) -> None:
        """Put prepared versions into history. Idempotent; the caller must hold the space lock."""
        versions = await self.open_or_create()
        await versions.advance(prepared.base, prepared.tip)
        if prepared.is_checkpoint:
            await versions.point(checkpoint_reference(prepared.tip), prepared.tip)

    async def timeline(self, path: str) -> list[DocumentVersion]:
        """The versions of a document, newest first; empty without history."""
        versions = await self._open()
        if versions is None or await versions.tip() is None:
            return []
        led = self.prefix + path
        found = await versions.file_commits(led, MAX_COMMITS)
        rows = {commit.oid: self._version(commit, at) for commit, at in found}
        for sha in (await versions.references(CHECKPOINTS)).values():
            if sha not in rows and await _content(versions, sha, led) is not None:
                rows[sha] = self._version(await versions.commit(sha), led)
        order = {commit.oid: -at for at, (commit, _) in enumerate(found)}
        return sorted(rows.values(), key=lambda it: (it.at, order.get(it.sha, 1)), reverse=True)

    async def list_recent(self, path: str, count: int) -> list[DocumentVersion]:
        """The latest versions of a document, without checkpoints that did not change it."""
        versions = await self._open() if count else None
        if versions is None:
            return []
        found = await versions.file_commits(self.prefix + path, count)
        return [self._version(commit, at) for commit, at in found]

    async def list_removed(self, limit: int) -> list[RemovedDocument]:
        """The files that were deleted or, by other programs, removed; the latest first."""
        versions = await self._open()
        tip = None if versions is None else await versions.tip()
        if versions is None or tip is None:
            return []
        found = [
            RemovedDocument(path.removeprefix(self.prefix), last, self._version(commit, path))
            for commit, path, last in await versions.removed_files(limit)
            if path.startswith(self.prefix)
        ]
        # What other programs removed is still in the latest version.
        for path in await versions.list_paths(tip):
            own = path.removeprefix(self.prefix)
            if path.startswith(self.prefix) and not await run_sync(disk.exists, self.root, own):
                found.append(RemovedDocument(own, tip, None))
        return [it for it in found if it.by is None or not it.by.note.subject.startswith(RENAME)]

    async def read(self, sha: str, path: str) -> tuple[bytes, VersionCommit]:
        """A file as of a version; NotFound if either is missing."""
        versions = await self._open()
        if versions is None:
            raise NotFound(f"no version {sha}", field="commitSha")
        return await versions.read(sha, self.prefix + path), await versions.commit(sha)

    async def read_prepared(self, prepared: PreparedVersions, path: str) -> bytes | None:
        """A document as of versions that are not in history; None if they were pruned."""
        versions = await self._open()
        if versions is None:
            return None
        return await _content(versions, prepared.tip, self.prefix + path)

    async def open_or_create(self) -> VersionRepository:
        await run_sync(_ensure_repository, self.project)
        return await self.open_versions(self.project / HISTORY_PATH)

    def _version(self, commit: VersionCommit, path: str) -> DocumentVersion:
        at = commit.authored_at.isoformat(timespec="seconds")
        note = parse_note(commit.message, commit.author_name)
        return DocumentVersion(commit.oid, at, path.removeprefix(self.prefix), note)

    async def _open(self) -> VersionRepository | None:
        if not await run_sync(disk.is_folder, self.project, HISTORY_PATH):
            return None
        return await self.open_versions(self.project / HISTORY_PATH)


@dataclass(slots=True)
class VersionDraft:
    """The versions of one transaction, each prepared on the one before. Needs the space lock."""

    history: SpaceHistory
    prepared: PreparedVersions | None = field(default=None, init=False)

    async def record(
        self,
        before: Mapping[str, bytes | None],
        after: Mapping[str, bytes | None],
        note: CommitNote,
    ) -> None:
        """Prepare a change. Unrecorded external edits come first, without an author."""
        versions = await self.history.open_or_create()
        tip = await self._tip(versions)
        lead = self.history.prefix
        led = {lead + path: body for path, body in before.items()}
        differing = await versions.find_differing(tip, led)
        found = {path.removeprefix(lead): led[path] for path in differing}
        if found:
            docs = tuple(split_extension(it)[0] for it in found)
            await self._prepare(
                versions, found, CommitNote(FILE_SYSTEM, format_subject(docs), docs)
            )
        await self._prepare(versions, after, note)

    async def checkpoint(self, now: Mapping[str, bytes], note: CommitNote) -> str:
        """Prepare a version of everything as it is now; returns its permanent reference."""
        versions = await self.history.open_or_create()
        tip, lead = await self._tip(versions), self.history.prefix
        tracked = await versions.list_paths(tip) if tip is not None else ()
        gone = {it.removeprefix(lead): None for it in tracked if it.removeprefix(lead) not in now}
        await self._prepare(versions, {**now, **gone}, note, is_checkpoint=True)
        assert self.prepared is not None
        return checkpoint_reference(self.prepared.tip)

    async def has_versions(self, path: str) -> bool:
        """Whether this document has a version."""
        versions = await self.history.open_or_create()
        return (
            await _content(versions, await self._tip(versions), self.history.prefix + path)
            is not None
        )

    async def _tip(self, versions: VersionRepository) -> str | None:
        return await versions.tip() if self.prepared is None else self.prepared.tip

    async def _prepare(
        self,
        versions: VersionRepository,
        changes: Mapping[str, bytes | None],
        note: CommitNote,
        *,
        is_checkpoint: bool = False,
    ) -> None:
        tip = await self._tip(versions)
        made = await versions.prepare(
            {self.history.prefix + path: body for path, body in changes.items()},
            note.message(),
            parent=tip,
            author=(note.writer, note.writer + EMAIL),
            kept=is_checkpoint,
        )
        if made is not None:
            base = tip if self.prepared is None else self.prepared.base
            self.prepared = PreparedVersions(base, made, is_checkpoint)


def is_checkpoint(version: DocumentVersion) -> bool:
    return version.note.kind == CHECKPOINT


def checkpoint_reference(sha: str) -> str:
    return f"{CHECKPOINTS}{sha}"


async def _content(versions: VersionRepository, ref: str | None, path: str) -> bytes | None:
    try:
        return None if ref is None else await versions.read(ref, path)
    except NotFound:
        return None


def _ensure_repository(project: Path) -> None:
    ensure_project_folder(project)
    if disk.exists(project, HISTORY_PATH) and not disk.is_folder(project, HISTORY_PATH):
        raise InvalidInput(f"{HISTORY_PATH} is not a folder", field="space")

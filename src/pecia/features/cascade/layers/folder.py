"""A local folder as a layer. It follows no symlink and reads nothing outside the folder.

Parsed files are cached until they change, so that a rescan costs one stat per file.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio import from_thread
from anyio.to_thread import run_sync

from pecia.features.cascade.core.concept_id import id_of_path, is_reserved
from pecia.features.cascade.core.dates import GIT
from pecia.features.cascade.layers.layer import (
    LayerContent,
    LayerFile,
    ReportProgress,
    fault_problem,
    no_progress,
    parse_file,
)
from pecia.features.cascade.manifest import LayerSpec
from pecia.features.cascade.model import ConceptDocument, DocumentDate, LayerProblem
from pecia.features.cascade.okf.document import MAX_BYTES
from pecia.kernel.compute.pool import compute


def read_bundle_files(folder: Path) -> dict[str, bytes]:
    """Every `.md` file below the folder by path, except symlinks and hidden files. Blocking."""
    return dict(_walk_bundle(folder.resolve(), ""))


def _walk_bundle(root: Path, lead: str) -> Iterator[tuple[str, bytes]]:
    with os.scandir(root / lead) as entries:
        children = sorted(entries, key=lambda it: it.name)
    for it in children:
        if it.name.startswith(".") or it.name in SKIPPED_FOLDERS or it.is_symlink():
            continue
        if it.is_dir():
            yield from _walk_bundle(root, f"{lead}{it.name}/")
        elif it.name.lower().endswith(".md") and it.is_file():
            yield f"{lead}{it.name}", read_bounded(it.path)


SKIPPED_FOLDERS = frozenset({"node_modules"})
MAX_ENTRIES = 1_000_000

LARGE_HEAD_BYTES, HEAD_TIMEOUT_S = 8_192, 10.0
"""Larger frontmatter is parsed by a compute worker, with this timeout."""

READ_BLOCK_BYTES = 65_536
"""Read block size. Allocating for the largest file took longer than reading."""

FileState: TypeAlias = tuple[int, int, int]
"""Size, mtime and inode: any change gives another stamp."""


@dataclass(slots=True)
class _Walk:
    """State of one walk through the folder."""

    files: dict[str, FileState] = field(default_factory=dict[str, FileState])
    problems: list[LayerProblem] = field(default_factory=list[LayerProblem])
    entries: int = 0


class FolderLayer:
    """The `.md` files below a folder, except hidden ones and symlinks."""

    def __init__(self, spec: LayerSpec) -> None:
        assert spec.path is not None
        self.spec = spec
        self.root: Path = spec.path
        self._stamps: dict[str, FileState] = {}
        self._documents: dict[str, ConceptDocument] = {}
        self._problems: dict[str, LayerProblem] = {}
        self._passed: tuple[LayerProblem, ...] = ()
        self._degraded: str | None = None
        self._days: Mapping[str, str] = {}

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        await run_sync(self._read, report)
        return self.current_content()

    def current_content(self) -> LayerContent:
        """The current content. Its documents keep changing with the folder."""
        problems = (*self._passed, *self._problems.values())
        return LayerContent(self._documents, problems, self._degraded)

    def reread(self, paths: Iterable[str]) -> set[str]:
        """Reread only these files; returns the changed ids. Blocking."""
        changed: set[str] = set()
        for path in paths:
            stamp = self._stamp(path) if self.is_concept_path(path) else None
            if stamp == self._stamps.get(path):
                continue
            changed.add(id_of_path(path))
            self._remove_file(path)
            if stamp is not None:
                self._update_file(path, stamp)
        return changed

    def refresh_concept(self, concept: str) -> set[str]:
        """Reread the file that is, or would be, one concept. Blocking."""
        return self.reread([f"{concept}.md"])

    def is_unclear(self, paths: Iterable[str]) -> bool:
        """Whether a folder may be among these paths, which requires a walk. Blocking."""
        return any(
            not self.is_concept_path(it) and not _is_hidden(it) and not (self.root / it).is_file()
            for it in paths
        )

    @property
    def has_undated(self) -> bool:
        return any(it.dated.value is None for it in self._documents.values())

    def apply_git_days(self, days: Mapping[str, str]) -> None:
        """Date documents without a date of their own by git."""
        self._days = days
        for it in [*self._documents.values()]:
            if it.dated.value is None and it.path in days:
                self._documents[it.id] = replace(it, dated=DocumentDate(days[it.path], GIT))

    def is_concept_path(self, path: str) -> bool:
        """Whether a file at that path would be a concept."""
        is_page = path.lower().endswith(".md") and not is_reserved(path)
        return is_page and not _is_hidden(path)

    def _read(self, report: ReportProgress) -> None:
        walk = _Walk()
        is_there = self.root.is_dir()
        if is_there:
            self._walk(walk)
        for path in self._stamps.keys() - walk.files.keys():
            self._remove_file(path)
        for number, path in enumerate(sorted(walk.files), start=1):
            if self._stamps.get(path) != walk.files[path]:
                self._remove_file(path)
                self._update_file(path, walk.files[path])
            if number % 500 == 0:
                report(number, len(walk.files))
        report(len(walk.files), len(walk.files))
        self._passed = tuple(walk.problems)
        self._degraded = None if is_there else "the folder does not exist"
        if walk.entries > MAX_ENTRIES:
            self._degraded = f"more than {MAX_ENTRIES} entries; not all were read"

    def _walk(self, walk: _Walk) -> None:
        waiting = [(str(self.root), "")]
        while waiting and walk.entries <= MAX_ENTRIES:
            at, prefix = waiting.pop()
            try:
                with os.scandir(at) as entries:
                    children = list(entries)
            except OSError as error:
                walk.problems.append(self._problem(prefix or ".", "unreadable", _reason(error)))
                continue
            walk.entries += len(children)
            waiting.extend(self._enter(walk, children, prefix))

    def _enter(
        self, walk: _Walk, children: "list[os.DirEntry[str]]", prefix: str
    ) -> Iterator[tuple[str, str]]:
        for it in children:
            if it.name.startswith(".") or it.name in SKIPPED_FOLDERS:
                continue
            path = f"{prefix}{it.name}"
            if it.is_symlink():
                if self.is_concept_path(path) or it.is_dir():
                    walk.problems.append(self._problem(path, "link", "links are not followed"))
            elif it.is_dir(follow_symlinks=False):
                yield it.path, f"{path}/"
            elif self.is_concept_path(path):
                self._file(walk, path, it)

    def _file(self, walk: _Walk, path: str, entry: "os.DirEntry[str]") -> None:
        try:
            path.encode()
            found = entry.stat(follow_symlinks=False)
        except UnicodeEncodeError:
            walk.problems.append(
                self._problem(ascii(path), "invalid-id", "the file name is not UTF-8")
            )
        except OSError as error:
            walk.problems.append(self._problem(path, "unreadable", _reason(error)))
        else:
            if stat.S_ISREG(found.st_mode):
                walk.files[path] = _stamp_of(found)
            else:
                walk.problems.append(self._problem(path, "unreadable", "not a regular file"))

    def _update_file(self, path: str, stamp: FileState) -> None:
        self._stamps[path] = stamp
        found = self._parse_path(path)
        if isinstance(found, ConceptDocument) and (first := self._documents.get(found.id)):
            message = f"{first.path} is the concept {found.id!r} already"
            found = LayerProblem(self.spec.name, path, "duplicate-id", message, found.id)
        if isinstance(found, ConceptDocument):
            self._documents[found.id] = found
            if found.fault:
                self._problems[path] = fault_problem(self.spec.name, found)
        elif found is not None:
            self._problems[path] = found

    def _remove_file(self, path: str) -> None:
        if self._stamps.pop(path, None) is None:
            return
        self._problems.pop(path, None)
        known = self._documents.get(id_of_path(path))
        if known is not None and known.path == path:
            del self._documents[known.id]

    def _parse_path(self, path: str) -> ConceptDocument | LayerProblem | None:
        try:
            body = read_bounded(f"{self.root}/{path}")
        except OSError as error:
            return self._problem(path, "unreadable", _reason(error))
        raw = LayerFile(path, body, self._days.get(path))
        if not _has_large_head(body):
            return parse_file(self.spec.name, raw)
        return from_thread.run(self._parse_in_worker, raw)

    async def _parse_in_worker(self, raw: LayerFile) -> ConceptDocument | LayerProblem | None:
        """Parse a file that may take long in a compute worker."""
        with anyio.move_on_after(HEAD_TIMEOUT_S):
            return await compute(self.spec.name, parse_file, self.spec.name, raw)
        message = f"parsing the frontmatter took more than {HEAD_TIMEOUT_S:g} seconds"
        return self._problem(raw.path, "too-slow", message)

    def _stamp(self, path: str) -> FileState | None:
        """The stat of an existing file without a symlink in its path."""
        place = self.root / path
        try:
            found = place.lstat()
            is_straight = place.parent.resolve() == place.parent
        except (OSError, ValueError):
            return None
        return _stamp_of(found) if is_straight and stat.S_ISREG(found.st_mode) else None

    def _problem(self, path: str, code: str, message: str) -> LayerProblem:
        concept = id_of_path(path) if self.is_concept_path(path) else None
        return LayerProblem(self.spec.name, path, code, message, concept)


def read_bounded(path: str) -> bytes:
    """The file, or enough of it to know that it is too large. A symlink is an error."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        pieces: list[bytes] = []
        left = MAX_BYTES + 1
        while left and (piece := os.read(handle, min(left, READ_BLOCK_BYTES))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(handle)


def _has_large_head(body: bytes) -> bool:
    return body.startswith(b"---") and body.find(b"\n---", 3) > LARGE_HEAD_BYTES


def _is_hidden(path: str) -> bool:
    return any(
        it.startswith(".") or it.endswith("~") or it in SKIPPED_FOLDERS for it in path.split("/")
    )


def _stamp_of(found: os.stat_result) -> FileState:
    return found.st_size, found.st_mtime_ns, found.st_ino


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()

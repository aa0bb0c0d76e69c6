"""The files of a space that take part in a sync: not hidden, not ignored, not too large."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anyio.to_thread import run_sync

from pecia.features.wiki.core.ignore import IgnoreRules
from pecia.features.wiki.core.names import find_path_problem
from pecia.features.wiki.remote.core.settle import content_id
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileStamp
from pecia.features.wiki.storage.scan import SpaceScan
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import NotFound, PayloadTooLarge, PeciaError

MAX_CACHED_SPACES = 64


@dataclass(frozen=True, slots=True)
class SyncedPaths:
    """Where the files of a space are in the repository, and which take part."""

    place: SpaceLocation
    subfolder: str
    scan: SpaceScan

    @property
    def lead(self) -> str:
        """In the repository, before the paths of the content folder."""
        return f"{self.subfolder}/{self.place.prefix}" if self.subfolder else self.place.prefix

    def to_remote(self, path: str) -> str:
        return self.lead + path

    def to_local(self, path: str) -> str | None:
        """The path in the content folder; None for a file that is not of the space."""
        return path.removeprefix(self.lead) if path.startswith(self.lead) else None

    def find_problem(self, path: str) -> str:
        """Why a path of the content folder takes no part; empty where it does."""
        if problem := find_path_problem(path):
            return problem
        rules = self._rules(path)
        return "an ignore file of the space leaves it out" if rules.is_path_ignored(path) else ""

    def select(
        self, files: Mapping[str, str], skipped: dict[str, str] | None = None
    ) -> dict[str, str]:
        """Of files of the repository, those of the space, by their local paths."""
        found: dict[str, str] = {}
        for path, it in files.items():
            own = self.to_local(path)
            if not own:
                continue
            if not (problem := self.find_problem(own)):
                found[own] = it
            elif skipped is not None and not _is_hidden(own):
                skipped[own] = problem
        return found

    def _rules(self, path: str) -> IgnoreRules:
        folder = path.rpartition("/")[0]
        while folder and folder not in self.scan.rules:
            folder = folder.rpartition("/")[0]
        return self.scan.rules.get(folder, self.scan.ignored)


@dataclass(slots=True)
class LocalContents:
    """Ids of the contents of local files, remembered while a file's stamp is reliable."""

    _known: "OrderedDict[SpaceLocation, dict[str, tuple[FileStamp, str]]]" = field(
        default_factory=lambda: OrderedDict[SpaceLocation, dict[str, tuple[FileStamp, str]]]()
    )

    async def load_ids(self, paths: SyncedPaths, skipped: dict[str, str]) -> dict[str, str]:
        """Every file of the space that takes part; `skipped` gets those that cannot be read."""
        known = self._known.setdefault(paths.place, {})
        self._known.move_to_end(paths.place)
        while len(self._known) > MAX_CACHED_SPACES:
            self._known.popitem(last=False)
        return await run_sync(_load_ids, paths, known, skipped)


def _load_ids(
    paths: SyncedPaths, known: dict[str, tuple[FileStamp, str]], skipped: dict[str, str]
) -> dict[str, str]:
    scan = paths.scan
    skipped |= scan.refused
    found: dict[str, str] = {}
    for path in (*scan.documents.values(), *scan.other_files):
        if paths.find_problem(path):
            continue
        last = known.get(path)
        if last is None or last[0] != scan.stamps[path] or not last[0].settled:
            try:
                body, stamp = disk.read_with_stamp(paths.place.root, path)
            except NotFound:
                continue
            except PeciaError as error:
                skipped[path] = error.message
                continue
            known[path] = (stamp, content_id(body))
        found[path] = known[path][1]
    for path in [it for it in known if it not in found]:
        del known[path]
    return found


def leave_out(files: Mapping[str, str], skipped: Mapping[str, str]) -> dict[str, str]:
    """Without files that are skipped, and those in skipped folders: what cannot be read was not
    deleted."""
    if not skipped:
        return dict(files)
    return {
        path: it
        for path, it in files.items()
        if path not in skipped and not any(above in skipped for above in _folders_above(path))
    }


def _folders_above(path: str) -> Iterable[str]:
    return (path[:at] for at, it in enumerate(path) if it == "/")


def read_stable(paths: SyncedPaths, wanted: Iterable[str]) -> dict[str, bytes | None]:
    """Files as they are now; one that a program is writing is left out. Blocking."""
    found: dict[str, bytes | None] = {}
    for path in wanted:
        try:
            it = disk.read_snapshot(paths.place.root, path)
        except PayloadTooLarge:
            continue
        if it is None:
            found[path] = None
        elif not it.is_open:
            found[path] = it.body
    return found


@dataclass(frozen=True, slots=True)
class TakenPaths:
    """What a tree has: no file of ours fits where it has a folder, or below one of its files."""

    files: frozenset[str]
    folders: frozenset[str]

    @classmethod
    def of(cls, *names: Iterable[str]) -> "TakenPaths":
        files = frozenset(it for some in names for it in some)
        return cls(files, frozenset(above for it in files for above in _folders_above(it)))

    def find_obstacle(self, path: str) -> str | None:
        if path in self.folders:
            return f"{path}/"
        return next((it for it in _folders_above(path) if it in self.files), None)


def _is_hidden(path: str) -> bool:
    return any(it.startswith(".") for it in path.split("/"))

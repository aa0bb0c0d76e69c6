"""The cascade room of a server, with its ways out handed in: git, the web, programs, notices."""

import hashlib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.adapters.git import tree
from pecia.adapters.git.fetch import Limits as FetchLimits
from pecia.adapters.git.fetch import Trust, fetch
from pecia.adapters.git.opening import found_commit, opened
from pecia.adapters.git.repository import Bounds, Repository
from pecia.adapters.http.fetch import Fetcher, Limits
from pecia.adapters.http.guard import Guard
from pecia.adapters.http.rules import Rules
from pecia.adapters.http.transport import trusting
from pecia.adapters.nodes import NodePrograms
from pecia.adapters.notified import FolderNews
from pecia.kernel.errors import PeciaError, UpstreamError
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store
from pecia.rooms.cascade.cascades import Cascades, places_of
from pecia.rooms.cascade.layers.reading import RawFile
from pecia.rooms.cascade.okf.document import MAX_BYTES
from pecia.rooms.cascade.ports import Ports
from pecia.rooms.cascade.room import server_cascades
from pecia.rooms.cascade.settings import CascadeSettings
from pecia.rooms.cascade.trust import TrustFile
from pecia.rooms.lake.settings import LakeSettings

MAX_COMMITS = 5_000
"""How far back dates are looked for. What is older has none."""

FETCH_S = 60.0


def cascades_of(settings: Settings, store: Store) -> Cascades:
    """The cascades that the settings name."""
    home = settings.kernel.home
    places = places_of(settings.part(CascadeSettings).manifests)
    return server_cascades(store, places, cascade_ports(settings), trust_file(home))


def cascade_ports(settings: Settings) -> Ports:
    """Every way out that a layer may need; of hosts, those that the lake trusts too."""
    lake = settings.part(LakeSettings)
    guard = Guard(Rules.trusting(lake.trusted_hosts))
    copies = settings.kernel.home / "cascade-git"
    git = GitRepositories(copies, Trust(guard, authorities=lake.authorities))
    web = WebFiles(guard, trusting(lake.authorities) if lake.authorities else None)
    return Ports(git, NodePrograms(), web, None, FolderNews)


def trust_file(home: Path) -> TrustFile:
    """Where it is written down which manifests may start programs."""
    return TrustFile(home / "cascade-trust.json")


@dataclass(frozen=True, slots=True)
class GitRepositories:
    """Repositories of this machine, and copies of others beneath `copies`."""

    copies: Path
    trust: Trust = field(default_factory=Trust)

    async def files(
        self, place: Path | str, ref: str, subdir: str
    ) -> tuple[Sequence[RawFile], Mapping[str, str]]:
        repository = place if isinstance(place, Path) else await self._copied(place)
        days = await _days(repository, ref)
        return await run_sync(_files, repository, ref, subdir, days)

    async def days(self, folder: Path) -> Mapping[str, str]:
        root = await run_sync(_work_tree, folder)
        if root is None:
            return {}
        lead = folder.relative_to(root).as_posix()
        prefix = "" if lead == "." else f"{lead}/"
        found = await _days(root, "HEAD")
        return {path[len(prefix) :]: day for path, day in found.items() if path.startswith(prefix)}

    async def _copied(self, url: str) -> Path:
        into = self.copies / hashlib.sha256(url.encode()).hexdigest()[:32]
        await fetch(url, into, self.trust, limits=FetchLimits(timeout_s=FETCH_S))
        return into


@dataclass(frozen=True, slots=True)
class WebFiles:
    """Files of the web, as far as the guard lets us."""

    guard: Guard = field(default_factory=Guard)
    tls: ssl.SSLContext | None = None

    async def __call__(self, url: str, max_bytes: int) -> bytes:
        async with Fetcher(self.guard, tls=self.tls) as fetcher:
            answer = await fetcher.fetch(url, limits=Limits(max_bytes=max_bytes, timeout_s=FETCH_S))
        if answer.status != 200:
            raise UpstreamError(f"{url} answered {answer.status}", status=answer.status)
        return answer.body


async def _days(repository: Path, ref: str) -> Mapping[str, str]:
    """The author's day of each file's last change; none where the history cannot be read."""
    try:
        touched = await Repository(repository, Bounds(commits=MAX_COMMITS)).last_touched(ref)
    except PeciaError:
        return {}
    return {path: it.author.when.date().isoformat() for path, it in touched.items()}


def _files(
    repository: Path, ref: str, subdir: str, days: Mapping[str, str]
) -> tuple[list[RawFile], dict[str, str]]:
    lead = f"{subdir}/" if subdir else ""
    found: list[RawFile] = []
    with opened(repository) as git:
        commit = found_commit(git, ref)
        listing = tree.listing(git, commit, Bounds().entries)
        refused = dict(listing.refused)
        for it in listing.files:
            if not it.path.startswith(lead) or not it.path.lower().endswith(".md"):
                continue
            path = it.path[len(lead) :]
            if it.size_bytes > MAX_BYTES:
                refused[path] = f"{it.size_bytes} bytes, at most {MAX_BYTES} are read"
            elif not any(part.startswith(".") for part in path.split("/")):
                body = tree.read(git, commit, it.path, MAX_BYTES)
                found.append(RawFile(path, body, days.get(it.path)))
    return found, {path: why for path, why in refused.items() if path.lower().endswith(".md")}


def _work_tree(folder: Path) -> Path | None:
    return next((it for it in (folder, *folder.parents) if (it / ".git").exists()), None)

"""Where layers of cascades come from: git repositories and files of the web."""

import hashlib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.adapters.git import tree
from pecia.adapters.git.fetch import GitFetchLimits as FetchLimits
from pecia.adapters.git.fetch import GitFetchPolicy, fetch
from pecia.adapters.git.libgit2 import open_repository, resolve_commit
from pecia.adapters.git.repository import GitReadLimits, Repository
from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.fetch import Fetcher, HttpFetchLimits
from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.transport import build_tls_context
from pecia.features.cascade.layers.layer import LayerFile
from pecia.features.cascade.okf.document import MAX_BYTES
from pecia.features.lake.settings import LakeSettings
from pecia.kernel.errors import PeciaError, UpstreamError

MAX_COMMITS = 5_000
"""How far back dates are looked for. What is older has none."""

FETCH_TIMEOUT_S = 60.0


def open_repositories(copies: Path, lake: LakeSettings) -> "GitRepositories":
    """Its hosts are those that the lake allows."""
    guard = EgressGuard(EgressRules.from_trusted_hosts(lake.trusted_hosts))
    return GitRepositories(copies, GitFetchPolicy(guard, authorities=lake.authorities))


def open_web(lake: LakeSettings) -> "WebFiles":
    """Its hosts are those that the lake allows."""
    guard = EgressGuard(EgressRules.from_trusted_hosts(lake.trusted_hosts))
    return WebFiles(guard, build_tls_context(lake.authorities) if lake.authorities else None)


@dataclass(frozen=True, slots=True)
class GitRepositories:
    """Repositories of this machine, and copies of others beneath `copies`."""

    clones_folder: Path
    trust: GitFetchPolicy = field(default_factory=GitFetchPolicy)

    async def files(
        self, place: Path | str, ref: str, subdir: str
    ) -> tuple[Sequence[LayerFile], Mapping[str, str]]:
        repository = place if isinstance(place, Path) else await self._clone(place)
        days = await _last_change_dates(repository, ref)
        return await run_sync(_read_markdown_files, repository, ref, subdir, days)

    async def days(self, folder: Path) -> Mapping[str, str]:
        root = await run_sync(_work_tree, folder)
        if root is None:
            return {}
        lead = folder.relative_to(root).as_posix()
        prefix = "" if lead == "." else f"{lead}/"
        found = await _last_change_dates(root, "HEAD")
        return {path[len(prefix) :]: day for path, day in found.items() if path.startswith(prefix)}

    async def _clone(self, url: str) -> Path:
        into = self.clones_folder / hashlib.sha256(url.encode()).hexdigest()[:32]
        await fetch(url, into, self.trust, limits=FetchLimits(timeout_s=FETCH_TIMEOUT_S))
        return into


@dataclass(frozen=True, slots=True)
class WebFiles:
    """Files of the web, as far as the guard lets us."""

    guard: EgressGuard = field(default_factory=EgressGuard)
    tls: ssl.SSLContext | None = None

    async def __call__(self, url: str, max_bytes: int) -> bytes:
        async with Fetcher(self.guard, tls=self.tls) as fetcher:
            answer = await fetcher.fetch(
                url, limits=HttpFetchLimits(max_bytes=max_bytes, timeout_s=FETCH_TIMEOUT_S)
            )
        if answer.status != 200:
            raise UpstreamError(f"{url} answered {answer.status}", status=answer.status)
        return answer.body


async def _last_change_dates(repository: Path, ref: str) -> Mapping[str, str]:
    """The author's day of each file's last change; none where the history cannot be read."""
    try:
        touched = await Repository(repository, GitReadLimits(commits=MAX_COMMITS)).last_touched(ref)
    except PeciaError:
        return {}
    return {path: it.author.when.date().isoformat() for path, it in touched.items()}


def _read_markdown_files(
    repository: Path, ref: str, subdir: str, days: Mapping[str, str]
) -> tuple[list[LayerFile], dict[str, str]]:
    lead = f"{subdir}/" if subdir else ""
    found: list[LayerFile] = []
    with open_repository(repository) as git:
        commit = resolve_commit(git, ref)
        listing = tree.list_tree(git, commit, GitReadLimits().entries)
        refused = dict(listing.skipped)
        for it in listing.files:
            if not it.path.startswith(lead) or not it.path.lower().endswith(".md"):
                continue
            path = it.path[len(lead) :]
            if it.size_bytes > MAX_BYTES:
                refused[path] = f"{it.size_bytes} bytes, at most {MAX_BYTES} are read"
            elif not any(part.startswith(".") for part in path.split("/")):
                body = tree.read_file(git, commit, it.path, MAX_BYTES)
                found.append(LayerFile(path, body, days.get(it.path)))
    return found, {path: why for path, why in refused.items() if path.lower().endswith(".md")}


def _work_tree(folder: Path) -> Path | None:
    return next((it for it in (folder, *folder.parents) if (it / ".git").exists()), None)

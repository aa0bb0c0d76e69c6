"""Clones remote repositories and pushes to them: https, ssh and file, behind the egress guard and
under limits.

The copying runs in a process of its own with little memory and no environment. A hostile server
can make that process fail, or be ended; it cannot reach our addresses, nor fill our memory.
"""

import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
import orjson
from anyio.to_thread import run_sync
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_ssh_private_key,
)
from pydantic import BaseModel, ValidationError

from pecia.adapters.connectors.filesystem.bounds import FolderBounds
from pecia.adapters.git.local_clone import copy_repository, require_bare_repository
from pecia.adapters.http.egress_rules import HINT
from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.tunnel import Tunnel, open_tunnel
from pecia.kernel.errors import (
    Forbidden,
    InvalidFormat,
    PayloadTooLarge,
    PeciaError,
    Timeout,
    UpstreamError,
)

_CHILD = "pecia.adapters.git.fetch_child"


@dataclass(frozen=True, slots=True)
class GitCredentials:
    """What to show when asked: a user and a password or token, or with `is_key` a key for ssh."""

    username: str
    secret: str = field(repr=False)
    is_key: bool = False

    def __post_init__(self) -> None:
        # libssh2 1.11, which pygit2 brings along, corrupts its memory when it is given an RSA key.
        if self.is_key and not _is_elliptic(self.secret):
            raise InvalidFormat(
                "the key must be an Ed25519 or ECDSA private key without a passphrase",
                field="credentials",
            )


@dataclass(frozen=True, slots=True)
class GitFetchLimits:
    """`max_bytes` holds for what comes over the wire and for each file it is written to."""

    max_bytes: int = 1_000_000_000
    max_objects: int = 5_000_000
    memory_bytes: int = 2_000_000_000
    timeout_s: float = 600


@dataclass(frozen=True, slots=True)
class GitFetchPolicy:
    """What an operator allows beyond public https.

    ssh goes only to hosts named in the guard's rules, and only where `ssh_home` has their keys
    in `.ssh/known_hosts`: the library takes no fixed address and shows no host key. A file
    URL must lie beneath one of `folders`, which are real paths; None is the whole machine.
    """

    guard: EgressGuard = field(default_factory=EgressGuard)
    folders: tuple[Path, ...] | None = ()
    ssh_home: Path | None = None
    authorities: Path | None = None


@dataclass(frozen=True, slots=True)
class GitFetchResult:
    """What is here now: the default branch, where the server names one, and every reference."""

    head: str | None
    references: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GitBranchUpdate:
    """A reference there, the commit that it names now (None: it does not exist), and the one that
    it shall name."""

    reference: str
    old: str | None
    new: str


async def fetch(
    url: str,
    into: Path,
    trust: GitFetchPolicy,
    *,
    credentials: GitCredentials | None = None,
    limits: GitFetchLimits | None = None,
) -> GitFetchResult:
    """Bring the bare repository at `into` up to date with the one at this URL, or make it.

    Branches and tags become the same as there. A first copy appears whole or not at all.
    """
    bounds = limits or GitFetchLimits()
    async with _staging_folder(into) as place:
        order = _build_order(place, trust, credentials, bounds)
        answer = await _run_fetch(url, trust, order, bounds)
        if answer.error:
            raise _failure(answer, bounds)
    return GitFetchResult(answer.head, answer.references)


async def push(
    url: str,
    copy: Path,
    branch: GitBranchUpdate,
    trust: GitFetchPolicy,
    *,
    credentials: GitCredentials | None = None,
    limits: GitFetchLimits | None = None,
) -> bool:
    """Advance a branch of the repository at this URL by commits of our copy. Never by force: False
    where the branch is not where it was."""
    bounds = limits or GitFetchLimits()
    order = _build_order(copy, trust, credentials, bounds)
    order["push"] = asdict(branch)
    if urlsplit(url).scheme == "file":
        place = _folder_of(url)
        await run_sync(require_bare_repository, place, FolderBounds(trust.folders))
        order |= {"url": str(place), "proxy": None}
        answer = await _run_child(order, bounds.timeout_s)
    else:
        answer = await _run_fetch(url, trust, order, bounds)
    if answer.error == "moved":
        return False
    if answer.error == "refused":
        raise UpstreamError(
            f"the remote refused the push: {answer.reason}",
            reason="push_refused",
            retryable=False,
        )
    if answer.error:
        raise _failure(answer, bounds)
    return True


def _build_order(
    place: Path, trust: GitFetchPolicy, credentials: GitCredentials | None, bounds: GitFetchLimits
) -> dict[str, object]:
    return {
        "into": str(place),
        "limits": asdict(bounds),
        "credentials": asdict(credentials) if credentials else None,
        "ssh_home": str(trust.ssh_home or ""),
        "authorities": str(trust.authorities or ""),
    }


async def _run_fetch(
    url: str, trust: GitFetchPolicy, order: dict[str, object], bounds: GitFetchLimits
) -> "_Answer":
    async with _open_route(url, trust, bounds) as way:
        order |= {"url": way.url, "proxy": way.tunnel.url if way.tunnel else None}
        answer = await _run_child(order, bounds.timeout_s)
        overrun = way.tunnel is not None and way.tunnel.overrun
    return _Answer(error="limit") if overrun else answer


def _is_elliptic(key: str) -> bool:
    for load in (load_ssh_private_key, load_pem_private_key):
        try:
            found = load(key.encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
        return isinstance(found, Ed25519PrivateKey | EllipticCurvePrivateKey)
    return False


@dataclass(frozen=True, slots=True)
class _Route:
    url: str
    tunnel: Tunnel | None = None


@asynccontextmanager
async def _open_route(
    url: str, trust: GitFetchPolicy, bounds: GitFetchLimits
) -> AsyncGenerator[_Route]:
    scheme = urlsplit(url).scheme
    if scheme == "https":
        rules = replace(trust.guard.rules, schemes=frozenset({"https"}))
        target = rules.check(url)
        guard = replace(trust.guard, rules=rules)
        async with open_tunnel(guard, target, max_bytes=bounds.max_bytes) as way:
            yield _Route(url, way)
    elif scheme == "ssh":
        check_ssh_host(url, trust)
        yield _Route(url)
    elif scheme == "file":
        async with _local_source(_folder_of(url), trust.folders, bounds.max_bytes) as place:
            yield _Route(str(place))
    else:
        raise Forbidden(
            "refused: a repository is fetched by https, ssh or file URLs",
            rule="scheme",
            hint="git@host:path is written ssh://git@host/path.",
        )


def check_ssh_host(url: str, trust: GitFetchPolicy) -> None:
    """Refuse a host that ssh may not connect to."""
    parts = urlsplit(url)
    host, port = (parts.hostname or "").lower(), parts.port or 22
    if parts.password is not None:
        raise Forbidden("refused: a URL must not contain a password", rule="userinfo", host=host)
    if trust.ssh_home is None or not {host, f"{host}:{port}"} & trust.guard.rules.hosts:
        raise Forbidden(
            f"refused: {host!r} is not a host that ssh may connect to",
            rule="ssh_host",
            host=host,
            hint=HINT,
        )


def _folder_of(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc:
        raise Forbidden("refused: a file URL names no host", rule="folder", host=parts.netloc)
    return Path(unquote(parts.path))


@asynccontextmanager
async def _local_source(
    place: Path, folders: tuple[Path, ...] | None, max_bytes: int
) -> AsyncGenerator[Path]:
    """The repository itself where the whole machine may be read, else what it holds by itself."""
    if folders is None:
        yield place
        return
    copy = Path(await run_sync(partial(tempfile.mkdtemp, prefix="pecia-repository-")))
    try:
        await run_sync(copy_repository, place, copy, FolderBounds(folders), max_bytes)
        yield copy
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(partial(shutil.rmtree, copy, ignore_errors=True))


@asynccontextmanager
async def _staging_folder(into: Path) -> AsyncGenerator[Path]:
    """Where to copy to: the place itself, or beside it until the first copy is whole."""
    if await run_sync(into.exists):
        yield into
        return
    beside = into.with_name(f".{into.name}.part")
    await run_sync(_clear_folder, beside)
    try:
        yield beside
        await run_sync(beside.rename, into)
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(_clear_folder, beside)


def _clear_folder(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)


class _Answer(BaseModel):
    error: str = ""
    reason: str = ""
    head: str | None = None
    references: dict[str, str] = {}


async def _run_child(order: Mapping[str, object], timeout_s: float) -> _Answer:
    command = [sys.executable, "-I", "-m", _CHILD]
    with anyio.move_on_after(timeout_s):
        # Cancelling kills the process. What it must know comes by its input: a command line and
        # an environment can be read by others.
        done = await anyio.run_process(
            command, input=orjson.dumps(order), env={}, cwd="/", check=False
        )
        try:
            return _Answer.model_validate_json(done.stdout)
        except ValidationError:
            return _Answer(error="died", reason=f"the process ended with {done.returncode}")
    return _Answer(error="time")


def _failure(answer: _Answer, bounds: GitFetchLimits) -> PeciaError:
    match answer.error:
        case "time":
            return Timeout("the repository was not copied in time", timeout_s=bounds.timeout_s)
        case "limit":
            largest = bounds.max_bytes
            message = f"the repository is larger than {largest} bytes"
            return PayloadTooLarge(message, field="url", max=largest)
        case "auth":
            message = "the server refused the credentials, or needs some"
            return UpstreamError(message, reason="credentials_refused", retryable=False)
        case _:
            return UpstreamError(f"the repository was not copied: {answer.reason}")

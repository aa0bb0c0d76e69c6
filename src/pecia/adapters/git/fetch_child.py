"""The process that copies a repository or pushes to one: an order on its input, an answer on its
output.

It is started by `fetch.py` alone, limits itself before it touches the network, and says nothing
else.
"""

import fcntl
import json
import os
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import FetchPrune

from pecia.adapters.git.libgit2 import configure_libgit2
from pecia.adapters.git.write import compare_and_set_reference

# What the server has is what we have: its branches and tags, under their own names.
_MIRRORED = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
OUTGOING = "refs/pecia/outgoing"
_CONNECT_MS = 15_000
_SILENCE_MS = 60_000
# A power of two: windows begin at multiples of half of it, and memory is mapped by whole pages.
WINDOW_BYTES = 32 << 20


class FetchLimitExceeded(Exception):
    """More came than was allowed."""


class PushRefused(Exception):
    """The remote did not take a reference, with its reason."""


class CredentialsRefused(Exception):
    """The server wants other credentials than we have."""


def main() -> None:
    order: dict[str, Any] = json.load(sys.stdin)
    _limit(order["limits"])
    try:
        answer = _push(order) if "push" in order else _fetch(order)
    except FetchLimitExceeded:
        answer = {"error": "limit"}
    except CredentialsRefused:
        answer = {"error": "auth"}
    except (pygit2.GitError, KeyError, ValueError, MemoryError) as error:
        over = "File too large" in str(error)
        answer = {"error": "limit" if over else "git", "reason": str(error)}
    _answer(answer)


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()


def _limit(limits: dict[str, Any]) -> None:
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["max_bytes"]),
        (resource.RLIMIT_CPU, int(limits["timeout_s"]) + 1),
    ):
        resource.setrlimit(kind, (most, most))


def _fetch(order: dict[str, Any]) -> dict[str, Any]:
    _configure_libgit2(order)
    place = Path(order["into"])
    repository = pygit2.init_repository(str(place), bare=True)
    for leftover in (place / "objects" / "pack").glob("pack_git2_*"):
        leftover.unlink()
    remote = repository.remotes.create_anonymous(order["url"])
    remote.fetch(
        _MIRRORED,
        callbacks=_Callbacks(order),
        prune=FetchPrune.PRUNE,
        proxy=order["proxy"],
    )
    heads = remote.list_heads(connect=False)
    head = next((it.symref_target for it in heads if it.name == "HEAD"), None)
    if head is not None:
        repository.set_head(head)
    names = [
        name for name in repository.references if name.startswith(("refs/heads/", "refs/tags/"))
    ]
    found = {name: str(repository.references[name].target) for name in names}
    return {"head": head, "references": found}


def _push(order: dict[str, Any]) -> dict[str, Any]:
    _configure_libgit2(order)
    wanted: dict[str, str | None] = order["push"]
    reference, old, new = str(wanted["reference"]), wanted["old"], str(wanted["new"])
    repository = pygit2.Repository(order["into"])
    # The library pushes references, not commits. This one also keeps what was not pushed yet.
    repository.references.create(OUTGOING, new, force=True)
    remote = repository.remotes.create_anonymous(order["url"])
    callbacks = _Callbacks(order)
    if order["url"].startswith("/"):
        # To a folder, the library sets a reference without comparing it: only the commits go that
        # way, under a name of their own.
        incoming = f"refs/pecia/{new}"
        with _locked(Path(order["url"])):
            remote.push([f"+{OUTGOING}:{incoming}"], callbacks=callbacks)
            return _advance_there(Path(order["url"]), reference, (old, new), incoming)
    try:
        remote.push([f"{OUTGOING}:{reference}"], callbacks=callbacks, proxy=order["proxy"])
    except PushRefused as error:
        return {"error": "refused", "reason": str(error)}
    except pygit2.GitError as error:
        if "non-fastforward" in str(error) or "not present locally" in str(error):
            return {"error": "moved"}
        raise
    return {}


@contextmanager
def _locked(place: Path) -> Generator[None]:
    """Alone among those who push to this folder: the library fails where a reference that it has
    listed is deleted by another, and where the last of a folder of references is."""
    at = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(at, fcntl.LOCK_EX)
        yield
    finally:
        os.close(at)


def _advance_there(
    place: Path, reference: str, commits: tuple[str | None, str], incoming: str
) -> dict[str, Any]:
    there = pygit2.Repository(str(place))
    try:
        is_set = compare_and_set_reference(there, reference, *commits)
    finally:
        if incoming in there.references:
            there.references.delete(incoming)
    return {} if is_set else {"error": "moved"}


def _configure_libgit2(order: dict[str, Any]) -> None:
    configure_libgit2()
    pygit2.settings.server_connect_timeout = _CONNECT_MS
    pygit2.settings.server_timeout = _SILENCE_MS
    pygit2.settings.mwindow_size = WINDOW_BYTES
    pygit2.settings.mwindow_mapped_limit = 8 * WINDOW_BYTES
    pygit2.settings.pack_max_objects = order["limits"]["max_objects"]
    if order["ssh_home"]:
        pygit2.settings.homedir = order["ssh_home"]
    if order["authorities"]:
        pygit2.settings.set_ssl_cert_locations(order["authorities"], None)


class _Callbacks(pygit2.RemoteCallbacks):
    def __init__(self, order: dict[str, Any]) -> None:
        super().__init__()
        self._max_bytes: int = order["limits"]["max_bytes"]
        self._unshown: dict[str, Any] | None = order["credentials"]
        self._is_ssh = str(order["url"]).startswith("ssh:")

    def credentials(self, url: str, username_from_url: str | None, allowed_types: Any) -> Any:
        # A second request means that the first answer was wrong: the library would loop.
        shown, self._unshown = self._unshown, None
        if shown is None:
            raise CredentialsRefused
        if shown["is_key"]:
            return pygit2.KeypairFromMemory(shown["username"], "", shown["secret"], "")
        return pygit2.UserPass(shown["username"], shown["secret"])

    def certificate_check(self, certificate: None, valid: bool, host: bytes) -> bool:
        if not valid:
            # On a refusal, libgit2 1.9 closes its connection to a proxy and then waits for it.
            _answer({"error": "git", "reason": self._describe_untrusted(host.decode())})
            os._exit(0)
        return True

    def _describe_untrusted(self, host: str) -> str:
        if self._is_ssh:
            return f"the host key of {host} is not the one in .ssh/known_hosts, or none is there"
        return f"the certificate is not that of {host}"

    def push_update_reference(self, refname: str, message: str | None) -> None:
        if message is not None:
            raise PushRefused(message)

    def transfer_progress(self, stats: pygit2.remotes.TransferProgress) -> None:
        if stats.received_bytes > self._max_bytes:
            raise FetchLimitExceeded


if __name__ == "__main__":
    main()

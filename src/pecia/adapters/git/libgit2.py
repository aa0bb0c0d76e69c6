"""Repositories opened the same way everywhere: nothing of the machine's git settings counts.

Blocking, as everything in this folder but the two faces, `repository` and `fetch`.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel, RepositoryOpenFlag

from pecia.adapters.git.model import Commit, GitSignature
from pecia.kernel.errors import InvalidFormat, NotFound, PeciaError, StorageFull, Unprocessable

# Names and object ids. The rest of git's syntax can search all history by a regular expression.
_NAME = re.compile(r"[A-Za-z0-9_+.@/-]{1,255}")


@contextmanager
def open_repository(path: Path) -> Generator[pygit2.Repository]:
    """The repository at this very path, not one further up. Its failures come in our words."""
    configure_libgit2()
    try:
        repository = pygit2.Repository(str(path), RepositoryOpenFlag.NO_SEARCH)
    except pygit2.GitError as error:
        raise NotFound(f"no repository can be opened at {path.name!r}: {error}") from None
    try:
        yield repository
    except (pygit2.GitError, KeyError) as error:
        # An object that is named but not there comes as a KeyError.
        raise _translate_error(error) from None
    finally:
        repository.free()


def _translate_error(error: Exception) -> PeciaError:
    if "No space left" in str(error):
        return StorageFull("the disk of the repository is full")
    return Unprocessable(f"the repository cannot be used: {error}")


@cache
def configure_libgit2() -> None:
    """Settings of the library itself, once per process."""
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
    # Synced by `durable`, all objects of a commit together.
    pygit2.settings.enable_fsync_gitdir(False)
    # The check guards programs that a repository's settings can name. This library runs none.
    pygit2.settings.owner_validation = False


def resolve_commit(repository: pygit2.Repository, name: str) -> pygit2.Commit:
    """The commit that a branch, tag, reference or id names."""
    if not _NAME.fullmatch(name) or ".." in name or "@{" in name:
        raise InvalidFormat(f"{name!r} is not a reference or an object id", field="ref")
    try:
        commit = repository.revparse_single(name).peel(pygit2.Commit)
    except (KeyError, ValueError, pygit2.GitError):
        raise NotFound(f"there is no commit {name!r}") from None
    return commit


def to_commit(commit: pygit2.Commit) -> Commit:
    """The commit as a plain value."""
    parents = tuple(str(oid) for oid in commit.parent_ids)
    message = commit.raw_message.decode(errors="replace")
    return Commit(
        str(commit.id), parents, _signature(commit.author), _signature(commit.committer), message
    )


def to_git_signature(signature: GitSignature, *, field: str) -> pygit2.Signature:
    """The signature as git writes it."""
    for part, text in (("name", signature.name), ("email", signature.email)):
        if not text.strip() or re.search(r"[<>\n\0]", text):
            raise InvalidFormat(f"{text!r} cannot be signed with", field=f"{field}.{part}")
    offset = signature.when.utcoffset() or timedelta()
    return pygit2.Signature(
        signature.name,
        signature.email,
        int(signature.when.timestamp()),
        int(offset.total_seconds()) // 60,
    )


def _signature(signature: pygit2.Signature) -> GitSignature:
    # A hostile commit may claim an offset or a year that no clock has.
    offset = max(-1439, min(1439, signature.offset))
    time = max(0, min(253_402_214_400, signature.time))
    when = datetime.fromtimestamp(time, timezone(timedelta(minutes=offset)))
    return GitSignature(_text(signature.raw_name), _text(signature.raw_email), when)


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")

"""What a history of ours is made of: commits, tags, references. Blocking."""

import errno
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2
from pygit2.enums import ObjectType
from pygit2.transaction import ReferenceTransaction

from pecia.adapters.git.durable import sync_objects, sync_reference
from pecia.adapters.git.libgit2 import (
    configure_libgit2,
    resolve_commit,
    to_commit,
    to_git_signature,
)
from pecia.adapters.git.model import Commit, CommitDraft, GitSignature
from pecia.adapters.git.tree import changed_files, write_tree
from pecia.kernel.errors import Conflict, InvalidFormat, NotFound, Unavailable

STALE_LOCK_S = 5.0
"""A lock of a reference is held for milliseconds; this old, its process was killed."""
LOCK_POLL_S = 0.05


def create_bare_repository(place: Path, branch: str) -> None:
    """Made aside and renamed: whoever else opens it meanwhile finds all of it or nothing."""
    configure_libgit2()
    if (place / "HEAD").exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as aside:
        made = Path(aside) / place.name
        pygit2.init_repository(str(made), bare=True, initial_head=branch)
        try:
            made.rename(place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    if not (place / "HEAD").exists():
        # Something else is in that folder: git adds what a repository lacks.
        pygit2.init_repository(str(place), bare=True, initial_head=branch)


def write_commit(repository: pygit2.Repository, draft: CommitDraft) -> Commit | None:
    """A commit at the tip of its reference."""
    _check_reference(draft.ref)
    tip = repository.references.get(draft.ref)
    names = draft.parents if draft.parents is not None else ([str(tip.target)] if tip else [])
    parents = [resolve_commit(repository, name) for name in names]
    if tip is not None and (not parents or parents[0].id != tip.target):
        raise Conflict(f"{draft.ref!r} has moved on from where the draft starts")
    return _create_commit(repository, draft, parents, draft.ref)


def prepare_commit(repository: pygit2.Repository, draft: CommitDraft) -> Commit | None:
    """A commit on `draft.parents` that no reference names: not in history until `advance`."""
    with _locked_reference(repository, draft.ref):
        parents = [resolve_commit(repository, name) for name in draft.parents or ()]
        return _create_commit(repository, draft, parents, None)


def advance_reference(repository: pygit2.Repository, name: str, base: str | None, tip: str) -> None:
    """Put a prepared commit into history. Idempotent.

    What somebody else committed since `base` stays: then a merge follows both, with the files of
    theirs that the prepared commits did not change.
    """
    with _locked_reference(repository, name) as lock:
        prepared = resolve_commit(repository, tip)
        found = repository.references.get(name)
        now = None if found is None else resolve_commit(repository, str(found.target))
        if now is None or str(now.id) == base:
            lock.set_target(name, prepared.id)
        elif now.id != prepared.id and not repository.descendant_of(now.id, prepared.id):
            lock.set_target(name, _merge(repository, now, prepared, base))
    sync_reference(repository, name)


def compare_and_set_reference(
    repository: pygit2.Repository, name: str, old: str | None, new: str
) -> bool:
    """Set a reference that still names `old` (None: that does not exist); False if it does not."""
    with _locked_reference(repository, name) as lock:
        found = repository.references.get(name)
        now = None if found is None else str(found.target)
        if now != old:
            return False
        lock.set_target(name, resolve_commit(repository, new).id)
    sync_reference(repository, name)
    return True


def _create_commit(
    repository: pygit2.Repository,
    draft: CommitDraft,
    parents: Sequence[pygit2.Commit],
    reference: str | None,
) -> Commit | None:
    base = parents[0].tree if parents else None
    made: list[pygit2.Oid] = []
    new = write_tree(repository, base, draft.changes, made)
    if not draft.kept and base is not None and len(parents) == 1 and new == base.id:
        return None
    author = to_git_signature(draft.author, field="author")
    committer = to_git_signature(draft.committer, field="committer") if draft.committer else author
    message = draft.full_message()
    ids = [parent.id for parent in parents]
    oid = repository.create_commit(None, author, committer, message, new, ids)
    sync_objects(repository, [*made, new, oid])
    if reference is not None:
        repository.references.create(reference, oid, force=True)
        sync_reference(repository, reference)
    return to_commit(repository[oid].peel(pygit2.Commit))


def _merge(
    repository: pygit2.Repository, now: pygit2.Commit, prepared: pygit2.Commit, base: str | None
) -> pygit2.Oid:
    before = None if base is None else resolve_commit(repository, base).tree
    changes = changed_files(before, prepared.tree)
    made: list[pygit2.Oid] = []
    tree = write_tree(repository, now.tree, changes, made)
    who, parents = prepared.committer, [now.id, prepared.id]
    message = "merge: concurrent commits\n"
    oid = repository.create_commit(None, who, who, message, tree, parents)
    sync_objects(repository, [*made, tree, oid])
    return oid


def _wait_for_lock(lock: Path) -> None:
    """Wait until a lock is released, or so old that its process must be dead: then remove it."""
    with suppress(FileNotFoundError):
        # One that is dated in the future never grows old: it is left to whoever made it.
        while 0 <= (age := time.time() - lock.stat().st_mtime) <= STALE_LOCK_S:
            time.sleep(LOCK_POLL_S)
        if age > STALE_LOCK_S:
            lock.unlink()


@contextmanager
def _locked_reference(repository: pygit2.Repository, name: str) -> Generator[ReferenceTransaction]:
    """The reference, locked as git locks it. Unavailable while another program has it locked."""
    _check_reference(name)
    lock = Path(repository.path) / f"{name}.lock"
    _wait_for_lock(lock)
    with repository.transaction() as transaction:
        try:
            transaction.lock_ref(name)
        except pygit2.GitError as error:
            if not lock.exists():
                raise
            raise Unavailable(
                f"another program has {name!r} of the history locked: {error}",
                hint=f"Try again in {STALE_LOCK_S:.0f} s, or delete the lock if no git runs.",
            ) from None
        yield transaction


def write_tag(
    repository: pygit2.Repository, name: str, ref: str, message: str, tagger: GitSignature | None
) -> None:
    reference = _check_reference(f"refs/tags/{name}")
    if reference in repository.references:
        raise Conflict(f"there is a tag {name!r} already")
    target = resolve_commit(repository, ref)
    if tagger is None:
        repository.references.create(reference, target.id)
    else:
        by = to_git_signature(tagger, field="tagger")
        oid = repository.create_tag(name, target.id, ObjectType.COMMIT, by, message)
        sync_objects(repository, [oid])
    sync_reference(repository, reference)


def set_reference(repository: pygit2.Repository, reference: str, ref: str | None) -> None:
    _check_reference(reference)
    if ref is not None:
        target = resolve_commit(repository, ref)
        repository.references.create(reference, target.id, force=True)
    elif reference in repository.references:
        repository.references.delete(reference)
    else:
        raise NotFound(f"there is no reference {reference!r}")
    sync_reference(repository, reference)


def _check_reference(name: str) -> str:
    if not name.startswith("refs/") or not pygit2.reference_is_valid_name(name):
        raise InvalidFormat(f"{name!r} is not a reference", field="ref")
    return name

"""What a history of ours is made of: commits, tags, references. Blocking."""

from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from pecia.adapters.git.libgit2 import (
    configure_libgit2,
    resolve_commit,
    to_commit,
    to_git_signature,
)
from pecia.adapters.git.model import Commit, CommitDraft, GitSignature
from pecia.adapters.git.tree import write_tree
from pecia.kernel.errors import Conflict, InvalidFormat, NotFound


def create_bare_repository(place: Path, branch: str) -> None:
    configure_libgit2()
    if not (place / "HEAD").exists():
        pygit2.init_repository(str(place), bare=True, initial_head=branch)


def write_commit(repository: pygit2.Repository, draft: CommitDraft) -> Commit | None:
    _check_reference(draft.ref)
    tip = repository.references.get(draft.ref)
    names = draft.parents if draft.parents is not None else ([str(tip.target)] if tip else [])
    parents = [resolve_commit(repository, name) for name in names]
    if tip is not None and (not parents or parents[0].id != tip.target):
        raise Conflict(f"{draft.ref!r} has moved on from where the draft starts")
    base = parents[0].tree if parents else None
    new = write_tree(repository, base, draft.changes)
    if not draft.kept and base is not None and len(parents) == 1 and new == base.id:
        return None
    author = to_git_signature(draft.author, field="author")
    committer = to_git_signature(draft.committer, field="committer") if draft.committer else author
    message = draft.full_message()
    ids = [parent.id for parent in parents]
    oid = repository.create_commit(draft.ref, author, committer, message, new, ids)
    return to_commit(repository[oid].peel(pygit2.Commit))


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
        repository.create_tag(name, target.id, ObjectType.COMMIT, by, message)


def set_reference(repository: pygit2.Repository, reference: str, ref: str | None) -> None:
    _check_reference(reference)
    if ref is not None:
        target = resolve_commit(repository, ref)
        repository.references.create(reference, target.id, force=True)
    elif reference in repository.references:
        repository.references.delete(reference)
    else:
        raise NotFound(f"there is no reference {reference!r}")


def _check_reference(name: str) -> str:
    if not name.startswith("refs/") or not pygit2.reference_is_valid_name(name):
        raise InvalidFormat(f"{name!r} is not a reference", field="ref")
    return name

"""A repository of a person's own, made where none is. Blocking; it holds nothing yet."""

import os
from pathlib import Path

import pygit2

from pecia.adapters.git.libgit2 import configure_libgit2
from pecia.kernel.errors import Unavailable


def is_in_repository(folder: Path) -> bool:
    """Whether git, run in this folder, would find a repository: here or further up.

    A `.git` that is broken, or a link, is somebody's all the same.
    """
    configure_libgit2()
    try:
        is_found = pygit2.discover_repository(str(folder)) is not None
    except pygit2.GitError:
        return True
    return is_found or os.path.lexists(folder / ".git")


def init_repository(folder: Path, *, branch: str) -> None:
    """An empty repository with that branch to come."""
    configure_libgit2()
    try:
        pygit2.init_repository(str(folder), initial_head=branch).free()
    except (pygit2.GitError, OSError) as error:
        raise Unavailable(f"no git repository can be made in {folder}: {error}") from error

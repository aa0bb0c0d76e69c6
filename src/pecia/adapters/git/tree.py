"""The files of a commit: listed, read, and written over. Blocking.

It follows neither links nor submodules, and reads no blob before its size is known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pygit2
from pygit2.enums import FileMode, ObjectType

from pecia.adapters.git.model import GitFile, GitTreeListing, find_path_problem, require_valid_path
from pecia.kernel.errors import InvalidInput, NotFound, PayloadTooLarge, Unprocessable

Oid: TypeAlias = pygit2.Oid


def list_tree(
    repository: pygit2.Repository, commit: pygit2.Commit, max_entries: int
) -> GitTreeListing:
    """Every file, however deep. More entries than the limit is an error, not a shorter list."""
    walk = _Walk(repository, max_entries)
    files = tuple(walk.files(commit.tree, ""))
    return GitTreeListing(str(commit.id), files, walk.refused)


def read_file(
    repository: pygit2.Repository, commit: pygit2.Commit, path: str, max_bytes: int
) -> bytes:
    """One file's content as of that commit."""
    entry = entry_at(commit.tree, require_valid_path(path))
    if entry is None or not _is_file(entry):
        raise NotFound(f"there is no file {path!r} in {str(commit.id)[:10]}")
    return read_blob(repository, entry.id, max_bytes)


def read_blob(repository: pygit2.Repository, oid: Oid, max_bytes: int) -> bytes:
    size_bytes = size_of(repository, oid)
    if size_bytes > max_bytes:
        raise PayloadTooLarge(
            f"the file has {size_bytes} bytes, at most {max_bytes} are read",
            field="path",
            max=max_bytes,
        )
    blob = repository[oid]
    assert isinstance(blob, pygit2.Blob)
    return blob.data


def size_of(repository: pygit2.Repository, oid: Oid) -> int:
    return repository.odb.read_header(oid)[1]


def entry_at(tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    try:
        return tree[path]
    except KeyError:
        return None


def is_content(tree: pygit2.Tree, path: str, body: bytes | None) -> bool:
    """Whether the file has exactly these bytes; None: whether there is no file."""
    entry = entry_at(tree, require_valid_path(path))
    if entry is None or not _is_file(entry):
        return body is None
    return body is not None and entry.id == pygit2.hash(body)


def write_tree(
    repository: pygit2.Repository,
    base: pygit2.Tree | None,
    changes: Mapping[str, bytes | None],
    made: list[Oid] | None = None,
) -> Oid:
    """The tree that these changes make of the base. `made` gets the objects written for it."""
    growth = _TreeOverlay([] if made is None else made)
    for path, data in changes.items():
        growth.add(require_valid_path(path, field="changes").split("/"), data)
    oid = growth.write(repository, base)
    return repository.TreeBuilder().write() if oid is None else oid


def changed_files(old: pygit2.Tree | None, new: pygit2.Tree) -> dict[str, bytes | None]:
    """The files that differ, as of the new tree; None where there is none any more."""
    diff = old.diff_to_tree(new) if old is not None else new.diff_to_tree(swap=True)
    found: dict[str, bytes | None] = {}
    for it in diff.deltas:
        path = it.new_file.path
        entry = entry_at(new, path)
        found[path] = entry.data if isinstance(entry, pygit2.Blob) else None
    return found


@dataclass
class _Walk:
    repository: pygit2.Repository
    left: int
    refused: dict[str, str] = field(default_factory=dict[str, str])

    def files(self, tree: pygit2.Tree, folder: str) -> Iterator[GitFile]:
        for entry in tree:
            # Folders count too: a few small trees can name each other into billions of paths.
            self.left -= 1
            if self.left < 0:
                raise Unprocessable("the repository has more entries than are read")
            path = f"{folder}{entry.name}"
            refused = find_path_problem(path) or _skip_reason(entry)
            if refused:
                self.refused[path.encode(errors="replace").decode()] = refused
            elif isinstance(entry, pygit2.Tree):
                yield from self.files(entry, f"{path}/")
            else:
                size = size_of(self.repository, entry.id)
                executable = entry.filemode == FileMode.BLOB_EXECUTABLE
                yield GitFile(path, str(entry.id), size, executable)


@dataclass
class _TreeOverlay:
    """The changes as a tree of their own, to be laid over the old one folder by folder."""

    made: list[Oid]
    files: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    folders: "dict[str, _TreeOverlay]" = field(default_factory=dict[str, "_TreeOverlay"])

    def add(self, segments: list[str], data: bytes | None) -> None:
        name, *rest = segments
        if rest:
            self.folders.setdefault(name, _TreeOverlay(self.made)).add(rest, data)
        else:
            self.files[name] = data

    def has_content(self) -> bool:
        return any(data is not None for data in self.files.values()) or any(
            growth.has_content() for growth in self.folders.values()
        )

    def replace_folder(self, name: str) -> None:
        """A file takes the place of this folder: fine, unless something is to be put into it."""
        if self.has_content():
            raise InvalidInput(f"{name!r} is a file and a folder at once", field="changes")

    def write(self, repository: pygit2.Repository, base: pygit2.Tree | None) -> Oid | None:
        """The new tree, or None where nothing is left in it."""
        builder = repository.TreeBuilder(base) if base is not None else repository.TreeBuilder()
        for name, data in self.files.items():
            entry = None if base is None else entry_at(base, name)
            if data is not None:
                self.made.append(repository.create_blob(data))
                builder.insert(name, self.made[-1], _mode(entry))
            elif entry is not None:
                builder.remove(name)
        for name, growth in self.folders.items():
            if self.files.get(name) is not None:
                growth.replace_folder(name)
                continue
            entry = None if base is None or name in self.files else entry_at(base, name)
            oid = growth.write(repository, entry if isinstance(entry, pygit2.Tree) else None)
            if oid is not None:
                builder.insert(name, oid, FileMode.TREE)
            elif isinstance(entry, pygit2.Tree):
                builder.remove(name)
        if not len(builder):
            return None
        self.made.append(builder.write())
        return self.made[-1]


def _mode(entry: pygit2.Object | None) -> int:
    executable = entry is not None and entry.filemode == FileMode.BLOB_EXECUTABLE
    return FileMode.BLOB_EXECUTABLE if executable else FileMode.BLOB


def _is_file(entry: pygit2.Object) -> bool:
    return entry.type == ObjectType.BLOB and entry.filemode != FileMode.LINK


def _skip_reason(entry: pygit2.Object) -> str:
    if entry.filemode == FileMode.LINK:
        return "is a link"
    return "is a submodule" if entry.filemode == FileMode.COMMIT else ""

"""The names of all documents of a space, ready to be asked in the ways that links ask. Pure.

A name is a path from the root with `/` between its parts and without an extension.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from pecia.kernel.layered_dict import LayeredDict
from pecia.kernel.text.slug import name_slug

NameTable: TypeAlias = LayeredDict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Build with `NameIndex.of`. A change costs as much as what changes, not as all names."""

    _labels: NameTable
    _exact: LayeredDict[str, str]
    _by_slug: NameTable
    _by_leaf: NameTable
    _by_label: NameTable

    @classmethod
    def of(
        cls, names: Iterable[str], labels_by_name: Mapping[str, Iterable[str]] | None = None
    ) -> "NameIndex":
        """The names, and the titles and aliases of those that have any."""
        labels = labels_by_name or {}
        tables = [NameTable() for _ in range(4)]
        empty = cls(tables[0], LayeredDict(), *tables[1:])
        return empty.with_changes(add={it: labels.get(it, ()) for it in names})

    def with_changes(
        self, *, remove: Iterable[str] = (), add: Mapping[str, Iterable[str]] | None = None
    ) -> "NameIndex":
        """The names after some went and others came; a name that is in both is replaced."""
        changed = NameIndex(
            self._labels.copy(),
            self._exact.copy(),
            self._by_slug.copy(),
            self._by_leaf.copy(),
            self._by_label.copy(),
        )
        for name in remove:
            changed._remove(name)
        for name, labels in (add or {}).items():
            changed._remove(name)
            changed._add(name, tuple(labels))
        return changed

    def __contains__(self, name: object) -> bool:
        return name in self._labels

    def __len__(self) -> int:
        return len(self._labels)

    def labels(self, name: str) -> tuple[str, ...]:
        return self._labels.get(name, ())

    def find_exact(self, path: str) -> tuple[str, ...]:
        """The document of that name, whichever way its accents are encoded."""
        if path in self._labels:
            return (path,)
        found = self._exact.get(_compose(path))
        return (found,) if found else ()

    def find_by_slug(self, path: str) -> tuple[str, ...]:
        """Documents whose names have the same slug, part by part."""
        slug = path_slug(path)
        return self._by_slug.get(slug, ()) if slug else ()

    def find_by_suffix(self, path: str) -> tuple[str, ...]:
        """Documents whose last parts are these, in the same case if any is."""
        tail = _compose(path).casefold()
        found = [it for it in self._by_leaf.get(_leaf(tail), ()) if _ends_in(it, tail)]
        in_case = [it for it in found if f"/{_compose(it)}".endswith(f"/{_compose(path)}")]
        return tuple(in_case or found)

    def find_by_label(self, label: str) -> tuple[str, ...]:
        """Documents with that title or alias."""
        return self._by_label.get(_fold(label), ())

    def _add(self, name: str, labels: tuple[str, ...]) -> None:
        self._labels[name] = labels
        self._exact[_compose(name)] = name
        for index, key in self._keys(name):
            index[key] = (*(it for it in index.get(key, ()) if it != name), name)

    def _remove(self, name: str) -> None:
        if name not in self._labels:
            return
        for index, key in self._keys(name):
            rest = tuple(it for it in index.get(key, ()) if it != name)
            if rest:
                index[key] = rest
            else:
                index.pop(key, None)
        if self._exact.get(_compose(name)) == name:
            del self._exact[_compose(name)]
        del self._labels[name]

    def _keys(self, name: str) -> Iterable[tuple[NameTable, str]]:
        if slug := path_slug(name):
            yield self._by_slug, slug
        yield self._by_leaf, _leaf(_compose(name).casefold())
        for label in self._labels[name]:
            if folded := _fold(label):
                yield self._by_label, folded


def document_keys(name: str, labels: Iterable[str]) -> frozenset[str]:
    """Under which links may mean this document: it shares one with every link that does."""
    folder = _leaf(folder_of(name))
    return frozenset((*_leaf_keys(name), name_slug(folder), *(_label_key(it) for it in labels)))


def reference_keys(paths: Iterable[str]) -> frozenset[str]:
    """The same for a link, from what its path can mean."""
    every = [*paths]
    return frozenset((*(key for it in every for key in _leaf_keys(it)), *map(_label_key, every)))


def path_slug(path: str) -> str:
    """The slug of every part, or nothing when a part has none."""
    parts = [_part_slug(it) for it in path.split("/")]
    return "/".join(parts) if all(parts) else ""


def folder_of(name: str) -> str:
    return name.rpartition("/")[0]


def relative_path(target: str, folder: str) -> str:
    """The path that leads from the folder to the target."""
    there, here = target.split("/"), folder.split("/") if folder else []
    shared = 0
    while shared < min(len(there) - 1, len(here)) and there[shared] == here[shared]:
        shared += 1
    return "/".join([".."] * (len(here) - shared) + there[shared:])


# The same folders and names are asked for again and again: half the time of building a graph.
_part_slug = lru_cache(65_536)(name_slug)


def _leaf(path: str) -> str:
    return path.rpartition("/")[2]


def _leaf_keys(path: str) -> tuple[str, str]:
    leaf = _leaf(path)
    return _part_slug(leaf), _compose(leaf).casefold()


def _label_key(label: str) -> str:
    # Set apart from the names.
    return f"\0{_fold(label)}"


def _ends_in(name: str, tail: str) -> bool:
    return f"/{_compose(name).casefold()}".endswith(f"/{tail}")


def _compose(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _fold(label: str) -> str:
    return " ".join(_compose(label).casefold().split())

"""Diff of two lists of items, or of two records. Pure and symmetric."""

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field

import orjson

from pecia.features.ckf.package.field import PackageField, PackageSection
from pecia.features.ckf.package.model import Item, text_of
from pecia.features.ckf.package.similarity import normalize_words, pair_similar
from pecia.kernel.errors import Json

MAX_LABEL_CHARS = 120


@dataclass(frozen=True, slots=True)
class ItemChange:
    """A changed item. `fields` has the values of both sides."""

    id: str
    from_id: str
    fields: Item

    def to_json(self) -> Item:
        renamed: Item = {"from_id": self.from_id} if self.from_id != self.id else {}
        return {"id": self.id, **renamed, "fields": self.fields}


@dataclass(frozen=True, slots=True)
class SectionDiff:
    added: list[Item] = field(default_factory=list[Item])
    removed: list[Item] = field(default_factory=list[Item])
    renamed: list[Item] = field(default_factory=list[Item])
    changed: list[ItemChange] = field(default_factory=list[ItemChange])
    unchanged: int = 0
    reordered: bool = False

    @property
    def is_same(self) -> bool:
        return not (self.added or self.removed or self.renamed or self.changed or self.reordered)

    def to_json(self) -> Item:
        order: Item = {"reordered": True} if self.reordered else {}
        return {
            "added": list[Json](self.added),
            "removed": list[Json](self.removed),
            "renamed": list[Json](self.renamed),
            "changed": [it.to_json() for it in self.changed],
            "unchanged": self.unchanged,
            **order,
        }


def diff_items(section: PackageSection, a: list[Item], b: list[Item]) -> SectionDiff:
    """Pair items by id, then by equal text, then by similar text."""
    found = SectionDiff()
    unchanged = 0
    pairs, rest_a, rest_b = _pair_by_id(a, b)
    for old, new in [*pairs, *_pair_by_words(section, rest_a, rest_b)]:
        fields = diff_record(section.fields, old, new, ("id",))
        old_id, new_id = text_of(old, "id"), text_of(new, "id")
        if fields:
            found.changed.append(ItemChange(new_id, old_id, fields))
        elif old_id != new_id:
            found.renamed.append(
                {"from_id": old_id, "to_id": new_id, "label": _label(section, new)}
            )
        else:
            unchanged += 1
    found.removed.extend(_summarize(section, it) for it in rest_a)
    found.added.extend(_summarize(section, it) for it in rest_b)
    return SectionDiff(found.added, found.removed, found.renamed, found.changed, unchanged)


def diff_record(
    fields: tuple[PackageField, ...], old: Item, new: Item, skip: Container[str] = ()
) -> Item:
    """Each field that differs, with both values; an absent value is null."""
    known = {it.name: it for it in fields}
    names = dict.fromkeys([*old, *new])
    return {
        name: {"from": old.get(name), "to": new.get(name)}
        for name in names
        if name not in skip and not _equal(known.get(name), old, new, name)
    }


def _equal(field: PackageField | None, old: Item, new: Item, name: str) -> bool:
    if (name in old) != (name in new):
        return False
    left, right = old[name], new[name]
    if field and not field.ordered and isinstance(left, list) and isinstance(right, list):
        # References, tags and quotations are compared as sets.
        return Counter(map(repr, left)) == Counter(map(repr, right))
    # True == 1 in Python, but not in JSON.
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _pair_by_id(
    a: list[Item], b: list[Item]
) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
    ids_a, ids_b = _unique(a), _unique(b)
    pairs = [(ids_a[key], ids_b[key]) for key in ids_a if key in ids_b]
    shared = ids_a.keys() & ids_b.keys()
    return (
        pairs,
        [it for it in a if text_of(it, "id") not in shared],
        [it for it in b if text_of(it, "id") not in shared],
    )


def _unique(items: list[Item]) -> dict[str, Item]:
    # A duplicate id identifies no item.
    counts = Counter(text_of(it, "id") for it in items)
    return {name: it for it in items if counts[name := text_of(it, "id")] == 1 and name}


def _pair_by_words(
    section: PackageSection, a: list[Item], b: list[Item]
) -> list[tuple[Item, Item]]:
    """The pairs; they are removed from the lists."""
    found: list[tuple[Item, Item]] = []
    # Items without a unique id may still be equal.
    for key, match in ((_whole, _pair_equal), (_words, _pair_equal), (_words, _pair_similar)):
        pairs = match([key(section, it) for it in a], [key(section, it) for it in b])
        found += [(a[left], b[right]) for left, right in pairs]
        _drop(a, {left for left, _ in pairs})
        _drop(b, {right for _, right in pairs})
    return found


def _pair_equal(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    places: dict[str, list[int]] = {}
    for number, it in enumerate(b):
        places.setdefault(it, []).append(number)
    return [(number, places[it].pop(0)) for number, it in enumerate(a) if it and places.get(it)]


def _pair_similar(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    return [(it.first, it.second) for it in pair_similar(a, b)]


def _drop(items: list[Item], places: set[int]) -> None:
    items[:] = [it for number, it in enumerate(items) if number not in places]


def _whole(section: PackageSection, item: Item) -> str:
    return orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()


def _words(section: PackageSection, item: Item) -> str:
    return normalize_words(" ".join(text_of(item, it) for it in section.identity))


def _summarize(section: PackageSection, item: Item) -> Item:
    return {"id": text_of(item, "id"), "label": _label(section, item)}


def _label(section: PackageSection, item: Item) -> str:
    return text_of(item, section.identity[0])[:MAX_LABEL_CHARS]

"""Merges equivalent items of several chunks. Pure.

Two differing statements are worth less than one: the merged confidence is capped by the weaker
basis.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.package.checks.trace import CONFIDENCE_BANDS
from pecia.features.ckf.package.model import Item, texts_of
from pecia.features.ckf.package.similarity import jaccard, normalize_words, word_set
from pecia.kernel.errors import Json

MAX_ITEMS_PER_SECTION = 2000
_MIN_SIMILARITY = {
    "entities": 0.70,
    "procedures": 0.70,
    "playbooks": 0.70,
    "qa_pairs": 0.80,
    "atomic_units": 0.80,
}
# Compared by name alone.
_EXACT = frozenset({"patterns", "mental_models", "retrieval_chunks"})
_WEAKEST_FIRST = ("uncertain", "author_opinion", "inferred", "explicit")


@dataclass(slots=True)
class _Group:
    """One merged item, with the confidences of its parts."""

    item: ExtractedItem
    words: frozenset[str]
    sure: list[float] = field(default_factory=list[float])


def reduce_items(items: Iterable[ExtractedItem]) -> tuple[list[ExtractedItem], int]:
    """The deduplicated items, and how many were dropped because a section was full."""
    groups: defaultdict[str, list[_Group]] = defaultdict(list)
    left_out = 0
    for it in items:
        words = word_set(_key(it))
        known = groups[it.section]
        same = next((group for group in known if _is_same(it, words, group)), None)
        if same:
            _merge(same, it)
        elif len(known) < MAX_ITEMS_PER_SECTION:
            known.append(_Group(it, words, [it.confidence]))
        else:
            left_out += 1
    return [_finish_group(group) for known in groups.values() for group in known], left_out


def _key(item: ExtractedItem) -> str:
    name = item.fields.get("name") or item.fields.get("title") or item.fields.get("label")
    named = item.section in _EXACT or item.section in ("entities", "concepts")
    return str(name) if named and name else item.words


def _is_same(item: ExtractedItem, words: frozenset[str], group: _Group) -> bool:
    if item.section in _EXACT:
        return item.words == group.item.words
    if item.section == "entities" and _names(item) & _names(group.item):
        return True
    return jaccard(words, group.words) >= _MIN_SIMILARITY.get(item.section, 0.75)


def _names(item: ExtractedItem) -> set[str]:
    return {
        normalize_words(it) for name in ("name", "aliases") for it in texts_of(item.fields, name)
    }


def _merge(group: _Group, other: ExtractedItem) -> None:
    kept = group.item
    kept.fields = _merge_fields(kept.fields, other.fields)
    kept.quotes = tuple(dict.fromkeys([*kept.quotes, *other.quotes]))
    kept.basis = min(kept.basis, other.basis, key=_strength)
    group.sure.append(other.confidence)


def _strength(basis: str) -> int:
    return _WEAKEST_FIRST.index(basis) if basis in _WEAKEST_FIRST else 0


def _merge_fields(first: Item, second: Item) -> Item:
    """The longer text or list of steps; the union of other lists."""
    made = dict(first)
    for name, value in second.items():
        mine = made.get(name)
        if isinstance(mine, list) and isinstance(value, list):
            made[name] = _lists(name, mine, value)
        elif mine is None or (isinstance(value, str) and len(value) > len(str(mine))):
            made[name] = value
    return made


def _lists(name: str, first: list[Json], second: list[Json]) -> list[Json]:
    if name == "steps":
        return max(first, second, key=len)
    return list({str(it): it for it in [*first, *second]}.values())


def _finish_group(group: _Group) -> ExtractedItem:
    item = group.item
    low, high = CONFIDENCE_BANDS.get(item.basis, (0.25, 1.0))
    sure = max(group.sure) - (statistics.pstdev(group.sure) if len(group.sure) > 1 else 0.0)
    item.confidence = round(min(max(sure, low), high), 2)
    return item

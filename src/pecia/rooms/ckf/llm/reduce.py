"""Items of several chunks that say the same made into one. Pure.

What two sources say differently is worth less than what one says: the merged item is no surer than
the less sure of its bases allows.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pecia.kernel.errors import Json
from pecia.rooms.ckf.llm.found import Found
from pecia.rooms.ckf.package.alike import jaccard, plain_text, word_set
from pecia.rooms.ckf.package.check_trace import BANDS
from pecia.rooms.ckf.package.model import Item, texts_of

MOST_IN_SECTION = 2000
_ALIKE = {
    "entities": 0.70,
    "procedures": 0.70,
    "playbooks": 0.70,
    "qa_pairs": 0.80,
    "atomic_units": 0.80,
}
# Told apart by their names alone.
_EXACT = frozenset({"patterns", "mental_models", "retrieval_chunks"})
_WEAKEST_FIRST = ("uncertain", "author_opinion", "inferred", "explicit")


@dataclass(slots=True)
class _Group:
    """One item to be, with the confidences that went into it."""

    item: Found
    words: frozenset[str]
    sure: list[float] = field(default_factory=list[float])


def reduce_items(items: Iterable[Found]) -> tuple[list[Found], int]:
    """The items, each once, and how many were left out because a section was full."""
    groups: defaultdict[str, list[_Group]] = defaultdict(list)
    left_out = 0
    for it in items:
        words = word_set(_key(it))
        known = groups[it.section]
        same = next((group for group in known if _is_same(it, words, group)), None)
        if same:
            _merge(same, it)
        elif len(known) < MOST_IN_SECTION:
            known.append(_Group(it, words, [it.confidence]))
        else:
            left_out += 1
    return [_settled(group) for known in groups.values() for group in known], left_out


def _key(item: Found) -> str:
    name = item.fields.get("name") or item.fields.get("title") or item.fields.get("label")
    named = item.section in _EXACT or item.section in ("entities", "concepts")
    return str(name) if named and name else item.words


def _is_same(item: Found, words: frozenset[str], group: _Group) -> bool:
    if item.section in _EXACT:
        return item.words == group.item.words
    if item.section == "entities" and _names(item) & _names(group.item):
        return True
    return jaccard(words, group.words) >= _ALIKE.get(item.section, 0.75)


def _names(item: Found) -> set[str]:
    return {plain_text(it) for name in ("name", "aliases") for it in texts_of(item.fields, name)}


def _merge(group: _Group, other: Found) -> None:
    kept = group.item
    kept.fields = _joined(kept.fields, other.fields)
    kept.quotes = tuple(dict.fromkeys([*kept.quotes, *other.quotes]))
    kept.basis = min(kept.basis, other.basis, key=_strength)
    group.sure.append(other.confidence)


def _strength(basis: str) -> int:
    return _WEAKEST_FIRST.index(basis) if basis in _WEAKEST_FIRST else 0


def _joined(first: Item, second: Item) -> Item:
    """The longer of two texts and of two lists of steps; of other lists, both."""
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


def _settled(group: _Group) -> Found:
    item = group.item
    low, high = BANDS.get(item.basis, (0.25, 1.0))
    sure = max(group.sure) - (statistics.pstdev(group.sure) if len(group.sure) > 1 else 0.0)
    item.confidence = round(min(max(sure, low), high), 2)
    return item

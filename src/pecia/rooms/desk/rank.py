"""Which tools fit some words best: BM25 over names, descriptions and arguments. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import View

K1, B = 1.2, 0.6
NAME_WEIGHT, TITLE_WEIGHT, ARGUMENT_WEIGHT = 4, 2, 1

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_ENDINGS = ("ing", "ies", "ed", "es", "s", "e")

# With few tools even these look rare, and would decide.
_EMPTY = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "has", "i", "in"),
        *("is", "it", "its", "me", "my", "not", "of", "on", "one", "or", "s", "so", "some", "that"),
        *("the", "their", "them", "then", "there", "these", "they", "this", "to", "was", "what"),
        *("when", "which", "who", "will", "with", "you", "your"),
    )
)


class Finder(Protocol):
    """Whatever can tell which tools fit some words."""

    def find(self, words: str) -> Sequence[tuple[str, AnyTool]]:
        """Names and tools, the best fit first; tools that share no word are not among them."""
        ...


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    tool: AnyTool
    counts: Mapping[str, int]
    length: int


class WordFinder:
    """Ranks the tools of one view. Built once, asked often."""

    def __init__(self, view: View) -> None:
        self._entries = [_entry(name, tool) for name, tool in view.tools.items()]
        self._mean = sum(it.length for it in self._entries) / max(1, len(self._entries))
        held = Counter(stem for it in self._entries for stem in it.counts)
        total = len(self._entries)
        self._rarity = {
            stem: math.log(1 + (total - count + 0.5) / (count + 0.5))
            for stem, count in held.items()
        }

    def find(self, words: str) -> Sequence[tuple[str, AnyTool]]:
        wanted = set(stems(words))
        scored = [(self._score(it, wanted), it) for it in self._entries]
        # Equal scores in the order of names, so that the same words always give the same list.
        ranked = sorted((-score, it.name, it) for score, it in scored if score > 0)
        return [(it.name, it.tool) for _, _, it in ranked]

    def _score(self, entry: _Entry, wanted: set[str]) -> float:
        longer = 1 - B + B * entry.length / self._mean
        return sum(
            self._rarity[stem] * count * (K1 + 1) / (count + K1 * longer)
            for stem in wanted
            if (count := entry.counts.get(stem))
        )


def stems(text: str) -> Iterator[str]:
    """The words of a text, folded so that `listing files` finds `list_files`."""
    for word in _WORD.findall(text):
        if (folded := word.lower()) not in _EMPTY:
            yield _stem(folded)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _entry(name: str, tool: AnyTool) -> _Entry:
    counts: Counter[str] = Counter()
    for text, weight in _texts(name, tool):
        for stem in stems(text):
            counts[stem] += weight
    return _Entry(name, tool, counts, sum(counts.values()))


def _texts(name: str, tool: AnyTool) -> Iterator[tuple[str, int]]:
    yield f"{name} {tool.room}", NAME_WEIGHT
    yield tool.title, TITLE_WEIGHT
    yield tool.description, TITLE_WEIGHT
    properties: Mapping[str, Any] = input_schema(tool).get("properties", {})
    for argument, schema in properties.items():
        yield f"{argument} {schema.get('description', '')}", ARGUMENT_WEIGHT

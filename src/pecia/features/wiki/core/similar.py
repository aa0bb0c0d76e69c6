"""Documents that may be about the same as a new one, by name and title. Pure."""

from collections.abc import Iterable

from pecia.features.wiki.core.names import fold_name
from pecia.kernel.text.slug import name_slug

MIN_OVERLAP = 0.6
MAX_SIMILAR = 5
MAX_NAMESAKES = 3
"""Of more, none is likely."""
GENERIC = frozenset(("index", "readme", "log"))
"""Names that say nothing about what a document is about."""


def find_similar(name: str, title: str, others: Iterable[tuple[str, str]]) -> list[str]:
    """The names of similar documents, most similar first. `others` are names with titles."""
    wanted = [_words(name.rpartition("/")[2]), _words(title)]
    shared = wanted[0] | wanted[1]
    ranked = sorted(
        (-score, other)
        for other, called in others
        if other != name
        and _may_share(shared, other, called)
        and (score := _overlap(wanted, (_words(other.rpartition("/")[2]), _words(called))))
        >= MIN_OVERLAP
    )
    return [it for _, it in ranked[:MAX_SIMILAR]]


def find_namesakes(name: str, others: Iterable[str]) -> list[str]:
    """The documents that a wrong path may mean: the last part is theirs, in any case."""
    folded = fold_name(name)
    leaf = folded.rpartition("/")[2]
    found = sorted(it for it in others if fold_name(it.rpartition("/")[2]) == leaf)
    # The same path in another case is what was meant, whatever else has the leaf.
    exact = [it for it in found if fold_name(it) == folded]
    return exact or (found if len(found) <= MAX_NAMESAKES else [])


def _may_share(words: frozenset[str], name: str, title: str) -> bool:
    """Whether they may have a word in common: a cheap look, for there are many documents."""
    text = f"{name} {title}".lower()
    return not text.isascii() or any(it in text for it in words)


def _overlap(first: Iterable[frozenset[str]], second: Iterable[frozenset[str]]) -> float:
    found = [len(a & b) / len(a | b) for a in first for b in second if a and b]
    return max(found, default=0.0)


def _words(text: str) -> frozenset[str]:
    return frozenset(name_slug(text).split("-")) - {"", *GENERIC}

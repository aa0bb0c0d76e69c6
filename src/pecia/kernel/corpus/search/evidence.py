"""What a text says for itself: do the words of a query stand together in it, and where. Pure."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.tokenizer import (
    AskedTerms,
    find_places,
    tokenize,
)

NO_ALIASES: Mapping[str, str] = MappingProxyType({})

# Farther apart than this, two words of a text do not stand together.
_MAX_PROXIMITY = 8


class CandidateText(NamedTuple):
    """As much of a candidate as ranking reads. `file` is any name of the file it is a part of.

    `page` is that of the file on which it stands, None where there are none; `seq` counts the
    chunks of the file.
    """

    file: Hashable
    text: str
    title: str = ""
    headings: str = ""
    language: str = ""
    page: int | None = None
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Each from 0 to 1; as weights, how much each counts.

    `coverage`: how many words of the query are there at all. `proximity`: how near neighbours of
    the query stand to each other. `phrase`: the longest run of the query that stands as it is.
    `title`, `headings`: how many of the words are there.
    """

    coverage: float = 0.0
    proximity: float = 0.0
    phrase: float = 0.0
    title: float = 0.0
    headings: float = 0.0

    def weighted_sum(self, weights: "Evidence") -> float:
        return (
            self.coverage * weights.coverage
            + self.proximity * weights.proximity
            + self.phrase * weights.phrase
            + self.title * weights.title
            + self.headings * weights.headings
        )


def measure_best_evidence(reading: CandidateText, asked: Sequence[AskedTerms]) -> Evidence:
    """What the reading says for the meaning of a query that it covers most of."""
    found = [measure_evidence(reading, it.terms, it.aliases) for it in asked]
    return max(found, key=lambda it: it.coverage)


def measure_evidence(
    reading: CandidateText, asked: Sequence[str], aliases: Mapping[str, str] = NO_ALIASES
) -> Evidence:
    """What the reading says for these terms of a query, which come in its order, once each.

    An alias in the reading stands for its term.
    """
    return weigh_terms(reading, asked, aliases).evidence


class WeighedTerms(NamedTuple):
    """The terms of a query that a text has, and what they say for it."""

    held: frozenset[str]
    evidence: Evidence


NO_TERMS = WeighedTerms(frozenset(), Evidence())


def weigh_terms(
    reading: CandidateText, asked: Sequence[str], aliases: Mapping[str, str] = NO_ALIASES
) -> WeighedTerms:
    if not asked:
        return NO_TERMS
    return _weigh(reading, asked, aliases) if aliases else _weigh_own(reading, tuple(asked))


# Twice what a page reads: a hit is weighed to be ranked, and for its match.
@lru_cache(64)
def _weigh_own(reading: CandidateText, asked: tuple[str, ...]) -> WeighedTerms:
    return _weigh(reading, asked, NO_ALIASES)


def _weigh(
    reading: CandidateText, asked: Sequence[str], aliases: Mapping[str, str]
) -> WeighedTerms:
    language = reading.language
    wanted = frozenset(asked)
    places = find_places(reading.text, wanted.union(aliases), language)
    title, headings = _name_terms(reading.title, language), _name_terms(reading.headings, language)
    if aliases:
        places = _merge_aliases(places, aliases)
        title, headings = (frozenset(aliases.get(it, it) for it in of) for of in (title, headings))
    titled, headed = wanted & title, wanted & headings
    held = titled.union(headed, places)
    return WeighedTerms(
        held,
        Evidence(
            coverage=len(held) / len(asked),
            proximity=_proximity(places, asked),
            phrase=_longest_run(places, asked),
            title=len(titled) / len(asked),
            headings=len(headed) / len(asked),
        ),
    )


def _merge_aliases(
    places: Mapping[str, list[int]], aliases: Mapping[str, str]
) -> dict[str, list[int]]:
    """The places of terms, with those of the aliases that stand for them."""
    merged: dict[str, list[int]] = {}
    for term, found in places.items():
        merged.setdefault(aliases.get(term, term), []).extend(found)
    return {term: sorted(found) for term, found in merged.items()}


# Chunks of one file have the same title, and files of a folder headings.
@lru_cache(1024)
def _name_terms(name: str, language: str) -> frozenset[str]:
    return frozenset(tokenize(name, language))


def _proximity(places: Mapping[str, Sequence[int]], asked: Sequence[str]) -> float:
    if len(places) < 2:
        return 0.0
    near = [
        _nearness(places[one], places[next_])
        for one, next_ in pairwise(asked)
        if one in places and next_ in places
    ]
    return sum(near) / (len(asked) - 1) if near else 0.0


def _nearness(ones: Sequence[int], others: Sequence[int]) -> float:
    """1 for neighbours, in either order, less with every word between, 0 out of reach."""
    nearest = _MAX_PROXIMITY + 1
    at = 0
    for one in ones:
        while at < len(others) and others[at] < one:
            at += 1
        for other in others[max(0, at - 1) : at + 1]:
            nearest = min(nearest, abs(one - other))
    return 1 - (nearest - 1) / _MAX_PROXIMITY if nearest <= _MAX_PROXIMITY else 0.0


def _longest_run(places: Mapping[str, Sequence[int]], asked: Sequence[str]) -> float:
    """The share of the query that its longest run in the text is; a lone word is no run."""
    longest = 1
    runs: dict[int, int] = {}
    for term in asked if len(places) > 1 else ():
        # A run that ends just before this place goes on here.
        runs = {at: runs.get(at - 1, 0) + 1 for at in places.get(term, ())}
        longest = max(longest, *runs.values()) if runs else longest
    return longest / len(asked) if longest > 1 else 0.0

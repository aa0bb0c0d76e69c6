"""What a text says for itself: do the words of a query stand together in it, and where. Pure."""

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.tokenizer import AskedTerms, tokenize

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
    """What the reading says for these terms of a query, which come in its order.

    An alias in the reading stands for its term.
    """
    return weigh_terms(locate_terms(reading, asked, aliases), asked) if asked else Evidence()


class LocatedTerms(NamedTuple):
    """The terms of a candidate's title and headings, and where those that are asked for stand in
    its text.
    """

    title: frozenset[str]
    headings: frozenset[str]
    places: Mapping[str, Sequence[int]]

    def __contains__(self, term: object) -> bool:
        return term in self.places or term in self.title or term in self.headings


def locate_terms(
    reading: CandidateText, asked: Sequence[str], aliases: Mapping[str, str] = NO_ALIASES
) -> LocatedTerms:
    title, headings, text = _read_terms(reading, aliases)
    return LocatedTerms(title, headings, _term_positions(text, asked))


def weigh_terms(found: LocatedTerms, asked: Sequence[str]) -> Evidence:
    return Evidence(
        coverage=_share(asked, found),
        proximity=_proximity(found.places, asked),
        phrase=_longest_run(found.places, asked),
        title=_share(asked, found.title),
        headings=_share(asked, found.headings),
    )


class CandidateTerms(NamedTuple):
    """The terms of a candidate; those of its text in order."""

    title: frozenset[str]
    headings: frozenset[str]
    text: Sequence[str]


def _read_terms(reading: CandidateText, aliases: Mapping[str, str]) -> CandidateTerms:
    """The terms of a candidate, with those that aliases stand for."""
    found = _tokenize_fields(reading.title, reading.headings, reading.text, reading.language)
    if not aliases:
        return found
    title, headings, text = ([aliases.get(it, it) for it in some] for some in found)
    return CandidateTerms(frozenset(title), frozenset(headings), text)


# Twice what a page reads: a hit is tokenized to be ranked, and for its match.
@lru_cache(64)
def _tokenize_fields(title: str, headings: str, text: str, language: str) -> CandidateTerms:
    names, above = (frozenset(tokenize(it, language)) for it in (title, headings))
    return CandidateTerms(names, above, tokenize(text, language))


def _term_positions(body: Sequence[str], asked: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    wanted = frozenset(asked)
    # Most terms are not wanted: a comprehension passes them in half the time of a loop.
    for at, term in [it for it in enumerate(body) if it[1] in wanted]:
        places.setdefault(term, []).append(at)
    return places


def _share(asked: Sequence[str], held: Container[str]) -> float:
    return sum(it in held for it in asked) / len(asked)


def _proximity(places: Mapping[str, Sequence[int]], asked: Sequence[str]) -> float:
    near = [_nearness(places.get(one, ()), places.get(next_, ())) for one, next_ in pairwise(asked)]
    return sum(near) / len(near) if near else 0.0


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
    for term in asked:
        # A run that ends just before this place goes on here.
        runs = {at: runs.get(at - 1, 0) + 1 for at in places.get(term, ())}
        longest = max(longest, *runs.values()) if runs else longest
    return longest / len(asked) if longest > 1 else 0.0

"""Compiles the cue lists of a language into one regular expression: one pass per text. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import NamedTuple, TypeAlias

from pecia.features.ckf.heuristic.cues import english, french, german, portuguese, spanish
from pecia.features.ckf.heuristic.cues.kind import CueKind, CueLists
from pecia.kernel.text.language import primary_language

CueKinds: TypeAlias = frozenset[CueKind]

LANGUAGES: dict[str, ModuleType] = {
    "en": english,
    "pt": portuguese,
    "es": spanish,
    "fr": french,
    "de": german,
}
UNKNOWN_LANGUAGE = "und"


class Cue(NamedTuple):
    """One match of a cue, with its offsets. A tuple, because a long text has thousands."""

    start: int
    end: int
    kinds: CueKinds
    words: str
    # A noun such as `exception` names the topic of the sentence and opens no clause.
    names: bool = False


@dataclass(frozen=True, slots=True)
class Grammar:
    """The patterns of one language; for an unknown one only the language-independent patterns."""

    language: str
    cues: re.Pattern[str] | None
    kinds_by_cue: dict[str, CueKinds]
    names: frozenset[str]
    times: re.Pattern[str] | None
    stopwords: frozenset[str]
    # Stop words and all words of cues: ignored when two sentences are compared.
    function_words: frozenset[str]
    anaphora: frozenset[str]
    conjunctions: frozenset[str]
    then: frozenset[str]
    plain: frozenset[str]
    openers: frozenset[str]
    scoping: frozenset[str]
    nobody: frozenset[str]
    closing: frozenset[str]
    valid_from: re.Pattern[str]
    valid_to: re.Pattern[str]
    months: tuple[str, ...]
    question: re.Pattern[str]
    answer: re.Pattern[str]

    def find_cues(self, lowered: str) -> Iterator[Cue]:
        """Cues in document order, the longest match at each position."""
        if self.cues is None:
            return
        kinds_by_cue = self.kinds_by_cue
        for it in self.cues.finditer(lowered):
            words = it[0]
            kinds = kinds_by_cue.get(words)
            if kinds is None:
                words = " ".join(words.split())
                kinds = kinds_by_cue[words]
            yield Cue(it.start(), it.end(), kinds, words, words in self.names)

    def find_times(self, lowered: str) -> Iterator[int]:
        """Offsets of dates and relative periods."""
        if self.times is not None:
            for it in self.times.finditer(lowered):
                yield it.start()


@cache
def load_grammar(language: str) -> Grammar:
    """The grammar for the primary subtag of a language tag."""
    primary = primary_language(language)
    words = LANGUAGES.get(primary)
    if words is None:
        return _STRUCTURE_ONLY
    named = _kinds_by_cue(words.NAMES)
    kinds_by_cue = _kinds_by_cue(words.CUES) | named
    return Grammar(
        primary,
        re.compile(rf"(?<![\w-])(?:{build_trie(kinds_by_cue)})(?![\w-])"),
        kinds_by_cue,
        frozenset(named),
        _times(words),
        frozenset(words.STOPWORDS.split()),
        frozenset(words.STOPWORDS.split()).union(*(it.split() for it in kinds_by_cue)),
        frozenset(words.ANAPHORA.split()),
        frozenset(words.CONJUNCTIONS.split()),
        frozenset(words.THEN.split()),
        frozenset(words.PLAIN.split()),
        frozenset(words.OPENERS.split()),
        frozenset(words.SCOPING.split()),
        frozenset(words.NOBODY.split()),
        frozenset(words.CLOSING.split("|")),
        _before_date(words.VALID_FROM),
        _before_date(words.VALID_TO),
        tuple(words.MONTHS.split()),
        *_labels(words.QUESTION, words.ANSWER),
    )


def lowercase_aligned(text: str) -> str:
    """Lower case without moving any offset; apostrophes are unified."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(it.lower() if len(it.lower()) == 1 else it for it in text)
    return lowered.replace("’", "'")


def _kinds_by_cue(lists: CueLists) -> dict[str, CueKinds]:
    found: dict[str, set[CueKind]] = {}
    for kind, cues in lists.items():
        for cue in cues.split("|"):
            found.setdefault(cue, set()).add(kind)
    return {cue: frozenset(kinds) for cue, kinds in found.items()}


def build_trie(endings: Iterable[str]) -> str:
    """A regular expression shaped as a trie, so that few branches are tried at each position."""
    rests_by_first: dict[str, list[str]] = {}
    may_end = False
    for it in endings:
        if it:
            rests_by_first.setdefault(it[0], []).append(it[1:])
        else:
            may_end = True
    if not rests_by_first:
        return ""
    branches = "|".join(
        (r"\s{1,4}" if first == " " else re.escape(first)) + build_trie(rests)
        for first, rests in rests_by_first.items()
    )
    return f"(?:{branches}){'?' if may_end else ''}"


def _times(words: ModuleType) -> re.Pattern[str]:
    """Dates and relative periods: `30 June`, `2025-07-01`, `the preceding year`.

    A bare duration does not match: it is temporal only beside a word of time.
    """
    units, months = _any_of(words.UNITS), _any_of(words.MONTHS)
    numerals = rf"(?:\d[\d.,]{{0,12}}|{_any_of(words.NUMERALS)}(?:-[a-zà-ÿ]{{2,12}})?)"
    return re.compile(
        rf"(?<!\w)(?:{_any_of(words.RELATIVE)}\s{units}(?!\w)"
        rf"|{units}\s{_any_of(words.RELATIVE)}(?!\w)"
        rf"|\d{{1,2}}(?:st|nd|rd|th|er|º|\.)?\s(?:de\s|of\s)?{months}(?!\w)"
        rf"|{months}\s(?:de\s)?\d{{1,4}}(?!\w)"
        rf"|(?:19|20)\d\d-\d\d(?:-\d\d)?(?!\w)"
        rf"|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}(?!\w)|\d{{1,2}}:\d\d(?!\w)"
        rf"|{_any_of(words.AROUND)}\s{numerals}[\s-](?:\w{{1,16}}\s)?{units}(?!\w)"
        rf"|{numerals}[\s-](?:\w{{1,16}}\s)?{units}\s{_any_of(words.AROUND)}(?!\w))"
    )


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})"


def _labels(question: str, answer: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Labels of questions and answers; the English ones are recognised in every language."""
    return _label(f"{question} question q"), _label(f"{answer} answer a")


def _label(words: str) -> re.Pattern[str]:
    return re.compile(
        rf"[*_#>\s]{{0,6}}{_any_of(words)}\s?\d{{0,3}}[*_]{{0,2}}\s?[:.)][*_]{{0,2}}\s"
    )


def _before_date(words: str) -> re.Pattern[str]:
    choices = "|".join(sorted(words.split("|"), key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{choices})\s{{1,3}}(?:the\s)?\Z")


_NO_WORDS: frozenset[str] = frozenset()
_NEVER = re.compile(r"(?!)")
_STRUCTURE_ONLY = Grammar(
    language=UNKNOWN_LANGUAGE,
    cues=None,
    kinds_by_cue={},
    names=_NO_WORDS,
    times=None,
    stopwords=_NO_WORDS,
    function_words=_NO_WORDS,
    anaphora=_NO_WORDS,
    conjunctions=_NO_WORDS,
    then=_NO_WORDS,
    plain=_NO_WORDS,
    openers=_NO_WORDS,
    scoping=_NO_WORDS,
    nobody=_NO_WORDS,
    closing=_NO_WORDS,
    valid_from=_NEVER,
    valid_to=_NEVER,
    months=(),
    question=_label("question q"),
    answer=_label("answer a"),
)

"""How likely a hit is to answer the query: one scale for every corpus and mode. Pure.

Ranks compare the hits of one search; the best of nothing ranks first too. The match is a
probability instead, fitted by logistic regression on training queries of three collections, each
weighed the same, and on queries put to the wrong one. `docs/retrieval.md` has its reliability.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.token_filters import detect_language, stemmer_language
from pecia.kernel.corpus.keyword.analysis.tokenizer import AskedTerms, interpret_query
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.evidence import (
    NO_ALIASES,
    CandidateText,
    weigh_terms,
)

# Where the best match is below this, nothing found answers: chosen for the best F1 of abstention on
# the training queries, and within .03 of it on a collection that was left out of the fit.
NO_ANSWER_MATCH = 0.1

# A longer query says no more by its length.
_MAX_TERMS = 20


class MatchWeights(NamedTuple):
    """What each feature adds to the logit."""

    bias: float
    coverage: float
    proximity: float
    title: float
    missing: float
    terms: float
    cosine: float = 0.0


HYBRID_WEIGHTS = MatchWeights(-3.549, 2.534, 0.498, 0.312, -0.745, 0.382, 2.771)
LEXICAL_WEIGHTS = MatchWeights(-3.21, 3.115, 1.186, 1.197, -0.834, 1.164)

# A query in another language than the text: its words are missing there, and that says nothing.
# Fitted on headings of a translated course in 16 languages, questions put to the wrong collection,
# and the three English collections by their cosines alone (ADR 139).
FOREIGN_WEIGHTS = MatchWeights(-4.33, 2.13, 0.0, 0.0, 0.0, 0.0, 6.21)
# A query of no detected language: a few words of the text's own or of another, or of none at all.
# The nearest text of a nonsense word has a cosine of up to .44.
UNKNOWN_WEIGHTS = MatchWeights(-5.555, 0.0, 0.0, 0.0, 0.0, 0.0, 8.138)

# A word has up to four translations, and one of them may stand anywhere: they count where the text
# is not too far in meaning. On the sets of ADR 150, in 16 languages, questions that nothing answers
# got an answer 19 % of the time without this, 11 % with it; of found answers 2.7 % and 3.2 % are
# refused.
MIN_TRANSLATED_COSINE = 0.2

# Polish, Turkish and Vietnamese have as many words with letters that English has not.
MIN_ACCENTED_SHARE = 0.25
# As many letters show a script, and as many characters accents.
_SCRIPT_SAMPLE = 60
_ACCENT_SAMPLE = 500
_LETTER = re.compile(r"[^\W\d_]")
_JAPANESE = ("HIRAGANA", "KATAKANA")


@dataclass(frozen=True, slots=True)
class MatchEstimator:
    """How likely texts answer one query, each estimated once. `rarity` is of its terms; `cosines`
    are of the texts that have a vector, in whose language the query is; `language` is that of the
    query, where the embedder knows more than one.
    """

    query: Query
    rarity: Mapping[str, float]
    cosines: Mapping[int, float]
    language: "TextLanguage | None"
    _known: dict[int, float] = field(default_factory=dict[int, float])

    def estimate(self, texts: Mapping[int, CandidateText]) -> dict[int, float]:
        # Once a language: to look a query up takes as long as to weigh a short text.
        asked = {
            it: interpret_query(self.query, it) for it in {it.language for it in texts.values()}
        }
        for id_, text in texts.items():
            if id_ not in self._known:
                self._known[id_] = estimate_best_match(
                    text,
                    asked[text.language],
                    self.rarity,
                    self.cosines.get(id_),
                    self.language,
                )
        return {it: self._known[it] for it in texts}


class TextLanguage(NamedTuple):
    """What a text is written in, as far as its words and letters tell; empty where they do not.

    `is_accented`: many of its words have letters that English has not.
    """

    code: str
    script: str
    is_accented: bool = False


def detect_text_language(text: str, tag: str = "") -> TextLanguage:
    """The language of a text; `tag` is what its file says of itself."""
    code = stemmer_language(tag) or detect_language(text)
    return TextLanguage(code, _detect_script(text), _is_accented(text))


def estimate_best_match(
    reading: CandidateText,
    asked: Sequence[AskedTerms],
    rarity: Mapping[str, float],
    cosine: float | None,
    language: TextLanguage | None = None,
) -> float:
    """The same for the meaning of a query that the text answers best. A term is as rare as the
    commonest of its aliases. The words that were translated are in the text's language.
    """
    is_far = cosine is not None and cosine < MIN_TRANSLATED_COSINE
    found: list[float] = []
    for terms, aliases in asked:
        if not aliases:
            found.append(estimate_match(reading, terms, rarity, cosine, language))
        elif not is_far:
            known = {**rarity}
            for alias, term in aliases.items():
                known[term] = min(known.get(term, 1.0), rarity.get(alias, 1.0))
            found.append(estimate_match(reading, terms, known, cosine, None, aliases))
    return max(found)


def estimate_match(
    reading: CandidateText,
    terms: Sequence[str],
    rarity: Mapping[str, float],
    cosine: float | None,
    asked: TextLanguage | None = None,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> float:
    """The probability that this text answers a query of these terms.

    `rarity` is the IDF of each term among what the caller sees, from 0 to 1; a term without one is
    in no text. A text without a cosine is judged by its words alone. `asked` is the language of the
    query, where the embedder knows more than one.
    """
    weights = LEXICAL_WEIGHTS if cosine is None else HYBRID_WEIGHTS
    if not terms:
        return _sigmoid(weights.bias + weights.cosine * (cosine or 0.0))
    held, evidence = weigh_terms(reading, terms, aliases)
    found = total = missing = 0.0
    for it in terms:
        value = rarity.get(it, 1.0)
        total += value
        if it in held:
            found += value
        elif value > missing:
            missing = value
    coverage = found / (total or 1.0)
    usual = (
        weights.bias
        + weights.coverage * coverage
        + weights.proximity * evidence.proximity
        + weights.title * evidence.title
        + weights.missing * missing
        + weights.terms * min(len(terms), _MAX_TERMS) / _MAX_TERMS
        + weights.cosine * (cosine or 0.0)
    )
    if asked is None or cosine is None:
        return _sigmoid(usual)
    across = _choose_across(asked, reading)
    if across is None:
        return _sigmoid(usual)
    # The better of both: a language may be mistaken, and names are the same in many.
    return _sigmoid(max(usual, across.bias + across.coverage * coverage + across.cosine * cosine))


def _choose_across(asked: TextLanguage, reading: CandidateText) -> MatchWeights | None:
    """The weights that count missing words little; None for a query in the text's language.

    What a text is written in is told as late as can be: that takes longer than all else here.
    """
    script = _detect_script(reading.text)
    if asked.script and script and asked.script != script:
        return FOREIGN_WEIGHTS
    if not asked.code and not asked.is_accented:
        return UNKNOWN_WEIGHTS
    written = stemmer_language(reading.language) or detect_language(reading.text)
    if asked.code and written:
        return FOREIGN_WEIGHTS if asked.code != written else None
    return FOREIGN_WEIGHTS if asked.is_accented and written == "en" else UNKNOWN_WEIGHTS


def _detect_script(text: str) -> str:
    """The script of most letters at the beginning, by its name in Unicode."""
    if text.isascii():
        return "LATIN" if _LETTER.search(text) else ""
    letters = (it.group() for it in islice(_LETTER.finditer(text), _SCRIPT_SAMPLE))
    names = Counter(_script_of(it) for it in letters)
    return max(names, key=lambda it: names[it], default="")


def _is_accented(text: str) -> bool:
    if text.isascii():
        return False
    words = text[:_ACCENT_SAMPLE].split()
    return sum(not it.isascii() for it in words) >= MIN_ACCENTED_SHARE * len(words)


def _script_of(letter: str) -> str:
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "").partition(" ")[0]
    # Japanese is written in three scripts, and one of them is that of Chinese.
    return "CJK" if name in _JAPANESE else name


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))

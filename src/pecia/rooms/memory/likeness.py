"""How like two texts are by their words, for what has no vector and beside what has. Pure."""

import re
from difflib import SequenceMatcher

from pecia.kernel.corpus.index.words import cjk_wanted, content_words, without_cjk, words_of

ENOUGH_WORDS = 4
# Longer texts are not compared piece by piece, which grows with the square.
MOST_TOKENS = 500

_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")
_AROUND = ".,;:!?\"'()[]{}*_`“”‘’„«»…。、！？"
_NEGATION = re.compile(
    r"\b(?:not|never|no longer|cannot|n't|without|stop(?:ped)?|instead of)\b|n't\b", re.IGNORECASE
)


def terms(text: str) -> frozenset[str]:
    """The words that carry a text, without common endings; where there are no blanks, pairs."""
    words = (_ENDING.sub("", it) for it in content_words(text) if without_cjk(it))
    return frozenset(words) | frozenset(cjk_wanted(text))


def stems(text: str) -> frozenset[str]:
    """All words of a text, in the same shape. Cheaper, for texts that are only looked into."""
    return frozenset(_ENDING.sub("", it) for it in words_of(text)) | frozenset(cjk_wanted(text))


class Asked:
    """A query, to be compared with many texts."""

    def __init__(self, query: str) -> None:
        self._terms = terms(query)
        self._trust = 0.5 + 0.5 * min(1.0, len(self._terms) / ENOUGH_WORDS)

    def coverage(self, text: str) -> float:
        """Which share of the query's words a text holds, from 0 to 1."""
        held = len(self._terms & stems(text))
        return held / len(self._terms) if self._terms else 0.0

    def similarity(self, text: str, cosine: float | None) -> float:
        """By meaning, or by words where those say more.

        Half of the words are worth a quarter, and few words less than many: one word that is there
        says little. Rounded, so that what is shown and what is compared are the same number.
        """
        by_words = self._trust * self.coverage(text) ** 2
        return round(min(1.0, max(0.0, cosine or 0.0, by_words)), 6)


def coverage(query: str, text: str) -> float:
    return Asked(query).coverage(text)


def overlap(one: str, other: str) -> float:
    """Which share of the words of both are in each, from 0 to 1."""
    a, b = terms(one), terms(other)
    return len(a & b) / len(a | b) if a | b else 0.0


def tokens(text: str) -> list[str]:
    """What stands between blanks, without case and without the signs that end a sentence.

    Other signs stay: `C++` is not `C`, and `<=` is not `>=`.
    """
    return [it for word in text.casefold().split() if (it := word.strip(_AROUND))]


def says(whole: str, part: str) -> bool:
    """Whether one text holds the other as it stands, but for blanks, case and full stops."""
    # Joined by a sign that no token holds, so that only whole tokens match.
    one, other = "\n".join(tokens(whole)), "\n".join(tokens(part))
    if not other:
        return whole.strip() == part.strip()
    return f"\n{other}\n" in f"\n{one}\n"


def kept_share(old: str, new: str) -> float:
    """Which share of a text comes again in another, in the same order: 1 where nothing is lost."""
    if says(new, old):
        return 1.0
    before, after = tokens(old), tokens(new)
    if not before or max(len(before), len(after)) > MOST_TOKENS:
        return 0.0
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return sum(it.size for it in blocks) / len(before)


def negates(text: str) -> bool:
    return bool(_NEGATION.search(text))

"""Whether a sentence says no more and nothing else than its quotations. Pure, and without a model.

Strict on purpose: a sentence that fails is replaced by what it quotes, so that a refusal costs
style and a mistake would cost truth. A sentence passes if it is the quotation shortened: all its
words are there, in that order, with the same names and numbers, and with the same "not", "if",
"only" or "may".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from tomllib import loads

from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize
from pecia.kernel.text.language import primary_language

# Of the words that a sentence shares with its quotations, in their order.
MIN_ORDERED = 0.8
# How far a number may stand from the word beside it.
MAX_UNIT_DISTANCE = 2


def is_borne_out(
    sentence: str, quotations: Sequence[str], context: str, languages: Iterable[str]
) -> bool:
    """Whether the quotations say this. They stand under the titles and headings of `context`, in
    texts of these languages.
    """
    if _spaced(sentence) in [*map(_spaced, quotations), _spaced(" ".join(quotations))]:
        return True
    joined = "\n".join(quotations)
    language, words = _choose_words(languages)
    if words is None:
        # Nobody told us what negates in this language.
        return False
    said = _content_terms(sentence, language, words["free"])
    held = tokenize(joined, language)
    known = {*held, *tokenize(context, language)}
    return (
        bool(said)
        and known.issuperset(said)
        and 2 * sum(it in held for it in said) >= len(said)
        and _operators(sentence, words["operators"]) == _operators(joined, words["operators"])
        and _keeps_numbers(sentence, joined, language)
        and _keeps_order([it for it in said if it in held], held)
        and _keeps_names(sentence, joined)
    )


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _choose_words(languages: Iterable[str]) -> tuple[str, Mapping[str, Sequence[str]] | None]:
    """The words of the one language. Where it is not known, what changes the meaning in any."""
    known = {*map(primary_language, languages)}
    tables = _load_words()
    if len(known) != 1:
        return "", None
    [language] = known
    if language:
        return language, tables.get(language)
    every = [word for it in tables.values() for word in it["operators"]]
    return "", {"free": tables["en"]["free"], "operators": every}


def _content_terms(text: str, language: str, free: Iterable[str]) -> list[str]:
    empty = {term for it in free for term in tokenize(it, language)}
    return [it for it in tokenize(text, language) if it not in empty]


def _operators(text: str, operators: Iterable[str]) -> set[str]:
    found = {it.casefold() for it in _WORD.findall(text)}
    # "can't" and "don't" are the words of two.
    negated = {"not"} if any(it.endswith(("n't", "n’t")) for it in found) else set[str]()
    return (found & {*operators}) | negated


def _keeps_numbers(sentence: str, quoted: str, language: str) -> bool:
    """Whether every number is in the quotation, and of the same thing: before the word that follows
    it, or at the end of a sentence after the word before it."""
    said, held = _WORD.findall(sentence), _WORD.findall(quoted)
    for at, word in enumerate(said):
        if not _has_digit(word):
            continue
        places = [number for number, it in enumerate(held) if it.casefold() == word.casefold()]
        beside = said[at + 1 : at + 2]
        around = [held[it + 1 : it + 1 + MAX_UNIT_DISTANCE] for it in places]
        if not beside:
            beside = said[at - 1 : at] if at else []
            around = [held[max(0, it - MAX_UNIT_DISTANCE) : it] for it in places]
        unit = {*tokenize(" ".join(beside), language)}
        if not any(unit <= {*tokenize(" ".join(near), language)} for near in around):
            return False
    return True


def _keeps_names(sentence: str, quoted: str) -> bool:
    """Whether names and numbers come in the order of the quotation: who did it to whom."""
    held = [it.casefold() for it in _WORD.findall(quoted)]
    said = [
        it.casefold()
        for at, it in enumerate(_WORD.findall(sentence))
        if _has_digit(it) or (it[:1].isupper() and (at > 0 or it.casefold() in held[1:]))
    ]
    shared = [it for it in dict.fromkeys(said) if it in held]
    return _common_length(shared, held) == len(shared)


def _keeps_order(said: Sequence[str], held: Sequence[str]) -> bool:
    return _common_length(said, held) >= MIN_ORDERED * len(said)


def _common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for left in one:
        above = row
        row = [0]
        for number, right in enumerate(other):
            row.append(above[number] + 1 if left == right else max(above[number + 1], row[number]))
    return row[-1]


def _has_digit(word: str) -> bool:
    return any(it.isdigit() for it in word)


@cache
def _load_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    text = files("pecia.features.lake.core.answer").joinpath("words.toml").read_text("utf-8")
    found = loads(text)
    return {
        name: {kind: it[kind].split() for kind in ("free", "operators")}
        for name, it in found.items()
    }


_WORD = re.compile(r"\w+(?:[.,:/'’_-]\w+)*")

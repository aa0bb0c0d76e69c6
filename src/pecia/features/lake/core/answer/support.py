"""Whether a sentence says no more and nothing else than its quotations. Pure, and without a model.

Strict on purpose: a sentence that fails is replaced by what it quotes, so that a refusal costs
style and a mistake would cost truth. A sentence passes if it is one of the quotation, word for
word. Words left out, in the midst or at an end, can make it false ("Anton's brother sold it", "it
cures cancer in mice"), and so can another tense or preposition. What may differ is case,
punctuation, English articles, and who did it at the end of a passive: "by the workshop".
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from pecia.features.lake.core.answer.quotation import split_statements
from pecia.kernel.text.language import primary_language

_ARTICLES = frozenset({"a", "an", "the"})
_AGENT = re.compile(r"\bby (?:an?|the) ", re.IGNORECASE)
# What an agent may consist of: a name of one to three words, and nothing that limits or denies.
_AGENT_WORDS = re.compile(r"by (?:an?|the)(?: [^\W\d_]+){1,3}\s*[.!?]?\s*", re.IGNORECASE)
_LIMITS = re.compile(
    r"\b(?:not|no|never|without|if|unless|except|only|until|before|after|when|while|whether|or|but"
    r"|although|however|despite|in|on|at|for|with|from|of|to|than|as|since|during|within|under|over"
    r"|who|which|that|where|less|more|half|third|quarter|most|least|few|same|other)\b",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)\b", re.IGNORECASE)


def is_borne_out(sentence: str, quotations: Sequence[str], languages: Iterable[str]) -> bool:
    """Whether the quotations, of texts in these languages, say this."""
    is_english = {*map(primary_language, languages)} == {"en"}
    held = {
        tuple(_words(form, is_english=is_english))
        for quotation in quotations
        for span in split_statements(quotation)
        for form in _forms(span.of(quotation), is_english=is_english)
    }
    said = [
        tuple(_words(span.of(sentence), is_english=is_english))
        for span in split_statements(sentence)
    ]
    return any(said) and all(it in held for it in said if it)


def _forms(sentence: str, *, is_english: bool) -> Iterator[str]:
    """The sentence, and the same without who did it."""
    yield sentence
    if not is_english:
        return
    *_, agent = [None, *_AGENT.finditer(sentence)]
    if (
        agent
        and _is_agent(sentence[agent.start() :])
        and _PASSIVE.search(sentence, 0, agent.start())
    ):
        yield sentence[: agent.start()]


def _is_agent(tail: str) -> bool:
    return bool(_AGENT_WORDS.fullmatch(tail)) and not _LIMITS.search(tail)


def _words(text: str, *, is_english: bool) -> Iterator[str]:
    for it in _WORD.findall(text):
        word = it.casefold()
        if not (is_english and word in _ARTICLES):
            yield word


# Signs before a number or word count: "-5" is not "5", and "< 5" is not "> 5".
_WORD = re.compile(r"[-+−±<>≤≥=≠~≈$€£¥]*\w+(?:[.,:/'’_-]\w+)*[%‰°]?|[<>≤≥=≠~≈±]+")

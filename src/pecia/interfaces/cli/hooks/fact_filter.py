"""What of somebody's messages is worth remembering without being asked. Pure.

Little: what they asked to remember, standing instructions, preferences and decisions. A session is
full of statements that are true for an hour, and a memory that is wrong costs more than one that is
missing.
"""

import re
from collections.abc import Iterable, Sequence

from pecia.features.memory.core.sentence import split_sentences
from pecia.features.memory.core.utterance import Standing, read_standing, read_utterance

MAX_FACTS = 20
MAX_CHARS = 400
_REMEMBER = re.compile(r"\s*(?:please\s+)?(?:remember|note|keep in mind|memori[sz]e)\b", re.I)
_FOR_GOOD = re.compile(
    r"\b(?:always|never|from now on|whenever|every time|in (?:the )?future|going forward)\b", re.I
)
_DECISION = re.compile(
    r"\b(?:we|i)(?:['’]ve| have)? (?:all )?(?:decided|agreed|settled on|chose|chosen|"
    r"switched to|standardi[sz]ed on)\b",
    re.I,
)
_WORDS = re.compile(r"[^\W_]+")


def list_lasting_facts(messages: Iterable[str], recalled: Sequence[str]) -> list[str]:
    """At most 20, each once; nothing that was recalled in this session."""
    known = [_words(it) for it in recalled]
    found: dict[str, str] = {}
    for message in messages:
        for fact in _facts(message):
            words = _words(fact)
            if words and not any(it and (it in words or words in it) for it in known):
                found.setdefault(words, fact)
    return [*found.values()][:MAX_FACTS]


def _facts(message: str) -> Iterable[str]:
    if "```" in message:
        return
    if _REMEMBER.match(message):
        kept = read_utterance(message).kept
        if kept and len(kept) <= MAX_CHARS:
            yield kept
        return
    sentences = (it for line in message.splitlines() for it in split_sentences(line))
    for it in sentences:
        sentence = it.strip(" \t-*•")
        if len(sentence) <= MAX_CHARS and not sentence.endswith("?") and _is_lasting(sentence):
            yield sentence


def _is_lasting(sentence: str) -> bool:
    if _DECISION.search(sentence):
        return True
    standing = read_standing(sentence)
    # "Use the other helper" is of the moment; "always use" is not.
    return standing is Standing.PREFERENCE or bool(standing and _FOR_GOOD.search(sentence))


def _words(text: str) -> str:
    return " ".join(_WORDS.findall(text.lower()))

"""A text with one way to say each thing: contractions written out, and phrases that stand for each
other replaced by one of them. Pure.

It is used to compare two wordings and for nothing else: what is stored and shown is what was said.
"""

import re
from functools import lru_cache

from pecia.features.memory.core.compare.figures import rewrite_figures
from pecia.features.memory.core.compare.vocabulary import LINES

_SHORT_NOT = re.compile(r"(?<=[a-z])n['’]t\b", re.IGNORECASE)
_SHORT_VERBS = (
    (re.compile(r"\b(I)['’]m\b"), r"\1 am"),
    (re.compile(r"(?<=\w)['’]re\b"), " are"),
    (re.compile(r"(?<=\w)['’]ve\b"), " have"),
    (re.compile(r"(?<=\w)['’]ll\b"), " will"),
    (re.compile(r"\b(it|that|there|he|she|what|where|who)['’]s\b", re.IGNORECASE), r"\1 is"),
)
# `The flag is on`: what follows is no place.
_IS_ON = re.compile(r"\b(?:is|are) on(?=\s*(?:$|[.,]|for everyone|for all|by default))")
_IS_OFF = re.compile(
    r"\b(?:is|are) off(?=\s*(?:$|[.,]|for everyone|for all|by default|in |during ))"
)
# `They delete comments on their own`: not those of their own.
_ALONE = re.compile(
    r"\bon (?:my|your|his|her|its|our|their) own"
    r"(?=\s*(?:$|[.,;!]|(?:on|in|at|every|for|since|with|and|but)\b))",
    re.IGNORECASE,
)
_DISLIKES = re.compile(r"\bdislikes?\b", re.IGNORECASE)


def _read_rewrites() -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for line in LINES["rewrites"]:
        plain, _, ways = line.partition(" : ")
        pairs += [(way.strip(), plain.strip()) for way in ways.split(";")]
    return sorted(pairs, key=lambda it: -len(it[0].split()))


_REWRITES = _read_rewrites()
_PLAIN = dict(_REWRITES)
_WAYS = re.compile(
    r"(?<![\w-])(?:" + "|".join(re.escape(way) for way, _ in _REWRITES) + r")(?![\w-])",
    re.IGNORECASE,
)


@lru_cache(4096)
def rewrite(text: str) -> str:
    """The text in plain words."""
    text = rewrite_figures(text.replace("’", "'"))
    text = _WAYS.sub(_to_plain, text)
    text = _SHORT_NOT.sub(" not", text)
    for short, whole in _SHORT_VERBS:
        text = short.sub(whole, text)
    text = _IS_OFF.sub("disabled", _IS_ON.sub("enabled", text))
    text = _ALONE.sub("alone", text)
    text = _DISLIKES.sub("not like", text)
    # What one rewrite made may be the beginning of another's.
    return _WAYS.sub(_to_plain, text)


def _to_plain(found: re.Match[str]) -> str:
    plain = _PLAIN[found[0].lower()]
    return plain.capitalize() if found[0][:1].isupper() and found.start() == 0 else plain

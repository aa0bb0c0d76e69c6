"""An English sentence as what the small models of this folder are told of it: its words, and how it
is built. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from pecia.features.memory.core.compare.statement import LIGHT
from pecia.features.memory.core.frames.verbs import FORMS

MAX_WORDS = 40
WORD_VALUE = 0.6
"""Of one word beside what is said by structure."""

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[\"“,:]")
_SIGNS = frozenset('"“,:')
_ONE = frozenset(("the", "this", "that", "these", "those"))
_SOME = frozenset(("a", "an", "one", "some", "two", "three", "five"))
_PERSONS = frozenset(
    ("i", "we", "he", "she", "it", "they", "you", "my", "our", "his", "her", "their", "its")
)
_ANY = frozenset(
    (
        *("all", "every", "each", "any", "always", "never", "whenever", "anything", "everything"),
        *("no", "only", "first", "ever", "unless"),
    )
)
_MANNERS = frozenset(
    (
        *("with", "without", "in", "as", "like", "using", "instead", "than", "over", "rather"),
        *("before", "after", "when"),
    )
)
_LEADS = frozenset(
    ("if", "when", "whenever", "before", "after", "for", "unless", "in", "with", "from")
)
_ONCE = frozenset(
    (
        *("now", "again", "today", "tomorrow", "here", "yesterday", "next", "last", "second"),
        *("third", "below", "above", "attached"),
    )
)
_MODALS = frozenset(("must", "should", "mustn't", "shouldn't"))
_NEGATIONS = frozenset(("don't", "don’t", "do", "never", "always"))
# Verbs of commands that statements of facts seldom have.
_COMMANDS = frozenset(
    (
        *(
            "address",
            "summarise",
            "summarize",
            "draft",
            "explain",
            "cite",
            "quote",
            "round",
            "spell",
        ),
        *(
            "refer",
            "skip",
            "respect",
            "stick",
            "format",
            "sign",
            "mark",
            "speak",
            "reply",
            "respond",
        ),
        *("proofread", "avoid", "assume", "be"),
    )
)
_WRITTEN = re.compile(r"[^\W_]+")
_CONTRAST = re.compile(r", not\b|\brather than\b|\binstead of\b|\bnot the\b")


@lru_cache(256)
def read_features(sentence: str) -> Mapping[str, float]:
    """What the model is told of a sentence; nothing of a long one."""
    tokens = [it.lower() for it in _TOKEN.findall(sentence)]
    found: dict[str, float] = {}
    if tokens[:1] == ["please"]:
        tokens, found["please"] = tokens[1:], 1.0
    words = [it for it in tokens if it not in _SIGNS]
    if not words or len(words) > MAX_WORDS:
        return {}
    clause = tokens
    if tokens[0] in _LEADS and "," in tokens:
        clause = tokens[tokens.index(",") + 1 :]
        found[f"lead={tokens[0]}"] = 1.0
    found |= _read_clause(clause, is_led=clause is not tokens)
    found |= _read_words(tokens)
    capitals = [it for it in _WRITTEN.findall(sentence)[1:] if it[0].isupper() and it != "I"]
    found |= {
        "contrast": float(_CONTRAST.search(sentence.lower()) is not None),
        "names": float(min(2, len(capitals))),
        "digits": float(any(it.isdigit() for it in sentence)),
        "length": len(words) / 10,
        **{f"word={it}": WORD_VALUE for it in words},
    }
    return {name: it for name, it in found.items() if it}


def _read_clause(clause: Sequence[str], *, is_led: bool) -> dict[str, float]:
    """Whether it is a command, and what of."""
    first = clause[0] if clause else ""
    is_denied = first in _NEGATIONS
    rest = [it for it in clause[1:] if it != "not"]
    verb = rest[0] if is_denied and rest else first
    is_command = "base" in FORMS.get(verb, {}) or verb in _COMMANDS
    thing = clause[1] if len(clause) > 1 else ""
    behind = clause[2] if len(clause) > 2 else ""
    is_bare = not (_ONE | _SOME) & {thing, behind}
    plural = not is_command and _is_plural(first)
    return {
        f"first={first}": 1.0,
        "command": float(is_command),
        "command behind a condition": float(is_command and is_led),
        "denied": float(is_denied),
        "of one": float(thing in _ONE),
        "of some": float(thing in _SOME),
        "to me": float(thing == "me"),
        "to me, one": float(thing == "me" and behind in _ONE | _SOME),
        "of mine": float(thing in ("my", "our")),
        "of many": float(is_bare and any(map(_is_plural, clause[1:4]))),
        "many are": float(plural),
        "many must": float(plural and not _MODALS.isdisjoint(clause)),
    }


def _read_words(tokens: Sequence[str]) -> dict[str, float]:
    own = {*tokens}
    return {
        "ones": float(min(3, sum(it in _ONE for it in tokens))),
        "some": float(min(2, sum(it in _SOME for it in tokens))),
        "plurals": float(min(3, sum(map(_is_plural, tokens)))),
        "modal": float(not _MODALS.isdisjoint(own)),
        "any": float(not _ANY.isdisjoint(own)),
        "once": float(not _ONCE.isdisjoint(own)),
        "quoted": float('"' in own),
        **{f"manner={it}": 1.0 for it in own & _MANNERS},
        **{f"person={it}": 1.0 for it in own & _PERSONS},
    }


def _is_plural(word: str) -> bool:
    ends = word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return ends and len(word) > 3 and word not in LIGHT

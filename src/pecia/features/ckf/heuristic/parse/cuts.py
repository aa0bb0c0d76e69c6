"""Tells whether a sentence was cut between two whole clauses. Pure.

A wrong cut makes a rule that the source does not state, so it is only possible.
"""

import re

from pecia.features.ckf.heuristic.cues.grammar import Cue
from pecia.features.ckf.heuristic.cues.openers import (
    CONDITION_AFTER,
    DANGLING,
    INNER_WORDS,
    PRONOUN_BEFORE,
    RELATIVE_STARTS,
)

_WORD = re.compile(r"[^\W\d_]+")
_LAST = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PAIRS = ("()", "[]", "«»")
_SE = frozenset({"se", "apenas se", "somente se", "só se"})
_LETTER = re.compile(r"[^\W_]")


def is_whole(words: str, language: str) -> bool:
    """Whether they can be a clause: brackets closed, no article or relative pronoun at the end."""
    if not _LETTER.search(words) or words.count('"') % 2:
        return False
    if any(words.count(it[0]) != words.count(it[1]) for it in _PAIRS):
        return False
    if "„" not in words and words.count("“") != words.count("”"):
        return False
    last = _last_word(words)
    # A single capital is a name: `A, B and C`.
    return (last if len(last) == 1 else last.lower()) not in DANGLING.get(language, ())


def begins_inside(words: str, language: str) -> bool:
    """Whether the words go on with an inner clause: `although …`"""
    found = _WORD.match(words.lstrip(" ,;:—–"))
    return found is not None and found[0].lower() in INNER_WORDS.get(language, ())


def follows_clause(words: str, language: str) -> bool:
    """Whether a main clause can begin here after a leading clause; in German not with `der …`"""
    found = _WORD.match(words.lstrip(" ,;:—–"))
    first = found[0].lower() if found else ""
    return not begins_inside(words, language) and first not in RELATIVE_STARTS.get(language, ())


def is_reflexive(cue: Cue, text: str, at: int) -> bool:
    """Whether Portuguese `se` at this offset is a pronoun: `os dados se alteram`"""
    if cue.words not in _SE:
        return False
    before = text[max(0, at - 24) : at].rstrip()
    starts = not before or before[-1] in ",;:(—–"
    if starts and cue.words == "se":
        return False
    words = _WORD.findall(before.lower())
    end = at + len(cue.words)
    following = _WORD.match(text[end : end + 24].lstrip())
    if words and words[-1] in PRONOUN_BEFORE:
        return True
    return following is None or following[0].lower() not in CONDITION_AFTER


def _last_word(words: str) -> str:
    found = _LAST.findall(words[-24:])
    end = words.rstrip(" \t\r\n,;:—–.")[-1:]
    return found[-1] if found and (end.isalpha() or end == "'") else ""

"""Whether two texts state the same fact, character for character. Pure.

One character, or the case of one letter, can make a different fact: `C` and `C++`, `-5` and `5`,
`foo` and `Foo`. No rule decides this for every language and product name, and a duplicate memory
costs less than a lost fact. So every character counts, except Unicode composition, white space,
the full stop at the end of a text, and the capital of a first word that is not a name.
"""

import re
import unicodedata
from collections import Counter

# Articles, pronouns and the like: never names, so a capital only marks the start of a sentence.
# `May`, `Will` and `IT` can be names, so they are not listed.
_NO_NAMES = frozenset(
    (
        *("a", "all", "an", "each", "every", "for", "he", "if", "in", "it", "its", "my", "our"),
        *("she", "some", "that", "the", "their", "there", "these", "they", "this", "those", "to"),
        *("we", "when", "you", "your"),
        *("alle", "das", "dem", "den", "der", "die", "dies", "diese", "dieser", "ein", "eine"),
        *("es", "ich", "im", "jede", "jeder", "mein", "sie", "unser", "unsere", "wenn", "wir"),
        *("ce", "ces", "cette", "il", "ils", "je", "le", "les", "nos", "notre", "nous", "tous"),
        *("el", "ella", "esta", "este", "los", "las", "nosotros", "nuestra", "nuestro", "una"),
    )
)
_TOKEN = re.compile(r"\S+")
_PARAGRAPH = re.compile(r"\s*\n\s*\n")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"”»›)]*$")
_FULL_STOPS = ".。"
_BETWEEN = ".,;:…。、，；："


def restates(new: str, old: str) -> bool:
    """Whether both texts are equal after normalization."""
    return _starts_alike(new, old) and split_words(new) == split_words(old)


def _starts_alike(new: str, old: str) -> bool:
    """Whether the first words may be equal. Most texts are told apart by it."""
    one, other = (_TOKEN.search(it) for it in (new, old))
    if one is None or other is None:
        return one is other
    first, second = (_first(unicodedata.normalize("NFC", it[0])) for it in (one, other))
    return first.rstrip(_FULL_STOPS) == second.rstrip(_FULL_STOPS)


def extends(new: str, old: str) -> bool:
    """Whether `new` starts with all of `old` and adds something."""
    if not _starts_alike(new, old):
        return False
    count = len(split_words(old))
    ends = [it.end() for it in _TOKEN.finditer(new)]
    if not 0 < count < len(ends):
        return False
    head, rest = new[: ends[count - 1]], new[ends[count - 1] :]
    is_whole = _SENTENCE_END.search(head) or _PARAGRAPH.match(rest)
    return bool(is_whole) and restates(head, old)


def mentions(new: str, old: str) -> bool:
    """Whether every word of `old` occurs in `new`, in any order."""
    # The first word of one may be in the middle of the other.
    one, other = (Counter(_first(_bare(word)) for word in split_words(it)) for it in (new, old))
    return bool(other) and other <= one


def split_words(text: str) -> list[str]:
    """Split on white space; punctuation stays."""
    found = _TOKEN.findall(unicodedata.normalize("NFC", text))
    if not found:
        return found
    found[0] = _first(found[0])
    found[-1] = _last(found[-1])
    return found


def _first(word: str) -> str:
    low = word.lower()
    return low if low in _NO_NAMES and word in (low, low.capitalize()) else word


def _last(word: str) -> str:
    """Without one full stop after letters; after a digit or symbol it may be part of the word."""
    is_sentence = len(word) > 2 and word[-1] in _FULL_STOPS and word[-3:-1].isalpha()
    return word[:-1] if is_sentence else word


def _bare(word: str) -> str:
    """Without trailing clause punctuation."""
    bare = word.rstrip(_BETWEEN)
    return bare if bare[-1:].isalpha() else word

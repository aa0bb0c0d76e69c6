"""Whether two texts state the same fact, sign for sign. Pure.

One sign, or the case of one letter, can make another fact: `C` and `C++`, `-5` and `5`, `foo` and
`Foo`. Which of them do cannot be told in every language and every product's names, and a second
memory costs less than a lost fact. So all of them count, but for what belongs to writing alone:
how a letter is composed, white space, the full stop at the end of a text, and the capital of a
first word that is nobody's name.
"""

import re
import unicodedata
from collections import Counter

# Articles, pronouns and their like: words that are no names, so that a capital only says that a
# sentence begins. `May`, `Will` and `IT` are names too, and are not here.
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
    """Whether both are the same text, but for how it is written down."""
    return split_words(new) == split_words(old)


def extends(new: str, old: str) -> bool:
    """Whether a text says the other, whole and first, and then something beside it."""
    count = len(split_words(old))
    ends = [it.end() for it in _TOKEN.finditer(new)]
    if not 0 < count < len(ends):
        return False
    head, rest = new[: ends[count - 1]], new[ends[count - 1] :]
    is_whole = _SENTENCE_END.search(head) or _PARAGRAPH.match(rest)
    return bool(is_whole) and restates(head, old)


def mentions(new: str, old: str) -> bool:
    """Whether every word of a text comes again in the other, in any order."""
    # What began a sentence in one may stand within one in the other.
    one, other = (Counter(_first(_bare(word)) for word in split_words(it)) for it in (new, old))
    return bool(other) and other <= one


def split_words(text: str) -> list[str]:
    """What stands between blanks, with every sign of it."""
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
    """Without one full stop behind letters; behind a number or a sign it may be a part of it."""
    is_sentence = len(word) > 2 and word[-1] in _FULL_STOPS and word[-3:-1].isalpha()
    return word[:-1] if is_sentence else word


def _bare(word: str) -> str:
    """Without the mark that ends a part of a sentence."""
    bare = word.rstrip(_BETWEEN)
    return bare if bare[-1:].isalpha() else word

"""Whether two texts state the same fact, word for word. Pure.

One name, number, date, version, unit, negation or quantifier makes another fact, and which words
are of that kind cannot be told in every language. So every word counts; blanks, case, and the
signs around words and sentences do not.
"""

import re
import unicodedata
from collections import Counter

# Signs that end a sentence or a part of it. `?` is none of them: a question states nothing.
_ENDS = ".,;:…。、．！，；："
_OPENING, _CLOSING = '"“„«‹(¿¡', '!"”»›)'
_PAIRS = {'"': '"', "“": "”", "„": "“", "«": "»", "‹": "›", "(": ")", "'": "'", "‘": "’"}
_TOKEN = re.compile(r"\S+")
_PARAGRAPH = re.compile(r"\s*\n\s*\n")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"”»›)]*$")
_COUNT = re.compile(r"[+-]?\d[\d.,_]*")
# Units that are others in another case: a bit and a byte, a milliwatt and a megawatt.
_UNIT = re.compile(
    r"(?:[kKMGTP]i?)?(?:[Bb]|bit)(?:/s|ps)?|[kKMGTPmµn]?(?:Wh?|V|A|Hz|Pa|F|H|s|g|m|l|J|N|Ω)|[kKMG]"
)


def restates(new: str, old: str) -> bool:
    """Whether both say the same words in the same order."""
    one, other = words(new), words(old)
    if not one or len(one) != len(other):
        return not one and not other and new.strip() == old.strip()
    # Capitals alone do not tell `Maße` from `Masse`, nor what a unit is.
    if new.isupper() or old.isupper():
        return [it.casefold() for it in one] == [it.casefold() for it in other]
    if [it.lower() for it in one] != [it.lower() for it in other]:
        return False
    return new.islower() or old.islower() or not _other_units(one, other)


def extends(new: str, old: str) -> bool:
    """Whether a text says the other, whole and first, and then something beside it."""
    count = len(words(old))
    ends = [it.end() for it in _TOKEN.finditer(new)]
    if not 0 < count < len(ends):
        return False
    head, rest = new[: ends[count - 1]], new[ends[count - 1] :]
    is_whole = _SENTENCE_END.search(head) or _PARAGRAPH.match(rest)
    return bool(is_whole) and restates(head, old)


def mentions(new: str, old: str) -> bool:
    """Whether every word of a text comes again in the other, in any order."""
    one, other = Counter(_caseless(new)), Counter(_caseless(old))
    return bool(other) and other <= one


def words(text: str) -> list[str]:
    """What stands between blanks, without the signs around it. Others stay: `C++` is not `C`, `<=`
    is not `>=`, `!=` is not `=`."""
    plain = _unwrapped(unicodedata.normalize("NFC", text))
    return [_bare(it) for it in _TOKEN.findall(plain.rstrip(f"{_ENDS}! "))]


def _caseless(text: str) -> list[str]:
    return [it if _UNIT.fullmatch(it) else it.lower() for it in words(text)]


def _unwrapped(text: str) -> str:
    plain = text.strip()
    close = _PAIRS.get(plain[:1])
    inner = plain[1:-1]
    is_pair = close and plain[1:].endswith(close) and plain[0] not in inner and close not in inner
    return inner.strip() if is_pair else plain


def _bare(token: str) -> str:
    end = len(token)
    while end > 1 and (token[end - 1] in _ENDS or _closes(token[:end])):
        end -= 1
    start = 1 if token[0] in _OPENING and token[1:2].isalpha() else 0
    return token[start:end]


def _closes(token: str) -> bool:
    """Whether the last sign is a mark behind a word; behind a number it may be a unit."""
    before = token.rstrip(_ENDS + _CLOSING)
    return token[-1] in _CLOSING and len(before) > 1 and before[-1].isalpha()


def _other_units(one: list[str], other: list[str]) -> bool:
    """Whether a unit of one is another unit in the other. Both have the same words but for case."""
    counted = False
    for left, right in zip(one, other, strict=True):
        count = _COUNT.match(left)
        begin = count.end() if count else 0
        units = left[begin:], right[begin:]
        if (counted or count) and units[0] != units[1] and all(map(_UNIT.fullmatch, units)):
            return True
        counted = bool(count) and not units[0]
    return False

"""Splits blocks into sentences with exact offsets. Pure, one pass, loses no character.

A full stop ends a sentence only when it is not part of a number, an abbreviation, an initial, a
label such as `Section 4.` or an address.
"""

import re
from collections.abc import Iterator

from pecia.features.ckf.heuristic.cues import german
from pecia.features.ckf.heuristic.parse.blocks import BlockShape, TextBlock
from pecia.kernel.text.span import Span


def iter_sentences(text: str, blocks: list[TextBlock]) -> Iterator[tuple[int, Span]]:
    """Every sentence with its block's index; headings, table rows and code are not split."""
    for number, block in enumerate(blocks):
        if block.shape in _WHOLE:
            yield number, block.body if block.body.size else block.span
        else:
            for it in split_sentences(text, block.body):
                yield number, it


def split_sentences(text: str, within: Span) -> Iterator[Span]:
    """Spans without outer white space that together cover all other characters of `within`."""
    start = within.start
    for mark in _END.finditer(text, within.start, within.end):
        end = mark.end()
        if end >= within.end or not _ends_sentence(text, mark, within.end):
            continue
        yield _trim(text, start, end)
        start = end
    last = _trim(text, start, within.end)
    if last.size:
        yield last


def _ends_sentence(text: str, mark: re.Match[str], limit: int) -> bool:
    if mark[1]:
        return True
    following = _NEXT.match(text, mark.end(), limit)
    if following and following[0].islower():
        return False
    if mark[0][0] != ".":
        return True
    if text[mark.start() - 1 : mark.start()] == "\\":
        # Escaped so that Markdown does not read `1\\. January` as a list.
        return False
    word = _WORD_BEFORE.search(text, max(0, mark.start() - 24), mark.start())
    if not word:
        return True
    if word[0].isdecimal() and following and _month_follows(text, mark.end()):
        return False
    return not _is_abbreviation(word[0], text, word.start())


def _month_follows(text: str, start: int) -> bool:
    """Whether a month follows, as in the German date `30. September`."""
    return text[start : start + 12].split(maxsplit=1)[0].lower() in _MONTHS


def _is_abbreviation(word: str, text: str, start: int) -> bool:
    if word.lower() in _ABBREVIATIONS or _DOTTED.fullmatch(word):
        return True
    if len(word) == 1 and word.isalpha() and (word.isupper() or _goes_on(text, start)):
        return True
    # `Section 4. Title.` is a label and its title; `It takes 4. Then go.` is two sentences.
    return word[0].isdigit() and _LABEL_BEFORE.search(text, max(0, start - 16), start) is not None


def _goes_on(text: str, start: int) -> bool:
    """Whether a spaced abbreviation goes on, as in `z. B.`, `d. h.` and `p. ej.`"""
    return _SPACED.match(text, start) is not None


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


_MONTHS = frozenset(german.MONTHS.split())
_WHOLE = {BlockShape.HEADING, BlockShape.ROW, BlockShape.CODE}
_END = re.compile(r"([。！？｡।؟۔]+[」』”’）)\"']{0,3})|[.!?…]+[\"'”’»)\]*_]{0,4}(?=\s)")
_NEXT = re.compile(r"[\s\"'“‘«(\[*_-]{0,8}([^\W\d_])")
_WORD_BEFORE = re.compile(r"[\w.&-]{1,20}$")
_DOTTED = re.compile(r"(?:[^\W\d_]\.){1,5}[^\W\d_]?")
_SPACED = re.compile(r"[a-z]\.\s[^\W\d_]{1,3}\.")
_LABEL_BEFORE = re.compile(
    r"(?:\A|[\s(])(?:section|sec|article|art|chapter|part|clause|rule|step|no|n|fig|figure|table"
    r"|appendix|se[cç][aã]o|artigo|cap[ií]tulo|passo|secci[oó]n|art[ií]culo|paso|chapitre|[ée]tape"
    r"|abschnitt|artikel|kapitel|schritt)[.ºª°]?\s{0,2}\Z",
    re.IGNORECASE,
)
_SHORT = """
mr mrs ms dr prof sr sra srta dra st vs etc e.g i.e eg ie cf al no nos fig figs eq ref refs vol pp
approx dept inc ltd co corp jr sec art arts par para ca resp u.s u.k a.m p.m p.ex ex ej pág págs núm
nº sto sta av ud uds bzw usw z.b d.h u.a ggf vgl nr abs str inkl evtl m mme mlle
"""
_ABBREVIATIONS = frozenset(_SHORT.split())

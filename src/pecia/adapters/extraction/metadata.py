"""The front and back matter of a text: who wrote it, when, under what number, citing whom. Pure.

Only what the text says in so many words is taken; a wrong author is worse than none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COVER = 1_500
_FRONT = 6_000
_BACK = 400_000
_ENTRY_LETTERS = 1_500
_ENTRIES = 2_000
_NAMES = (
    "references|bibliography|works cited|literature cited|literature|cited works|further reading"
    "|literatur|literaturverzeichnis|quellen|références|bibliographie|referencias|bibliografía"
    "|referências|bibliografia|riferimenti"
)
_HEADING = re.compile(
    rf"(?im)^[ \t]*(?:\#{{1,6}}[ \t]*)?(?:\d{{1,2}}\.?[ \t]+)?(?:{_NAMES})[ \t]*:?[ \t]*\#*[ \t]*$"
)
_NEXT = re.compile(
    r"(?im)^[ \t]*(?:#{1,6}[ \t]+\S.*|(?:appendix|appendices|annex|index|acknowledge?ments?"
    r"|about the authors?|anhang)\b.{0,80})$"
)
_MARKED = re.compile(r"(?m)^[ \t]*(?:\[\w{1,12}\]|\(?\d{1,4}[.)]|[-*•])[ \t]+")
_NUMBER = re.compile(r"^(?:\[\d{1,4}\]|\(?\d{1,4}[.)]|[-*•])\s+")
_BY = re.compile(r"(?im)^[ \t]*(?:written by|by|authors?|von|por)[ \t]*[: ][ \t]*(\S.{2,200})$")
_BETWEEN_NAMES = re.compile(r"\s*(?:[;,&]|\band\b|\bund\b|\by\b)\s*")
_NAME = re.compile(r"[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){1,4}")
_MONTHS = "january february march april may june july august september october november december"
_MONTH_BY_NAME = {it: number for number, it in enumerate(_MONTHS.split(), 1)}
_MONTH = "|".join(_MONTH_BY_NAME)
_ISO = re.compile(r"\b((?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\b")
_DAY_FIRST = re.compile(rf"(?i)\b(\d{{1,2}})(?:st|nd|rd|th)? ({_MONTH}),? ((?:19|20)\d\d)\b")
_MONTH_FIRST = re.compile(rf"(?i)\b({_MONTH})(?: (\d{{1,2}}))?,? ((?:19|20)\d\d)\b")
_DOI = re.compile(r"\b(10\.\d{4,9}/[-._;()/:A-Za-z0-9]{1,120}[A-Za-z0-9])")
_ISBN = re.compile(r"(?i)\bISBN(?:-1[03])?:?\s{0,3}((?:97[89][- ]?)?\d[\d -]{7,13}[\dX])\b")
_ARXIV = re.compile(r"(?i)\barxiv:\s?(\d{4}\.\d{4,5})")


@dataclass(frozen=True, slots=True)
class BibliographicMetadata:
    title: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    identifiers: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def extract_metadata(text: str) -> BibliographicMetadata:
    """What the first pages and the last section say."""
    front = text[:_FRONT]
    return BibliographicMetadata(
        title=_title(front),
        authors=_authors(front),
        date=_date(front[:_COVER]),
        identifiers=tuple(dict.fromkeys(_identifiers(front))),
        references=tuple(_references(text)),
    )


def _title(front: str) -> str:
    """The first line with words in it."""
    lines = (" ".join(it.split()) for it in front.split("\n"))
    return next((it for it in lines if sum(map(str.isalpha, it)) >= 3 and len(it) <= 200), "")


def _authors(front: str) -> tuple[str, ...]:
    found = _BY.search(front)
    if found is None:
        return ()
    names = [it.strip(" .*†‡0123456789") for it in _BETWEEN_NAMES.split(found[1])]
    whole = all(_NAME.fullmatch(it) and it[:1].isupper() for it in names if it)
    return tuple(filter(None, names)) if whole else ()


def _date(front: str) -> str:
    if "19" not in front and "20" not in front:
        # Looking for months takes longer than all the rest, and most texts have no year.
        return ""
    if found := _ISO.search(front):
        return found[1]
    if found := _DAY_FIRST.search(front):
        return _iso(found[3], found[2], found[1])
    if found := _MONTH_FIRST.search(front):
        return _iso(found[3], found[1], found[2])
    return ""


def _iso(year: str, month: str, day: str | None) -> str:
    start = f"{year}-{_MONTH_BY_NAME[month.lower()]:02}"
    return f"{start}-{int(day):02}" if day and 1 <= int(day) <= 31 else start


def _identifiers(front: str) -> Iterator[str]:
    lowered = front.lower()
    if "10." in front:
        yield from (f"doi:{it[1]}" for it in _DOI.finditer(front))
    if "isbn" in lowered:
        yield from (f"isbn:{re.sub('[ -]', '', it[1]).upper()}" for it in _ISBN.finditer(front))
    if "arxiv" in lowered:
        yield from (f"arxiv:{it[1]}" for it in _ARXIV.finditer(front))


def _references(text: str) -> Iterator[str]:
    """The entries of the last section with such a name, in the second half of the text."""
    back = text[max(len(text) // 2, len(text) - _BACK) :]
    headings = list(_HEADING.finditer(back))
    if not headings:
        return
    heading = headings[-1]
    after = _NEXT.search(back, heading.end())
    section = back[heading.end() : after.start() if after else len(back)].replace("\f", "")
    for number, entry in enumerate(_entries(section)):
        if number == _ENTRIES:
            return
        yield entry


def _entries(section: str) -> Iterator[str]:
    starts = [it.start() for it in _MARKED.finditer(section)]
    if len(starts) > 1:
        ends = [*starts[1:], len(section)]
        pieces = [section[start:end] for start, end in zip(starts, ends, strict=True)]
    else:
        pieces = re.split(r"\n[ \t]*\n", section)
    for piece in pieces:
        entry = _NUMBER.sub("", " ".join(piece.split()))
        if 10 <= len(entry) <= _ENTRY_LETTERS:
            yield entry

"""Files that are text already: Markdown, code, data, and whatever else people write."""

import re
from collections.abc import Mapping

from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, one_section
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.wire import About
from pecia.kernel.errors import BadArgument, Json
from pecia.kernel.text.canonical import RawUnit, UnitKind
from pecia.kernel.text.charset import DecodedText
from pecia.kernel.text.markdown.frontmatter import read_frontmatter

# Past this a line is no longer one for people, and gets broken up.
_LONG_LINE = 2_000
_TITLE_LETTERS = 300
_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_BETWEEN_VALUES = re.compile(r'("(?:[^"\\]|\\.)*+")|([,{\[])\s*')
_BETWEEN_TAGS = re.compile(r">[ \t]*<")


def read_markdown(file: InputFile, first: int, count: int) -> ReaderResult:
    """The text as it stands; what its frontmatter says becomes facts too."""
    found = file.text
    said = _read_frontmatter(found.text)
    heading = _HEADING.search(found.text)
    title = _first(said, "title", "name") or (heading[1] if heading else "")
    about = About(
        content_type="",
        extractor=OURS,
        version=our_version(),
        is_markdown=True,
        title=title[:_TITLE_LETTERS],
        authors=_every(said, "authors", "author", "by"),
        date=_first(said, "date", "published", "created"),
        language="",
        unit_count=1,
        notes=_encoding_note(found),
    )
    return ReaderResult(about, one_section(found.text))


def read_plain(file: InputFile, first: int, count: int) -> ReaderResult:
    """The text as it stands; where form feeds part it, its pages."""
    found = file.text
    return ReaderResult(_about(_encoding_note(found), _title_line(found.text)), _pages(found.text))


def read_code(file: InputFile, first: int, count: int) -> ReaderResult:
    found = file.text
    return ReaderResult(_about(_encoding_note(found)), one_section(found.text))


def read_json(file: InputFile, first: int, count: int) -> ReaderResult:
    """JSON as it stands. One endless line is broken where a value ends."""
    found = file.text
    text, notes = found.text, _encoding_note(found)
    if _has_endless_line(text):
        text = _BETWEEN_VALUES.sub(lambda it: it[1] or f"{it[2]}\n", text)
        notes = (*notes, "Its lines were too long to read, and are broken between values.")
    return ReaderResult(_about(notes), one_section(text))


def read_xml(file: InputFile, first: int, count: int) -> ReaderResult:
    """XML as it stands. It is never parsed, so no entity in it can grow."""
    found = file.text
    text, notes = found.text, _encoding_note(found)
    if _has_endless_line(text):
        text = _BETWEEN_TAGS.sub(">\n<", text)
        notes = (*notes, "Its lines were too long to read, and are broken between tags.")
    return ReaderResult(_about(notes), one_section(text))


def _pages(text: str) -> list[RawUnit]:
    pages = text.split("\f")
    # Many programs end every page with a form feed, the last one too.
    while len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    if len(pages) == 1:
        return one_section(text)
    return [RawUnit(no, UnitKind.PAGE, page) for no, page in enumerate(pages, start=1)]


def _about(notes: tuple[str, ...], title: str = "") -> About:
    return About("", OURS, our_version(), title=title, unit_count=1, notes=notes)


def _encoding_note(found: DecodedText) -> tuple[str, ...]:
    if found.encoding in ("utf-8", "utf-8-sig"):
        return ()
    return (f"Its text is in {found.encoding.replace('_', '-')}.",)


def _has_endless_line(text: str) -> bool:
    return len(text) > _LONG_LINE and max(map(len, text.splitlines())) > _LONG_LINE


def _title_line(text: str) -> str:
    """A short first line that stands apart is a title."""
    first, _, rest = text.strip()[:_TITLE_LETTERS].partition("\n")
    stands_apart = not rest or rest[:1].isspace() or set(rest.split("\n")[0].strip()) <= set("=-~*")
    return first.strip() if len(first) <= 120 and stands_apart and first[-1:] != "." else ""


def _read_frontmatter(text: str) -> Mapping[str, Json]:
    # A head that is not YAML says nothing; the file is read all the same.
    try:
        return read_frontmatter(text).values
    except BadArgument:
        return {}


def _first(said: Mapping[str, Json], *names: str) -> str:
    return next(iter(_every(said, *names)), "")


def _every(said: Mapping[str, Json], *names: str) -> tuple[str, ...]:
    for name in names:
        value = said.get(name)
        if isinstance(value, list):
            return tuple(str(it) for it in value if isinstance(it, str | int | float))
        if value not in (None, "") and not isinstance(value, dict):
            return (str(value),)
    return ()

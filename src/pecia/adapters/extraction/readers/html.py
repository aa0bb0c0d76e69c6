"""HTML pages: kreuzberg makes Markdown of the body, the head gives the facts."""

import re
from html.parser import HTMLParser

from pecia.adapters.extraction.detect.file_kind import FileKind
from pecia.adapters.extraction.readers.input_file import (
    InputFile,
    ReaderResult,
    UnreadableFile,
    one_section,
)
from pecia.adapters.extraction.readers.office import (
    replace_embedded,
    squeeze_tables,
    to_markdown,
)
from pecia.adapters.extraction.readers.version import version_of
from pecia.adapters.extraction.wire import About

_HEAD = re.compile(r"(?is)<head\b.*?</head\s*>")
_HEAD_LETTERS = 200_000
_HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
_AUTHORS = ("citation_author", "dc.creator", "author", "article:author")
_DATES = ("citation_publication_date", "article:published_time", "dc.date", "date")
_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg"})
_BREAKS = re.compile(r"p|div|br|li|tr|h[1-6]|section|article|table|[uo]l|pre")


def read_html(file: InputFile, first: int, count: int) -> ReaderResult:
    page = file.text.text
    head = _Head()
    head.feed(page[:_HEAD_LETTERS])
    text = html_text(page)
    heading = _HEADING.search(text)
    about = About(
        content_type="",
        extractor="kreuzberg",
        version=version_of("kreuzberg"),
        is_markdown=True,
        title=head.first("citation_title") or head.title or (heading[1] if heading else ""),
        authors=head.every(*_AUTHORS),
        date=head.first(*_DATES)[:10],
        unit_count=1,
    )
    return ReaderResult(about, one_section(text))


def html_text(page: str) -> str:
    """The body as Markdown; of a page too deep for that, its bare words."""
    # kreuzberg would set what the head says as a heading above the text.
    body = _HEAD.sub("", page, count=1)
    try:
        found = to_markdown(body.encode("utf-8", "replace"), "text/html", FileKind.HTML)
        text = squeeze_tables(replace_embedded(found.content))
    except UnreadableFile:
        text = ""
    return text if text.strip() else _bare(body)


def _bare(page: str) -> str:
    words = _TextCollector()
    words.feed(page)
    words.close()
    lines = (" ".join(it.split()) for it in "".join(words.pieces).split("\n"))
    return "\n".join(filter(None, lines))


class _Head(HTMLParser):
    """The title, and what the page's metadata says under each name."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self._in_title = False
        self._said: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and not self.title
        if tag == "meta":
            found = dict(attrs)
            name = found.get("name") or found.get("property") or ""
            content = " ".join((found.get("content") or "").split())[:300]
            if name and content:
                self._said.setdefault(name.lower(), []).append(content)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join(data.split())[:300]

    def every(self, *names: str) -> tuple[str, ...]:
        return next((tuple(self._said[it]) for it in names if it in self._said), ())

    def first(self, *names: str) -> str:
        return next(iter(self.every(*names)), "")


class _TextCollector(HTMLParser):
    """All words that a reader would see. It keeps no tree, so no depth can hurt it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _UNSEEN
        if _BREAKS.fullmatch(tag):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._unseen = max(0, self._unseen - (tag in _UNSEEN))

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data)

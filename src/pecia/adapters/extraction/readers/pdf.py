"""PDFs, page by page: pypdfium2 for all of them, pypdf for the pages it spells letter by letter.

The reading order of columns (two, three or more) is the order in which the file draws them, as
pdfium gives it: column by column in most files. Nothing here detects columns or reorders them.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, TypeAlias

import pypdfium2

from pecia.adapters.extraction.media.ocr import WITHOUT_OCR, find_ocr
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, UnreadableFile
from pecia.adapters.extraction.readers.pdf_headings import find_headings
from pecia.adapters.extraction.readers.version import version_of
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About, OutlineHeading
from pecia.kernel.text.canonical import RawUnit, UnitKind

# pypdfium2 comes without types.
Document: TypeAlias = Any
pdfium_c: Any = import_module("pypdfium2.raw")

_OUTLINE_ENTRIES = 5_000
_OUTLINE_DEPTH = 8
_COPYING = 1 << 4
_SCANNED_LETTERS = 20
_SCAN_SCALE = 150 / 72
_SCAN_POINTS = 2_000
_SPACED_SHARE = 0.35
_SPACED_WORDS = 40
_SPELLED_LETTERS = 4
# Pdfium marks a hyphen at the end of a line with a character that is none.
_BROKEN_WORD = re.compile("[\ufffe\x02]\r?\n?")
_MADE_BY = re.compile(
    r"(?i)^microsoft (?:word|powerpoint|excel) - |^untitled|\.(?:docx?|pptx?|xlsx?|indd|dvi)$"
)


def read_pdf(file: InputFile, first: int, count: int) -> ReaderResult:
    document = _open(file)
    total = len(document)
    has_outline = bool(pdfium_c.FPDFBookmark_GetFirstChild(document, None))
    about = _about(document, total)
    if first == 1 and has_outline:
        # Finding the page of an entry is slow, and once a document is enough.
        about = replace(about, outline=tuple(_outline(document)))
    reading = ReaderResult(about, ())
    pages = _Pages(document, file, reading, wants_headings=not has_outline)
    return reading.with_units(pages.read(range(first, min(first + count, total + 1))))


def _open(file: InputFile) -> Document:
    try:
        return pypdfium2.PdfDocument(file.buffer())
    except pypdfium2.PdfiumError as error:
        code = _code(error)
        if code == pdfium_c.FPDF_ERR_PASSWORD:
            raise UnreadableFile(
                ExtractionStatus.ENCRYPTED, "It is a PDF with a password."
            ) from error
        if code == pdfium_c.FPDF_ERR_SECURITY:
            raise UnreadableFile(
                ExtractionStatus.ENCRYPTED, "It is a PDF encrypted in a way that is not known."
            ) from error
        raise UnreadableFile(
            ExtractionStatus.CORRUPT, "It is a PDF that is damaged or cut off."
        ) from error


def _code(error: Any) -> int:
    return error.err_code


def _about(document: Document, total: int) -> About:
    metadata: dict[str, str] = document.get_metadata_dict()
    title = metadata.get("Title", "").strip()
    return About(
        content_type="",
        extractor="pypdfium2",
        version=version_of("pypdfium2"),
        title="" if _MADE_BY.search(title) else title,
        authors=_authors(metadata.get("Author", "")),
        date=_date(metadata.get("CreationDate", "")),
        unit_count=total,
        has_ranges=True,
        notes=_restrictions(document),
        when_empty="It is a PDF without text.",
    )


def _authors(text: str) -> tuple[str, ...]:
    return tuple(it.strip() for it in re.split(r";|,(?=\s+\S+\s)| and ", text) if it.strip())


def _date(text: str) -> str:
    found = re.match(r"D?:?(\d{4})(\d\d)?(\d\d)?", text)
    return "-".join(it for it in found.groups() if it) if found else ""


def _restrictions(document: Document) -> tuple[str, ...]:
    permissions: int = pdfium_c.FPDF_GetDocPermissions(document) & 0xFFFFFFFF
    return () if permissions & _COPYING else ("Its owner forbids copying from it.",)


def _outline(document: Document) -> Iterator[OutlineHeading]:
    for number, entry in enumerate(document.get_toc(max_depth=_OUTLINE_DEPTH)):
        if number >= _OUTLINE_ENTRIES:
            return
        target = entry.get_dest()
        page = target.get_index() if target is not None else None
        title = " ".join(entry.get_title().split())
        if title and page is not None:
            yield OutlineHeading(title, entry.level + 1, page + 1)


@dataclass(slots=True)
class _Page:
    text: str
    large: list[tuple[str, int]]
    picture: bytes = b""
    is_picture: bool = False


class _Pages:
    """The pages of one range. What is noticed on the way goes to the reading."""

    def __init__(
        self, document: Document, file: InputFile, reading: ReaderResult, *, wants_headings: bool
    ) -> None:
        self._document = document
        self._reading = reading
        self._wants_headings = wants_headings
        self._fallback = _Fallback(file)
        self._ocr = find_ocr()

    def read(self, numbers: range) -> Iterator[RawUnit]:
        unread: list[int] = []
        for number in numbers:
            page = self._page(number)
            text = page.text
            if _is_spaced(text):
                text = self._fallback.page(number, text)
            if page.picture and self._ocr is not None:
                text = self._ocr.read(page.picture)
            elif page.is_picture:
                unread.append(number)
            self._reading.headings.extend(
                OutlineHeading(it, level, number) for it, level in page.large
            )
            yield RawUnit(number, UnitKind.PAGE, text, self._label(number))
        if unread:
            self._reading.notes.append(_without_text(unread))

    def _page(self, number: int) -> _Page:
        try:
            page = self._document[number - 1]
        except pypdfium2.PdfiumError:
            # One bad page among good ones reads as an empty one.
            self._reading.notes.append(f"Page {number} is damaged.")
            return _Page("", [])
        textpage = page.get_textpage()
        try:
            text = textpage.get_text_range()
            large = find_headings(textpage, text) if self._wants_headings else []
            read = _Page(_BROKEN_WORD.sub("", text), large)
            if len(text.strip()) < _SCANNED_LETTERS and _has_picture(page):
                read.is_picture = True
                read.picture = _render(page) if self._ocr is not None else b""
            return read
        finally:
            textpage.close()
            page.close()

    def _label(self, number: int) -> str:
        """The number printed on the page, where the document says it is another than its place."""
        with suppress(pypdfium2.PdfiumError, UnicodeError):
            label = self._document.get_page_label(number - 1)
            return label if label != str(number) else ""
        return ""


def _has_picture(page: Any) -> bool:
    kinds = [pdfium_c.FPDF_PAGEOBJ_IMAGE]
    return next(iter(page.get_objects(filter=kinds, max_depth=3)), None) is not None


def _render(page: Any) -> bytes:
    """The page as a picture, at a size that an engine reads well and memory bears."""
    scale = min(_SCAN_SCALE, _SCAN_POINTS / max(*page.get_size(), 1))
    return bitmap_file(page.render(scale=scale, grayscale=True))


def bitmap_file(bitmap: Any) -> bytes:
    """The bitmap as a file of the simplest kind there is, which every engine takes."""
    rows = bytes(bitmap.buffer)
    width, stride = bitmap.width, bitmap.stride
    lines = b"".join(rows[at : at + width] for at in range(0, stride * bitmap.height, stride))
    return b"P5 %d %d 255\n%s" % (width, bitmap.height, lines)


def _is_spaced(text: str) -> bool:
    """Whether much of it is words spelled out; lone letters in code and formulas are not."""
    words = text.split()
    if len(words) < _SPACED_WORDS:
        return False
    # A dot for a lone letter, a blank for any other word.
    shape = "".join("." if len(it) == 1 and it.isalpha() else " " for it in words)
    spelled = sum(len(it) for it in shape.split() if len(it) >= _SPELLED_LETTERS)
    return spelled > _SPACED_SHARE * len(words)


def _without_text(pages: list[int]) -> str:
    shown = ", ".join(map(str, pages[:10])) + (" and more" if len(pages) > 10 else "")
    return f"A picture without a text layer: page {shown}. {WITHOUT_OCR}"


class _Fallback:
    """pypdf, opened when a page first needs it."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._reader: Any = None

    def page(self, number: int, spaced: str) -> str:
        import pypdf

        if self._reader is None:
            self._reader = pypdf.PdfReader(self._file.stream())
        text: str = self._reader.pages[number - 1].extract_text()
        return spaced if _is_spaced(text) or not text.strip() else text

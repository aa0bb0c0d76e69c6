"""Presentations, PowerPoint and OpenDocument: one unit a slide, its title a heading. Own reader.
The pages of an OpenDocument drawing are read the same way.

kreuzberg reads no OpenDocument slides, and does not tell where a PowerPoint slide ends.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pecia.adapters.extraction.detect.zip_bomb import check_zip
from pecia.adapters.extraction.readers.csv_table import markdown_table
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
# What programs call a page that nobody named.
_PAGE_NAME = re.compile(r"(?:page|Seite|Slide)\s?\d+", re.IGNORECASE)
_TITLES = ("title", "ctrTitle")


def read_pptx(file: InputFile, first: int, count: int) -> ReaderResult:
    check_zip(file)
    with file.stream() as stream, zipfile.ZipFile(stream) as package:
        names = _slide_names(package)
        slides = [_pptx_slide(package, name) for name in names]
        core = _tree(package, "docProps/core.xml")
    return _make_result(slides, core)


def read_odp(file: InputFile, first: int, count: int) -> ReaderResult:
    check_zip(file)
    with file.stream() as stream, zipfile.ZipFile(stream) as package:
        content = ElementTree.fromstring(package.read("content.xml"))
        core = _tree(package, "meta.xml")
    return _make_result([_odp_slide(it) for it in _all(content, "page")], core)


def read_odg(file: InputFile, first: int, count: int) -> ReaderResult:
    found = read_odp(file, first, count)
    about = replace(found.about, when_empty="There is no text in this drawing.")
    title = about.title if not _PAGE_NAME.fullmatch(about.title) else ""
    pages = [replace(it, kind=UnitKind.PAGE) for it in found.units]
    return ReaderResult(replace(about, title=title), pages)


def _make_result(slides: list[tuple[str, str]], core: Element | None) -> ReaderResult:
    units = [
        RawUnit(number, UnitKind.SLIDE, text, title)
        for number, (title, text) in enumerate(slides, 1)
    ]
    opening = slides[0][0] if slides else ""
    author = _core_property(core, "creator") or _core_property(core, "initial-creator")
    about = About(
        "",
        OURS,
        our_version(),
        is_markdown=True,
        title=_core_property(core, "title") or opening,
        authors=(author,) if author else (),
        date=(_core_property(core, "created") or _core_property(core, "creation-date"))[:10],
        unit_count=len(units),
        when_empty="There is no text on its slides.",
    )
    return ReaderResult(about, units)


def _slide_names(package: zipfile.ZipFile) -> list[str]:
    """The slides in the order of the show."""
    show = _tree(package, "ppt/presentation.xml")
    links = _tree(package, "ppt/_rels/presentation.xml.rels")
    if show is None or links is None:
        found = [it for it in package.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", it)]
        return sorted(found, key=lambda it: int(re.sub(r"\D", "", it)))
    targets = {it.get("Id"): it.get("Target", "") for it in links}
    ids = [it.get(_RELATION_ID) for it in _all(show, "sldId")]
    return [_absolute(targets[it]) for it in ids if it in targets]


def _absolute(target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"ppt/{target}")


def _pptx_slide(package: zipfile.ZipFile, name: str) -> tuple[str, str]:
    slide = _tree(package, name)
    if slide is None:
        return "", ""
    title = ""
    blocks: list[str] = []
    for shape in _shapes(slide):
        words = _pptx_words(shape)
        if not title and any(it.get("type") in _TITLES for it in _all(shape, "ph")):
            title = " ".join(words.split())
        elif words:
            blocks.append(words)
    notes = _notes(package, name)
    return title, _slide_text(title, blocks, notes)


def _shapes(slide: Element) -> Iterator[Element]:
    for it in slide.iter():
        if _local(it) in ("sp", "graphicFrame"):
            yield it


def _pptx_words(shape: Element) -> str:
    tables = list(_all(shape, "tbl"))
    if tables:
        return "\n\n".join("\n".join(markdown_table(_rows(it, "tr", "tc"))) for it in tables)
    return "\n".join(filter(None, (_run(it) for it in _all(shape, "p"))))


def _notes(package: zipfile.ZipFile, slide: str) -> str:
    folder, name = posixpath.split(slide)
    links = _tree(package, f"{folder}/_rels/{name}.rels")
    for link in links if links is not None else ():
        if link.get("Type", "").endswith("/notesSlide"):
            target = posixpath.normpath(posixpath.join(folder, link.get("Target", "")))
            page = _tree(package, target)
            if page is not None:
                shapes = [it for it in _shapes(page) if _is_body(it)]
                return "\n".join(filter(None, map(_pptx_words, shapes)))
    return ""


def _is_body(shape: Element) -> bool:
    return any(it.get("type") == "body" for it in _all(shape, "ph"))


def _odp_slide(page: Element) -> tuple[str, str]:
    title = ""
    blocks: list[str] = []
    notes = ""
    for part in page:
        if _local(part) == "notes":
            notes = _odp_words(part)
        elif not title and _attribute(part, "class") == "title":
            title = " ".join(_odp_words(part).split())
        elif words := _odp_words(part):
            blocks.append(words)
    return title or _attribute(page, "name"), _slide_text(title, blocks, notes)


def _odp_words(part: Element) -> str:
    tables = list(_all(part, "table"))
    if tables:
        rows = (_rows(it, "table-row", "table-cell") for it in tables)
        return "\n\n".join("\n".join(markdown_table(it)) for it in rows)
    return "\n".join(filter(None, (_run(it) for it in part.iter() if _local(it) in ("p", "h"))))


def _slide_text(title: str, blocks: list[str], notes: str) -> str:
    heading = [f"## {title}"] if title else []
    return "\n\n".join([*heading, *blocks, *([f"Notes: {notes}"] if notes else [])])


def _rows(table: Element, row: str, cell: str) -> list[list[str]]:
    return [[_run(it) for it in _all(line, cell)] for line in _all(table, row)]


def _run(part: Element) -> str:
    """All the words below, where a break or a tab is white space."""
    pieces: list[str] = []
    for it in part.iter():
        if _local(it) in ("br", "tab", "s", "line-break"):
            pieces.append(" ")
        pieces.append(it.text or "")
        if it is not part:
            pieces.append(it.tail or "")
    return " ".join("".join(pieces).split())


def _all(tree: Element, name: str) -> Iterator[Element]:
    return (it for it in tree.iter() if _local(it) == name)


def _local(part: Element) -> str:
    return part.tag.rpartition("}")[2]


def _attribute(part: Element, name: str) -> str:
    return next((value for key, value in part.items() if key.rpartition("}")[2] == name), "")


def _core_property(core: Element | None, name: str) -> str:
    found = next(_all(core, name), None) if core is not None else None
    return " ".join((found.text or "").split()) if found is not None else ""


def _tree(package: zipfile.ZipFile, name: str) -> Element | None:
    return ElementTree.fromstring(package.read(name)) if name in package.namelist() else None

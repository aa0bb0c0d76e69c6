"""Plain pages as a layer: folders that were never written as OKF. Nothing is written to them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from anyio.to_thread import run_sync

from pecia.kernel.text.sections import read_outline
from pecia.rooms.cascade.identity import composed, is_id
from pecia.rooms.cascade.layers.folder import SKIPPED, contents
from pecia.rooms.cascade.layers.reading import RawFile, Reading, Report, fault_of, quiet
from pecia.rooms.cascade.manifest import LayerSpec
from pecia.rooms.cascade.model import Document, Problem
from pecia.rooms.cascade.okf.document import (
    DOCUMENT_TYPE,
    Unreadable,
    decode_leniently,
    read_document,
)

PREFERRED = (".md", ".mdx", ".txt")
"""Of several files with one stem, the first of these is the page."""


class FilesLayer:
    """Every page beneath a folder. Here index and log are pages like others."""

    def __init__(self, spec: LayerSpec) -> None:
        assert spec.path is not None
        self.spec = spec
        self.root: Path = spec.path

    async def read(self, report: Report = quiet) -> Reading:
        return await run_sync(self._read, report)

    def _read(self, report: Report) -> Reading:
        if not self.root.is_dir():
            return Reading(degraded="the folder is not there")
        documents: dict[str, Document] = {}
        problems: list[Problem] = []
        for path in sorted(self._pages(), key=_preference):
            concept = composed(str(PurePosixPath(path).with_suffix("")))
            if concept in documents:
                continue
            try:
                body = contents(f"{self.root}/{path}")
                found = plain_document(concept, RawFile(path, body))
                documents[concept] = found
                if found.fault:
                    problems.append(fault_of(self.spec.name, found))
            except (OSError, Unreadable) as error:
                code = error.code if isinstance(error, Unreadable) else "unreadable"
                problems.append(Problem(self.spec.name, path, code, str(error), concept))
        report(len(documents), len(documents))
        return Reading(documents, tuple(problems))

    def _pages(self) -> Iterator[str]:
        for place in self.root.rglob("*"):
            path = place.relative_to(self.root).as_posix()
            hidden = any(it.startswith(".") or it in SKIPPED for it in path.split("/"))
            is_page = place.suffix.lower() in PREFERRED and is_id(path)
            if not hidden and is_page and place.is_file() and not _has_link(place, self.root):
                yield path


def plain_document(concept: str, file: RawFile) -> Document:
    """A page as a concept: its own frontmatter if it has any, else what can be told of it."""
    text, fault = decode_leniently(file.body)
    document = read_document(concept, file.path, text, file.git_day)
    if fault:
        document = replace(document, fault=fault)
    if document.frontmatter != {"type": DOCUMENT_TYPE}:
        return document
    sections = read_outline(text).sections
    titles = (it.heading.plain for it in sections if it.heading and it.heading.level == 1)
    title = next(titles, concept.rpartition("/")[2])
    return replace(document, frontmatter={"type": DOCUMENT_TYPE, "title": title}, is_plain=True)


def _preference(path: str) -> tuple[str, int]:
    pure = PurePosixPath(path)
    return str(pure.with_suffix("")), PREFERRED.index(pure.suffix.lower())


def _has_link(place: Path, root: Path) -> bool:
    return place.is_symlink() or not place.resolve().is_relative_to(root)

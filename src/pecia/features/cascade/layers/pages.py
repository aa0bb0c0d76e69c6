"""A folder of plain pages, not written as OKF, as a layer. Read-only."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from anyio.to_thread import run_sync

from pecia.features.cascade.core.concept_id import is_id, normalize_nfc
from pecia.features.cascade.layers.folder import SKIPPED_FOLDERS, read_bounded
from pecia.features.cascade.layers.layer import (
    LayerContent,
    LayerFile,
    ReportProgress,
    fault_problem,
    no_progress,
)
from pecia.features.cascade.manifest import LayerSpec
from pecia.features.cascade.model import ConceptDocument, LayerProblem
from pecia.features.cascade.okf.document import (
    DOCUMENT_TYPE,
    UnreadableDocument,
    decode_leniently,
    parse_document,
)
from pecia.kernel.text.markdown.sections import read_outline

PREFERRED_EXTENSIONS = (".md", ".mdx", ".txt")
"""Of several files with one stem, the first of these is the page."""


class PagesLayer:
    """Every page below a folder. Index and log are ordinary pages here."""

    def __init__(self, spec: LayerSpec) -> None:
        assert spec.path is not None
        self.spec = spec
        self.root: Path = spec.path

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        return await run_sync(self._read, report)

    def _read(self, report: ReportProgress) -> LayerContent:
        if not self.root.is_dir():
            return LayerContent(degraded="the folder does not exist")
        documents: dict[str, ConceptDocument] = {}
        problems: list[LayerProblem] = []
        for path in sorted(self._pages(), key=_preference):
            concept = normalize_nfc(str(PurePosixPath(path).with_suffix("")))
            if concept in documents:
                continue
            try:
                body = read_bounded(f"{self.root}/{path}")
                found = parse_page(concept, LayerFile(path, body))
                documents[concept] = found
                if found.fault:
                    problems.append(fault_problem(self.spec.name, found))
            except (OSError, UnreadableDocument) as error:
                code = error.code if isinstance(error, UnreadableDocument) else "unreadable"
                problems.append(LayerProblem(self.spec.name, path, code, str(error), concept))
        report(len(documents), len(documents))
        return LayerContent(documents, tuple(problems))

    def _pages(self) -> Iterator[str]:
        for place in self.root.rglob("*"):
            path = place.relative_to(self.root).as_posix()
            hidden = any(it.startswith(".") or it in SKIPPED_FOLDERS for it in path.split("/"))
            is_page = place.suffix.lower() in PREFERRED_EXTENSIONS and is_id(path)
            if not hidden and is_page and place.is_file() and not _has_link(place, self.root):
                yield path


def parse_page(concept: str, file: LayerFile) -> ConceptDocument:
    """A page as a concept: its own frontmatter if any, else derived metadata."""
    text, fault = decode_leniently(file.body)
    document = parse_document(concept, file.path, text, file.git_day)
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
    return str(pure.with_suffix("")), PREFERRED_EXTENSIONS.index(pure.suffix.lower())


def _has_link(place: Path, root: Path) -> bool:
    return place.is_symlink() or not place.resolve().is_relative_to(root)

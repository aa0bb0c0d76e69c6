"""A bundle of OKF files in memory, read once for all rules. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pecia.features.cascade.core.concept_id import id_of_path, is_reserved
from pecia.features.cascade.core.links import ConceptGraph
from pecia.features.cascade.okf.document import OkfDocument, UnreadableDocument, decode, parse_okf
from pecia.kernel.text.links.name_index import NameIndex
from pecia.kernel.text.span import find_position

GUIDE_FILES = frozenset({"AGENTS.md", "README.md", "CLAUDE.md"})
"""Files for people and tools that need no frontmatter."""


@dataclass(frozen=True, slots=True)
class BundlePage:
    """One file: its text and parts, or why it could not be parsed."""

    path: str
    text: str = ""
    okf: OkfDocument | None = None
    failure: UnreadableDocument | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def line_of(self, offset: int) -> int:
        return find_position(self.text, offset).line


@dataclass(frozen=True, slots=True)
class OkfBundle:
    """Every `.md` file of a bundle by its path, and the time for staleness checks."""

    pages: Mapping[str, BundlePage]
    now: datetime

    @property
    def concepts(self) -> list[BundlePage]:
        return [it for path, it in self.pages.items() if not is_reserved(path)]

    def graph(self) -> ConceptGraph:
        names = NameIndex.of(id_of_path(it.path) for it in self.concepts)
        return ConceptGraph(names, frozenset(), lambda concept: [concept])


def parse_bundle(files: Mapping[str, bytes], now: datetime) -> OkfBundle:
    """Parse a bundle."""
    return OkfBundle({path: parse_page(path, files[path]) for path in sorted(files)}, now)


def parse_page(path: str, body: bytes) -> BundlePage:
    try:
        text = decode(body)
    except UnreadableDocument as failure:
        return BundlePage(path, failure=failure)
    try:
        return BundlePage(path, text, parse_okf(text))
    except UnreadableDocument as failure:
        return BundlePage(path, text, failure=failure)

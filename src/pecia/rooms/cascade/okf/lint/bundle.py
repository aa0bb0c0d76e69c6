"""A bundle of OKF files in memory, read once for all rules. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pecia.kernel.text.names import Names
from pecia.kernel.text.span import position
from pecia.rooms.cascade.identity import id_of_path, is_reserved
from pecia.rooms.cascade.links import Graph
from pecia.rooms.cascade.okf.document import Okf, Unreadable, decode, read_okf

GUIDES = frozenset({"AGENTS.md", "README.md", "CLAUDE.md"})
"""Pages for people and their tools that bundles carry without frontmatter."""


@dataclass(frozen=True, slots=True)
class Page:
    """One file: its text and parts, or why there are none."""

    path: str
    text: str = ""
    okf: Okf | None = None
    failure: Unreadable | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def line_of(self, offset: int) -> int:
        return position(self.text, offset).line


@dataclass(frozen=True, slots=True)
class Bundle:
    """Every `.md` file of a bundle by its path, and the moment by which staleness is judged."""

    pages: Mapping[str, Page]
    now: datetime

    @property
    def concepts(self) -> list[Page]:
        return [it for path, it in self.pages.items() if not is_reserved(path)]

    def graph(self) -> Graph:
        names = Names.of(id_of_path(it.path) for it in self.concepts)
        return Graph(names, frozenset(), lambda concept: [concept])


def read_bundle(files: Mapping[str, bytes], now: datetime) -> Bundle:
    """The bundle that these files are."""
    return Bundle({path: read_page(path, files[path]) for path in sorted(files)}, now)


def read_page(path: str, body: bytes) -> Page:
    try:
        text = decode(body)
    except Unreadable as failure:
        return Page(path, failure=failure)
    try:
        return Page(path, text, read_okf(text))
    except Unreadable as failure:
        return Page(path, text, failure=failure)

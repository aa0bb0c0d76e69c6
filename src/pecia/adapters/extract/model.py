"""What comes out of a file, and what may be spent on it. No behaviour."""

from dataclasses import dataclass, field

from pecia.adapters.extract.status import Status
from pecia.kernel.text.canonical import Unit
from pecia.kernel.text.chunk import Markup, OutlineEntry

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may cost. The times and the memory are those of one child at one range of units.

    A document that is read page by page gets `cpu_s` and `wall_s` anew for every `units_at_once`
    pages, and `file_s` for the whole.
    """

    children: int = 2
    file_bytes: int = 512 * MB
    text_letters: int = 50_000_000
    memory_bytes: int = 1_500 * MB
    cpu_s: int = 30
    wall_s: float = 60.0
    file_s: float = 900.0
    start_s: float = 30.0
    units_at_once: int = 250
    lost_units: int = 5
    uses: int = 1_000
    grown_bytes: int = 500 * MB


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file says about itself, and what we noticed while reading it."""

    content_type: str = "application/octet-stream"
    markup: Markup = Markup.PLAIN
    language: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    identifiers: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    outline: tuple[OutlineEntry, ...] = ()
    unit_count: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extracted:
    """The canonical text of a file. `reason` is a sentence for people; it is never empty.

    `version` changes when the same bytes may give another text.
    """

    text: str
    units: tuple[Unit, ...]
    title: str
    facts: Facts = field(repr=False)
    status: Status
    reason: str
    extractor: str
    version: str
    sha256: str

"""What comes out of a file, and what may be spent on it. No behaviour."""

from dataclasses import dataclass, field

from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.canonical import Unit
from pecia.kernel.text.chunks.chunk import OutlineEntry, TextMarkup

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class ExtractionLimits:
    """What a file may cost. The times and the memory are those of one child at one range of units.

    A document that is read page by page gets `cpu_s` and `wall_s` anew for every `units_at_once`
    pages, and `file_s` for the whole. A child without a file for `idle_s` ends. A file that waits
    for longer than `patience_s` gets another child, while there are fewer than `children`.
    """

    children: int = 2
    file_bytes: int = 512 * MB
    text_chars: int = 50_000_000
    memory_bytes: int = 1_500 * MB
    cpu_s: int = 30
    wall_s: float = 60.0
    file_s: float = 900.0
    start_s: float = 30.0
    idle_s: float = 300.0
    patience_s: float = 1.0
    units_at_once: int = 250
    lost_units: int = 5
    max_uses: int = 1_000
    max_growth_bytes: int = 500 * MB


@dataclass(frozen=True, slots=True)
class ExtractedFacts:
    """What a file says about itself, and what we noticed while reading it."""

    content_type: str = "application/octet-stream"
    markup: TextMarkup = TextMarkup.PLAIN
    language: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    identifiers: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    outline: tuple[OutlineEntry, ...] = ()
    unit_count: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """The canonical text of a file. `reason` is a sentence for people; it is never empty.

    `version` changes when the same bytes may give another text.
    """

    text: str
    units: tuple[Unit, ...]
    title: str
    facts: ExtractedFacts = field(repr=False)
    status: ExtractionStatus
    reason: str
    extractor: str
    version: str
    sha256: str

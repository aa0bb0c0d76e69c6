"""Assembles what child processes read of one file into its canonical text. Pure."""

from dataclasses import dataclass, field

from pecia.adapters.extraction.metadata import BibliographicMetadata, extract_metadata
from pecia.adapters.extraction.model import ExtractedDocument, ExtractedFacts
from pecia.adapters.extraction.outline import locate_outline
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About, Ending, OutlineHeading, OutputLimitExceeded
from pecia.kernel.text.canonical import CanonicalText, RawUnit, build_canonical_text
from pecia.kernel.text.chunks.chunk import TextMarkup

_ROW_LETTERS = 50
_MAX_NOTES_IN_REASON = 5
_UNKNOWN = About("application/octet-stream", "pecia", "1")


@dataclass(slots=True)
class ExtractionBuilder:
    """Filled while the file is read; later ranges of a document add to it."""

    about: About | None = None
    units: list[RawUnit] = field(default_factory=list[RawUnit])
    skipped: dict[int, str] = field(default_factory=dict[int, str])
    notes: list[str] = field(default_factory=list[str])
    headings: list[OutlineHeading] = field(default_factory=list[OutlineHeading])
    language: str = ""
    chars_left: int = 0
    stuck_at: int = 0

    @property
    def next_no(self) -> int:
        """The first unit that has neither been read nor given up."""
        read = self.units[-1].no if self.units else 0
        return max([read, *self.skipped]) + 1

    @property
    def is_whole(self) -> bool:
        about = self.about
        return about is None or not about.has_ranges or self.next_no > about.unit_count

    def add(self, message: About | RawUnit) -> None:
        if isinstance(message, About):
            self.about = self.about or message
        else:
            # The row of the table costs memory too.
            self.chars_left -= len(message.text) + _ROW_LETTERS
            if self.chars_left < 0:
                raise OutputLimitExceeded
            self.units.append(message)

    def close_range(self, ending: Ending) -> None:
        self.language = self.language or ending.language
        self.notes += ending.notes
        self.headings += ending.headings

    def skip_next(self, ending: Ending) -> None:
        """Count a reading without units. A unit is skipped after its second crash."""
        number = self.next_no
        if ending.status is ExtractionStatus.CRASHED and self.stuck_at != number:
            self.stuck_at = number
        else:
            self.skipped[number] = ending.reason.rstrip(".")


def assemble(gathering: ExtractionBuilder, ending: Ending) -> ExtractedDocument:
    about = gathering.about or _UNKNOWN
    whole = build_canonical_text(gathering.units)
    status, reason = _outcome(gathering, ending, whole)
    matter = extract_metadata(whole.text)
    return ExtractedDocument(
        text=whole.text,
        units=whole.units,
        title=about.title or (_large_title(gathering) or matter.title if _is_paged(about) else ""),
        facts=_facts(gathering, about, matter, whole),
        status=status,
        reason=reason,
        extractor=about.extractor,
        version=about.version,
        sha256=whole.sha256,
    )


def _facts(
    gathering: ExtractionBuilder, about: About, matter: BibliographicMetadata, whole: CanonicalText
) -> ExtractedFacts:
    return ExtractedFacts(
        content_type=about.content_type,
        markup=TextMarkup.MARKDOWN if about.is_markdown else TextMarkup.PLAIN,
        language=gathering.language,
        authors=about.authors or matter.authors,
        # A PDF says when it was made, not when it was written.
        date=(matter.date if _is_paged(about) else "") or about.date or matter.date,
        identifiers=matter.identifiers,
        references=matter.references,
        outline=locate_outline(whole, about.outline or gathering.headings),
        unit_count=max(about.unit_count, len(whole.units)),
        notes=_collect_notes(gathering),
    )


def _is_paged(about: About) -> bool:
    """Whether it is made for print: its title and date stand on the first page."""
    return about.has_ranges and not about.is_markdown


def _collect_notes(gathering: ExtractionBuilder) -> tuple[str, ...]:
    return (*(gathering.about or _UNKNOWN).notes, *gathering.notes)


def _large_title(gathering: ExtractionBuilder) -> str:
    """The largest line of the first page; of several alike, the first."""
    found = [it for it in gathering.headings if it.unit_no == 1]
    return min(found, key=lambda it: it.level).title if found else ""


def _outcome(
    gathering: ExtractionBuilder, ending: Ending, whole: CanonicalText
) -> tuple[ExtractionStatus, str]:
    if ending.status is not ExtractionStatus.OK:
        kept = len(gathering.units)
        if not kept or not gathering.about or not gathering.about.has_ranges:
            return ending.status, ending.reason
        total, unit = gathering.about.unit_count, _unit_name(gathering)
        return ending.status, f"{ending.reason} The first {kept:,} of {total:,} {unit}s are kept."
    if not whole.text.strip():
        why = gathering.about.when_empty if gathering.about else ending.reason
        return ExtractionStatus.EMPTY, " ".join([why, *gathering.notes])
    if gathering.skipped:
        unit = _unit_name(gathering)
        why = [f"{unit} {number} ({reason})" for number, reason in gathering.skipped.items()]
        return ExtractionStatus.OK, f"It was read, but for {', '.join(why)}."
    return ExtractionStatus.OK, " ".join([ending.reason, *_first(_collect_notes(gathering))])


def _unit_name(gathering: ExtractionBuilder) -> str:
    return "page" if gathering.about and _is_paged(gathering.about) else "message"


def _first(notes: tuple[str, ...]) -> list[str]:
    """A book may have a thousand damaged pages: the facts hold every note, a reason some."""
    more = len(notes) - _MAX_NOTES_IN_REASON
    return [
        *notes[:_MAX_NOTES_IN_REASON],
        *([f"There are {more:,} more notes."] if more > 0 else []),
    ]

"""What an import does with one item: create, update, or leave what somebody edited. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from pecia.features.wiki.transfer.origin_record import ImportedFile, file_digest


class ImportOutcome(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """The space has another state of it, which stays."""
    DROPPED = "dropped"
    """It is not in the space."""
    PARTIAL = "partial"
    """A part of a file; more are to come."""


@dataclass(frozen=True, slots=True)
class ImportDecision:
    """`replaces` is the file that goes away, where the item has another name now."""

    outcome: ImportOutcome
    reason: str = ""
    replaces: str | None = None

    @property
    def writes(self) -> bool:
        return self.outcome in (ImportOutcome.CREATED, ImportOutcome.UPDATED)


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The item's file as it is now, and the one it was written to before, if that is another."""

    current: bytes | None
    former: bytes | None = None


NAME_TAKEN = "another file has this name: rename it, or import into a folder of its own"
GONE = "it was deleted or renamed here since it was imported"
EDITED = "it was edited here since it was imported, and changed in the source too"
EDITED_AND_RENAMED = "it was edited here since it was imported, and renamed in the source"


def decide(path: str, body: bytes, known: ImportedFile | None, found: FoundFiles) -> ImportDecision:
    """What to do with an item that shall be the file `path` with this content."""
    if known is None:
        return _decide_new(body, found.current)
    if known.path != path:
        return _decide_renamed(known, found)
    if found.current is None:
        return ImportDecision(ImportOutcome.KEPT, GONE)
    if found.current == body:
        return ImportDecision(ImportOutcome.UNCHANGED)
    if file_digest(found.current) == known.digest:
        return ImportDecision(ImportOutcome.UPDATED)
    if file_digest(body) == known.digest:
        # The source says what it said before: there is nothing to be told.
        return ImportDecision(ImportOutcome.UNCHANGED)
    return ImportDecision(ImportOutcome.KEPT, EDITED)


def _decide_new(body: bytes, current: bytes | None) -> ImportDecision:
    if current is None:
        return ImportDecision(ImportOutcome.CREATED)
    if current == body:
        return ImportDecision(ImportOutcome.UNCHANGED)
    return ImportDecision(ImportOutcome.DROPPED, NAME_TAKEN)


def _decide_renamed(known: ImportedFile, found: FoundFiles) -> ImportDecision:
    if found.former is None:
        return ImportDecision(ImportOutcome.KEPT, GONE)
    if file_digest(found.former) != known.digest:
        return ImportDecision(ImportOutcome.KEPT, EDITED_AND_RENAMED)
    if found.current is not None:
        return ImportDecision(ImportOutcome.KEPT, NAME_TAKEN)
    return ImportDecision(ImportOutcome.UPDATED, replaces=known.path)

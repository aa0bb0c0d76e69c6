"""Finds texts that a compiler cut off, left unfinished or wrote in another language.

They are put on a list and stay in the package: a rule that looks odd may still be the rule. Only
when asked, prose in another language is taken out. What is verbatim in the source is never judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.errors import Json
from pecia.rooms.ckf.package.deduplicate import deduplicate, without
from pecia.rooms.ckf.package.field import Role
from pecia.rooms.ckf.package.fields import ITEM_SECTIONS
from pecia.rooms.ckf.package.language import foreign_language
from pecia.rooms.ckf.package.model import Item, Package, text_of
from pecia.rooms.ckf.package.sentence import is_cut, is_cut_label, is_unfinished
from pecia.rooms.ckf.package.walk import Text, every_text

SHORTEST = 12
PREVIEW = 120
TITLE = 80


class Action(StrEnum):
    QUARANTINE = "quarantine"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class SanitizeOptions:
    action: Action = Action.QUARANTINE
    language_filter: bool = True
    completeness_filter: bool = True
    truncation_filter: bool = True
    deduplicate: bool = True


@dataclass(frozen=True, slots=True)
class Reject:
    """One text that was found wanting."""

    section: str
    item_id: str
    reason: str
    field: str
    text: str

    def report(self) -> Item:
        return {
            "section": self.section,
            "item_id": self.item_id,
            "reason": self.reason,
            "field": self.field,
            "text_preview": self.text[:PREVIEW],
        }


@dataclass(frozen=True, slots=True)
class Sanitized:
    package: Package
    rejected: tuple[Reject, ...]
    removed: int = 0
    deduplicated: int = 0

    def audit(self) -> Item:
        return {
            "removed_count": self.removed,
            "quarantined_count": len({(it.section, it.item_id) for it in self.rejected})
            - self.removed,
            "deduplicated_count": self.deduplicated,
            "rejected_items": [it.report() for it in self.rejected],
        }


def sanitize(
    package: Package, source: str = "", options: SanitizeOptions | None = None
) -> Sanitized:
    """The package without doubles, and the list of texts to look at."""
    wanted = options or SanitizeOptions()
    before = sum(1 for _ in package.every_item())
    single = deduplicate(package) if wanted.deduplicate else package
    kept = sum(1 for _ in single.every_item())
    whole = _with_titles(single)
    rejected = tuple(_rejects(whole, source, wanted))
    drifted = {it.item_id for it in rejected if it.reason == _DRIFT and it.item_id}
    if wanted.action is Action.QUARANTINE or not drifted:
        return Sanitized(whole, rejected, deduplicated=before - kept)
    return Sanitized(without(whole, drifted), rejected, len(drifted), before - kept)


def _rejects(package: Package, source: str, options: SanitizeOptions) -> Iterator[Reject]:
    language = text_of(package.metadata, "language")
    for text in every_text(package):
        if text.place.section not in _JUDGED or len(text.value) < SHORTEST:
            continue
        reason = _reason(text, language, options)
        if reason and text.value not in source:
            where = text.place
            yield Reject(where.section, where.item_id, reason, text.field.name, text.value)


def _reason(text: Text, language: str, options: SanitizeOptions) -> str:
    role = text.field.role
    if role is Role.LABEL:
        return _CUT if options.truncation_filter and is_cut_label(text.value) else ""
    if role not in (Role.CLAUSE, Role.PROSE):
        return ""
    if options.language_filter and foreign_language(text.value, language):
        return _DRIFT
    if options.truncation_filter and is_cut(text.value):
        return _CUT
    # A context may be a line of headings; what an item must have is a statement.
    stated = role is Role.PROSE and text.field.required
    if stated and options.completeness_filter and is_unfinished(text.value):
        return _UNFINISHED
    return ""


def _with_titles(package: Package) -> Package:
    """A chunk whose body is sound keeps it, under a title made from its first words."""
    chunks: list[Json] = []
    found = package.body.get("retrieval_chunks")
    for it in found if isinstance(found, list) else []:
        chunks.append(_titled(it) if isinstance(it, dict) else it)
    return Package({**package.body, "retrieval_chunks": chunks}) if chunks else package


def _titled(chunk: Item) -> Item:
    title, body = text_of(chunk, "title"), text_of(chunk, "compressed_knowledge")
    if not is_cut_label(title) or not body:
        return chunk
    first = body.split(". ")[0].strip()
    return {**chunk, "title": first if len(first) <= TITLE else first[:TITLE].rsplit(" ", 1)[0]}


_JUDGED = frozenset(it.key for it in ITEM_SECTIONS)
_DRIFT, _CUT, _UNFINISHED = "language_mismatch", "truncated", "incomplete_proposition"

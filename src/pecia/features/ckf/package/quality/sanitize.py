"""Finds texts that a compiler cut off, left unfinished or wrote in another language.

They are listed and stay in the package: a suspect rule may be right. Prose in another language
is removed only on request. Verbatim source text is exempt.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pecia.features.ckf.package.field import FieldRole
from pecia.features.ckf.package.fields import ITEM_SECTIONS
from pecia.features.ckf.package.language import detect_foreign_language
from pecia.features.ckf.package.model import Item, Package, text_of
from pecia.features.ckf.package.quality.deduplicate import deduplicate_items, remove_items
from pecia.features.ckf.package.truncation import is_truncated, is_truncated_label, is_unfinished
from pecia.features.ckf.package.walk import PackageText, iter_texts
from pecia.kernel.errors import Json

MIN_TEXT_CHARS = 12
PREVIEW_CHARS = 120
MAX_TITLE_CHARS = 80


class SanitizeAction(StrEnum):
    QUARANTINE = "quarantine"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class SanitizeOptions:
    action: SanitizeAction = SanitizeAction.QUARANTINE
    language_filter: bool = True
    completeness_filter: bool = True
    truncation_filter: bool = True
    deduplicate: bool = True


@dataclass(frozen=True, slots=True)
class RejectedText:
    """One suspect text."""

    section: str
    item_id: str
    reason: str
    field: str
    text: str

    def to_json(self) -> Item:
        return {
            "section": self.section,
            "item_id": self.item_id,
            "reason": self.reason,
            "field": self.field,
            "text_preview": self.text[:PREVIEW_CHARS],
        }


@dataclass(frozen=True, slots=True)
class SanitizeResult:
    package: Package
    rejected: tuple[RejectedText, ...]
    removed: int = 0
    deduplicated: int = 0

    def to_json(self) -> Item:
        return {
            "removed_count": self.removed,
            "quarantined_count": len({(it.section, it.item_id) for it in self.rejected})
            - self.removed,
            "deduplicated_count": self.deduplicated,
            "rejected_items": [it.to_json() for it in self.rejected],
        }


def sanitize_package(
    package: Package, source: str = "", options: SanitizeOptions | None = None
) -> SanitizeResult:
    """The deduplicated package, and the list of suspect texts."""
    wanted = options or SanitizeOptions()
    before = sum(1 for _ in package.iter_items())
    single = deduplicate_items(package) if wanted.deduplicate else package
    kept = sum(1 for _ in single.iter_items())
    whole = _with_titles(single)
    rejected = tuple(_find_rejects(whole, source, wanted))
    drifted = {it.item_id for it in rejected if it.reason == _DRIFT and it.item_id}
    if wanted.action is SanitizeAction.QUARANTINE or not drifted:
        return SanitizeResult(whole, rejected, deduplicated=before - kept)
    return SanitizeResult(remove_items(whole, drifted), rejected, len(drifted), before - kept)


def _find_rejects(
    package: Package, source: str, options: SanitizeOptions
) -> Iterator[RejectedText]:
    language = text_of(package.metadata, "language")
    for text in iter_texts(package):
        if text.place.section not in _JUDGED or len(text.value) < MIN_TEXT_CHARS:
            continue
        reason = _reason(text, language, options)
        if reason and text.value not in source:
            where = text.place
            yield RejectedText(where.section, where.item_id, reason, text.field.name, text.value)


def _reason(text: PackageText, language: str, options: SanitizeOptions) -> str:
    role = text.field.role
    if role is FieldRole.LABEL:
        return _CUT if options.truncation_filter and is_truncated_label(text.value) else ""
    if role not in (FieldRole.CLAUSE, FieldRole.PROSE):
        return ""
    if options.language_filter and detect_foreign_language(text.value, language):
        return _DRIFT
    if options.truncation_filter and is_truncated(text.value):
        return _CUT
    # A context may be a line of headings; a required field must be a statement.
    stated = role is FieldRole.PROSE and text.field.required
    if stated and options.completeness_filter and is_unfinished(text.value):
        return _UNFINISHED
    return ""


def _with_titles(package: Package) -> Package:
    """Give a chunk with a good body and a bad title a title from its first words."""
    chunks: list[Json] = []
    found = package.body.get("retrieval_chunks")
    for it in found if isinstance(found, list) else []:
        chunks.append(_with_title(it) if isinstance(it, dict) else it)
    return Package({**package.body, "retrieval_chunks": chunks}) if chunks else package


def _with_title(chunk: Item) -> Item:
    title, body = text_of(chunk, "title"), text_of(chunk, "compressed_knowledge")
    if not is_truncated_label(title) or not body:
        return chunk
    first = body.split(". ")[0].strip()
    return {
        **chunk,
        "title": first
        if len(first) <= MAX_TITLE_CHARS
        else first[:MAX_TITLE_CHARS].rsplit(" ", 1)[0],
    }


_JUDGED = frozenset(it.key for it in ITEM_SECTIONS)
_DRIFT, _CUT, _UNFINISHED = "language_mismatch", "truncated", "incomplete_proposition"

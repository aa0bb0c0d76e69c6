"""Verifies every quotation of a package against its source texts. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pecia.features.ckf.package.locate import MatchMethod, SearchableText
from pecia.features.ckf.package.model import Item, Package, integer_of, text_of, texts_of
from pecia.features.ckf.package.seal import is_altered
from pecia.features.ckf.package.walk import iter_texts
from pecia.kernel.text.span import Span

HASH_CHARS = 16
MIN_PIECE_CHARS = 8
MAX_EXTENSION_CHARS = 300


class QuotationState(StrEnum):
    """`holds`: the quotation is at its offsets. `moved`: it is elsewhere.

    `altered`: only case or white space differs. `changed`: the quotation is there, but the rest of
    the cited text differs. `gone`: it is not there. `unread`: the source text was not passed.
    """

    HOLDS = "holds"
    MOVED = "moved"
    ALTERED = "altered"
    CHANGED = "changed"
    GONE = "gone"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class CurrentSource:
    """A source as it is now."""

    text: str
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Quotation:
    """One quotation and its state. `span` is its current position.

    `was` is the cited text, `now` the text in its place; both are empty if it holds.
    """

    path: str
    item_id: str
    source: str
    excerpt: str
    state: QuotationState
    span: Span | None = None
    was: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """`stale`: sources whose text has changed. `altered`: the package itself has."""

    quotations: tuple[Quotation, ...]
    stale: tuple[str, ...]
    altered: bool = False

    @property
    def holds(self) -> bool:
        """Whether all cited texts are unchanged, and so is the package; they may have moved."""
        return not self.altered and all(
            it.state in (QuotationState.HOLDS, QuotationState.MOVED) for it in self.quotations
        )

    def counts(self) -> dict[str, int]:
        found = Counter(it.state.value for it in self.quotations)
        return {it.value: found[it.value] for it in QuotationState}


def verify_quotations(package: Package, sources: Mapping[str, CurrentSource]) -> VerificationResult:
    """Verify against sources, keyed as in the package: by `uri`, by file, or "" for the only one.

    A source is stale if its revision or text is not the compiled one.
    """
    sought = {name: SearchableText(it.text) for name, it in sources.items()}
    return VerificationResult(
        tuple(_check_quotations(package, sought)),
        tuple(sorted(_find_stale_sources(package, sources))),
        is_altered(package),
    )


def list_source_names(package: Package) -> list[str]:
    """The sources named in a package."""
    found = [_source_of(it) for it in _manifest(package)]
    found += [text_of(it, "source_file") for it in package.trace]
    return sorted({it for it in found if it})


def _check_quotations(
    package: Package, sought: Mapping[str, SearchableText]
) -> Iterator[Quotation]:
    sources = {text_of(it, "source_id"): _source_of(it) for it in _manifest(package)}
    for text in iter_texts(package):
        if text.field.name not in ("source_excerpt", "source_excerpts") or not text.value:
            continue
        owner = text.owner
        item_id = text_of(owner, "id") or text_of(owner, "extracted_item_id")
        names = [text_of(owner, "source_file"), *(sources.get(it, "") for it in _refs(owner))]
        name = next((it for it in names if it in sought and it), _only(sought))
        cited = _parse_citation(text.value, owner)
        state, span = _find_state(cited, sought.get(name))
        was, now = _diff_texts(cited, state, span, sought.get(name))
        yield Quotation(text.place.path, item_id, name, text.value, state, span, was, now)


@dataclass(frozen=True, slots=True)
class _Citation:
    """The citation of a row: its quotation, and the rest of the sentence if that is cut."""

    excerpt: str
    start: int | None
    size: int
    hash: str = ""
    continuation: str = ""

    @property
    def words(self) -> str:
        return self.excerpt + self.continuation


def _parse_citation(excerpt: str, owner: Item) -> _Citation:
    start, end = integer_of(owner, "source_char_start"), integer_of(owner, "source_span_end")
    known = text_of(owner, "source_span_sha256")
    if start is None or end is None or not known or end - start <= len(excerpt):
        return _Citation(excerpt, start, len(excerpt))
    return _Citation(excerpt, start, end - start, known, text_of(owner, "source_continuation"))


def _find_state(
    cited: _Citation, sought: SearchableText | None
) -> tuple[QuotationState, Span | None]:
    if sought is None:
        return QuotationState.UNREAD, None
    start = cited.start
    found = sought.find(cited.excerpt, start)
    if not found:
        return QuotationState.GONE, None
    if found.method is not MatchMethod.EXACT:
        return QuotationState.ALTERED, found.span
    if cited.hash:
        return _whole_state(cited, found.span, sought)
    moved = start is not None and found.span.start != start
    return (QuotationState.MOVED if moved else QuotationState.HOLDS), found.span


def _whole_state(
    cited: _Citation, first: Span, sought: SearchableText
) -> tuple[QuotationState, Span]:
    """The state of a citation longer than its quotation, which may occur several times."""
    at = first.start
    while at >= 0:
        if hash_span(sought.text[at : at + cited.size]) == cited.hash:
            state = QuotationState.HOLDS if at == cited.start else QuotationState.MOVED
            return state, Span(at, at + cited.size)
        at = sought.text.find(cited.excerpt, at + 1) if cited.start != first.start else -1
    return QuotationState.CHANGED, Span(
        first.start, min(first.start + cited.size, len(sought.text))
    )


def _diff_texts(
    cited: _Citation, state: QuotationState, span: Span | None, sought: SearchableText | None
) -> tuple[str, str]:
    if sought is None or state in (QuotationState.HOLDS, QuotationState.MOVED):
        return "", ""
    place = span or _nearest(cited, sought.text)
    if place is None:
        return cited.words, ""
    return cited.words, _to_sentence_end(sought.text, place)


def _nearest(cited: _Citation, text: str) -> Span | None:
    """The likely former position of missing text: next to what is left of it."""
    words = cited.words
    for parts in (2, 4, 8):
        size = len(words) // parts
        if size < MIN_PIECE_CHARS:
            break
        for offset in range(0, len(words) - size + 1, size):
            at = text.find(words[offset : offset + size])
            if at >= 0:
                start = max(0, at - offset)
                return Span(start, min(start + cited.size, len(text)))
    return None


def _to_sentence_end(text: str, span: Span) -> str:
    """Extend to the end of the sentence: the cited text may be longer now."""
    end = _SENTENCE_END.search(text, max(span.start, span.end - 1), span.end + MAX_EXTENSION_CHARS)
    return text[span.start : end.end() if end else span.end].rstrip()


def hash_span(words: str) -> str:
    """A short hash, because every row has one, and a collision gains an attacker nothing."""
    return _sha256(words)[:HASH_CHARS]


def _find_stale_sources(package: Package, sources: Mapping[str, CurrentSource]) -> Iterator[str]:
    compiled = text_of(package.metadata, "source_sha256")
    for name, now in sources.items():
        entries = [it for it in _manifest(package) if _source_of(it) in ("", name)]
        revisions = {text_of(it, "revision") for it in entries} - {""}
        other_revision = bool(now.revision and revisions and now.revision not in revisions)
        other_text = len(sources) == 1 and bool(compiled) and compiled != _sha256(now.text)
        if other_revision or other_text:
            yield name


def _manifest(package: Package) -> list[Item]:
    found = package.metadata.get("source_manifest")
    return [it for it in found if isinstance(it, dict)] if isinstance(found, list) else []


def _source_of(entry: Item) -> str:
    return text_of(entry, "uri") or text_of(entry, "source_file")


def _refs(owner: Item) -> list[str]:
    return texts_of(owner, "source_refs")


def _only(sought: Mapping[str, SearchableText]) -> str:
    return next(iter(sought)) if len(sought) == 1 else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n|$")

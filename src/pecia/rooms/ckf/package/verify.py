"""Re-reads every quotation of a package in the texts it came from, which are handed in. Pure."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.text.span import Span
from pecia.rooms.ckf.package.locate import Method, Sought
from pecia.rooms.ckf.package.model import Item, Package, integer_of, text_of, texts_of
from pecia.rooms.ckf.package.walk import every_text


class State(StrEnum):
    """`holds`: the words stand where the package says. `moved`: they stand elsewhere.

    `altered`: only their case or spaces differ. `gone`: they are not there. `unread`: the text was
    not handed in.
    """

    HOLDS = "holds"
    MOVED = "moved"
    ALTERED = "altered"
    GONE = "gone"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Reread:
    """A source as it is now."""

    text: str
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Quotation:
    """One quotation and what became of it. `span` is where it was found now."""

    path: str
    item_id: str
    source: str
    excerpt: str
    state: State
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    quotations: tuple[Quotation, ...]
    stale: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return all(it.state is State.HOLDS for it in self.quotations)

    def counts(self) -> dict[str, int]:
        found = Counter(it.state.value for it in self.quotations)
        return {it.value: found[it.value] for it in State}


def verify(package: Package, sources: Mapping[str, Reread]) -> Verification:
    """Sources are named as the package names them: by `uri`, by file, or by nothing for the one.

    A source is stale when its revision or its text is no longer the one that was compiled.
    """
    sought = {name: Sought(it.text) for name, it in sources.items()}
    return Verification(
        tuple(_quotations(package, sought)), tuple(sorted(_stale(package, sources)))
    )


def source_names(package: Package) -> list[str]:
    """The sources that a package quotes, as far as it says."""
    found = [_source_of(it) for it in _manifest(package)]
    found += [text_of(it, "source_file") for it in package.trace]
    return sorted({it for it in found if it})


def _quotations(package: Package, sought: Mapping[str, Sought]) -> Iterator[Quotation]:
    sources = {text_of(it, "source_id"): _source_of(it) for it in _manifest(package)}
    for text in every_text(package):
        if text.field.name not in ("source_excerpt", "source_excerpts") or not text.value:
            continue
        owner = text.owner
        item_id = text_of(owner, "id") or text_of(owner, "extracted_item_id")
        names = [text_of(owner, "source_file"), *(sources.get(it, "") for it in _refs(owner))]
        name = next((it for it in names if it in sought and it), _only(sought))
        state, span = _state(text.value, integer_of(owner, "source_char_start"), sought.get(name))
        yield Quotation(text.place.path, item_id, name, text.value, state, span)


def _state(excerpt: str, start: int | None, sought: Sought | None) -> tuple[State, Span | None]:
    if sought is None:
        return State.UNREAD, None
    found = sought.find(excerpt, start)
    if not found:
        return State.GONE, None
    if found.method is not Method.EXACT:
        return State.ALTERED, found.span
    moved = start is not None and found.span.start != start
    return (State.MOVED if moved else State.HOLDS), found.span


def _stale(package: Package, sources: Mapping[str, Reread]) -> Iterator[str]:
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


def _only(sought: Mapping[str, Sought]) -> str:
    return next(iter(sought)) if len(sought) == 1 else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

"""Merges the packages of the pieces of one text. Pure.

Offsets are shifted by the start of the piece. An item that two pieces share is one item with both
rows; two different items with one id are renamed by piece.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pecia.features.ckf.model import SourceText
from pecia.features.ckf.package.field import FieldRole, FieldShape, SectionKind
from pecia.features.ckf.package.fields import ITEM_SECTIONS, SECTION_BY_KEY, SECTIONS
from pecia.features.ckf.package.model import (
    Item,
    Package,
    integer_of,
    make_empty_body,
    text_of,
    texts_of,
)
from pecia.kernel.errors import Json
from pecia.kernel.text.slug import name_slug


@dataclass(frozen=True, slots=True)
class CompiledPiece:
    """The package of one piece, and the number of characters and lines before it."""

    package: Package
    chars: int
    lines: int


def reduce_pieces(pieces: list[CompiledPiece], source: SourceText) -> Package:
    """Merge into one package. Header and intent are the first piece's."""
    whole = _MergedPackage()
    for it in pieces:
        whole.add(it)
    first = pieces[0].package
    body = whole.body
    digest = hashlib.sha256(source.text.encode("utf-8", "replace")).hexdigest()
    title = text_of(first.metadata, "source_title")
    body["metadata"] = {
        **first.metadata,
        "package_id": f"{name_slug(title)[:60].strip('-') or 'source'}-{digest[:8]}",
        "source_sha256": digest,
    }
    if whole.manifest:
        body["metadata"]["source_manifest"] = whole.manifest
    for section in SECTIONS:
        if section.kind is SectionKind.OBJECT:
            body[section.key] = _merge_object(section.key, [it.package for it in pieces])
    return Package(body)


class _MergedPackage:
    """The merged package so far."""

    def __init__(self) -> None:
        self.body = make_empty_body()
        self.manifest: list[Json] = []
        self.by_id: dict[str, Item] = {}
        self.parts = 0

    def add(self, piece: CompiledPiece) -> None:
        new_ids = self._new_ids(piece)
        for section, item in piece.package.iter_items():
            made = self._rebase_item(section, item, new_ids)
            name = text_of(made, "id")
            if name not in self.by_id:
                self.by_id[name] = made
                self._list(section).append(made)
        for row in piece.package.trace:
            self._list("source_traceability").append(self._rebase_row(row, piece, new_ids))
        entries = _records(piece.package.metadata.get("source_manifest"))
        self.manifest += [self._rebase_entry(it, piece) for it in entries]
        self.parts += max(1, len(entries))

    def _new_ids(self, piece: CompiledPiece) -> dict[str, str]:
        found: dict[str, str] = {}
        for section, item in piece.package.iter_items():
            name = text_of(item, "id")
            known = self.by_id.get(name)
            alike = known is None or _identity(section, known) == _identity(section, item)
            found[name] = name if alike else f"{name}_c{piece.chars}"
        return found

    def _rebase_item(self, section: str, item: Item, new_ids: dict[str, str]) -> Item:
        made = {**item, "id": new_ids[text_of(item, "id")]}
        for name in _REFERENCES[section] & made.keys():
            made[name] = [new_ids.get(it, it) for it in texts_of(made, name)]
        made["source_refs"] = [self._ref(it) for it in texts_of(item, "source_refs")]
        return made

    def _rebase_row(self, row: Item, piece: CompiledPiece, new_ids: dict[str, str]) -> Item:
        name = text_of(row, "extracted_item_id")
        return {
            **row,
            "extracted_item_id": new_ids[name],
            "source_location": self._location(text_of(row, "source_location"), piece),
            **_shift_offsets(row, piece.chars, _ROW_OFFSETS),
        }

    def _rebase_entry(self, entry: Item, piece: CompiledPiece) -> Item:
        return {
            **entry,
            "source_id": self._ref(text_of(entry, "source_id")),
            **_shift_offsets(entry, piece.chars, ("char_start", "char_end")),
            **_shift_offsets(entry, piece.lines, ("line_start", "line_end")),
        }

    def _location(self, location: str, piece: CompiledPiece) -> str:
        ref, first, last = _LOCATION.findall(location)[0]
        return f"{self._ref(ref)}#L{int(first) + piece.lines}-L{int(last) + piece.lines}"

    def _ref(self, ref: str) -> str:
        return f"s_{int(ref.removeprefix('s_')) + self.parts:03}"

    def _list(self, section: str) -> list[Json]:
        found = self.body[section]
        assert isinstance(found, list), f"{section} is not a list"
        return found


def _merge_object(section: str, packages: list[Package]) -> Item:
    """Deduplicated lists of all pieces; single values of the first piece."""
    made: Item = dict(packages[0].section_object(section))
    for name, value in made.items():
        if isinstance(value, list):
            lines: Iterable[Json] = (it for one in packages for it in _list_of(one, section, name))
            made[name] = list({str(it): it for it in lines}.values())
    return made


def _list_of(package: Package, section: str, name: str) -> list[Json]:
    found = package.section_object(section).get(name)
    return found if isinstance(found, list) else []


def _records(value: Json) -> list[Item]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _shift_offsets(record: Item, by: int, names: tuple[str, ...]) -> Item:
    return {it: (integer_of(record, it) or 0) + by for it in names}


def _identity(section: str, item: Item) -> list[Json]:
    return [item.get(it) for it in SECTION_BY_KEY[section].identity]


_LOCATION = re.compile(r"(s_\d+)#L(\d+)-L(\d+)")
_REFERENCES = {
    section.key: {
        it.name
        for it in section.fields
        if it.role is FieldRole.REFERENCE and it.shape is FieldShape.TEXTS
    }
    for section in ITEM_SECTIONS
}
_ROW_OFFSETS = ("source_char_start", "source_char_end", "source_span_end")

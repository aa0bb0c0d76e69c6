"""Merges duplicates, and removes items with all references to them. Pure."""

from collections.abc import Collection, Mapping

from pecia.features.ckf.package.field import FieldRole, PackageField
from pecia.features.ckf.package.fields import ALL_SECTIONS, ITEM_SECTIONS
from pecia.features.ckf.package.model import Item, Package, text_of, texts_of
from pecia.features.ckf.package.similarity import normalize_words
from pecia.kernel.errors import Json

# Atoms and chunks repeat other items by design.
DEDUPLICATED_SECTIONS = tuple(
    it for it in ITEM_SECTIONS if it.key not in ("retrieval_chunks", "atomic_units")
)


def deduplicate_items(package: Package) -> Package:
    """Of equal items the first stays, with the quotations of all."""
    kept_by_id: dict[str, str] = {}
    body = dict(package.body)
    for section in DEDUPLICATED_SECTIONS:
        first: dict[str, Item] = {}
        for it in package.items(section.key):
            key = "|".join(normalize_words(text_of(it, name)) for name in section.identity)
            if not key.strip("|") or key not in first:
                first[key] = dict(it)
            elif (item_id := text_of(it, "id")) and item_id != text_of(first[key], "id"):
                kept_by_id[item_id] = text_of(first[key], "id")
                _join(first[key], it)
        _replace(body, section.key, {text_of(it, "id"): it for it in first.values()})
    return _redirect_references(Package(body), kept_by_id) if kept_by_id else package


def remove_items(package: Package, ids: Collection[str]) -> Package:
    """The package without those items, their trace rows, and references to them."""
    return _redirect_references(package, dict.fromkeys(ids, ""))


def _join(kept: Item, other: Item) -> None:
    for name in ("source_refs", "source_excerpts"):
        kept[name] = list[Json](dict.fromkeys([*texts_of(kept, name), *texts_of(other, name)]))


def _replace(body: Item, key: str, by_id: Mapping[str, Item]) -> None:
    found = body.get(key)
    if isinstance(found, list):
        body[key] = [
            by_id.get(text_of(it, "id"), it) if isinstance(it, dict) else it for it in found
        ]


def _redirect_references(package: Package, new_ids: Mapping[str, str]) -> Package:
    """Redirect references from an old id to its new one, or drop them; items likewise."""
    body: Item = {}
    for key, value in package.body.items():
        section = next((it for it in ALL_SECTIONS if it.key == key), None)
        if not section or not isinstance(value, list):
            body[key] = value
            continue
        kept = [it for it in value if not _is_removed(it, new_ids)]
        body[key] = [
            _record(section.fields, it, new_ids) if isinstance(it, dict) else it for it in kept
        ]
    return Package(body)


def _is_removed(value: Json, new_ids: Mapping[str, str]) -> bool:
    if not isinstance(value, dict):
        return False
    traced = text_of(value, "extracted_item_id")
    return text_of(value, "id") in new_ids or (traced in new_ids and not new_ids[traced])


def _record(fields: tuple[PackageField, ...], record: Item, new_ids: Mapping[str, str]) -> Item:
    changed = {
        it.name: _value(it, record[it.name], new_ids)
        for it in fields
        if it.name in record and (it.role is FieldRole.REFERENCE or it.parts)
    }
    return {**record, **changed}


def _value(field: PackageField, value: Json, new_ids: Mapping[str, str]) -> Json:
    if isinstance(value, str) and field.role is FieldRole.REFERENCE:
        return new_ids.get(value, value)
    if isinstance(value, dict):
        return _record(field.parts, value, new_ids)
    if isinstance(value, list):
        return [
            it for it in (_value(field, it, new_ids) for it in value) if not _is_empty(field, it)
        ]
    return value


def _is_empty(field: PackageField, value: Json) -> bool:
    if field.role is FieldRole.REFERENCE:
        return value == ""
    return isinstance(value, dict) and any(
        it.role is FieldRole.REFERENCE and value.get(it.name) == "" for it in field.parts
    )

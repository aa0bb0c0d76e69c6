"""Fills in the defaults that a document left out. Changes nothing else."""

from pecia.features.ckf.package.field import FieldShape, PackageField, PackageSection, SectionKind
from pecia.features.ckf.package.fields import ALL_SECTIONS, METADATA, SECTION_BY_KEY
from pecia.features.ckf.package.model import NO_DATE, PROTOCOL, Item, Package
from pecia.kernel.errors import Json

METADATA_DEFAULTS: Item = {
    "package_id": "unknown",
    "protocol_version": PROTOCOL,
    "source_type": "Unknown",
    "source_title": "Untitled",
    "source_author": "Unknown",
    "domain": "general knowledge",
    "subdomains": [],
    "language": "en",
    "created_at": NO_DATE,
    "compression_level": "standard",
    "human_readability": 0,
    "ai_utility_score": 0,
}


def normalize(body: Item) -> Package:
    """The package with all sections, in schema order, unknown keys last."""
    whole: Item = {it.key: _section(it, body) for it in ALL_SECTIONS}
    whole.update((key, value) for key, value in body.items() if key not in SECTION_BY_KEY)
    return Package(whole)


def compact_package(package: Package) -> Item:
    """The body without the defaults that `normalize` restores."""
    return {
        key: _compact_section(SECTION_BY_KEY[key], value) if key in SECTION_BY_KEY else value
        for key, value in package.body.items()
    }


def _section(section: PackageSection, body: Item) -> Json:
    if section.kind is SectionKind.OBJECT:
        found = body.get(section.key, {})
        return {**_defaults(section), **found} if isinstance(found, dict) else found
    found = body.get(section.key, [])
    if not isinstance(found, list):
        return found
    empty = _defaults(section)
    return [_fill_defaults(it, empty) if isinstance(it, dict) else it for it in found]


def _fill_defaults(item: Item, empty: Item) -> Item:
    missing = {key: _copy(it) for key, it in empty.items() if key not in item}
    return {**item, **missing} if missing else item


def _compact_section(section: PackageSection, value: Json) -> Json:
    if section is METADATA:
        return value
    # Required fields stay, empty or not: the compact form is a valid package too.
    empty = {it.name: _empty(it) for it in section.fields if it.fill}
    if isinstance(value, dict):
        return _without(value, empty)
    if not isinstance(value, list):
        return value
    return [_without(it, empty) if isinstance(it, dict) else it for it in value]


def _without(item: Item, empty: Item) -> Item:
    # An empty string and an empty list differ: only the exact default is dropped.
    return {key: it for key, it in item.items() if key not in empty or it != empty[key]}


def _defaults(section: PackageSection) -> Item:
    if section is METADATA:
        return {key: _copy(it) for key, it in METADATA_DEFAULTS.items()}
    if section.key == "domain_map":
        return {**_empties(section), "main_domain": METADATA_DEFAULTS["domain"]}
    return _empties(section)


def _empties(section: PackageSection) -> Item:
    # Fields of object sections are always filled in; a missing item field must stay visible.
    whole = section.kind is SectionKind.OBJECT
    return {it.name: _empty(it) for it in section.fields if it.fill or (whole and it.required)}


def _empty(field: PackageField) -> Json:
    return "" if field.shape in (FieldShape.TEXT, FieldShape.TEXT_OR_TEXTS) else []


def _copy(value: Json) -> Json:
    return list(value) if isinstance(value, list) else value

"""The JSON schema for a model's answer, generated from the table of fields. Pure.

Ids, offsets and links are not requested: they are derived from the quotations.
"""

from functools import cache

from pecia.features.ckf.llm.model import ExtractionForm
from pecia.features.ckf.package.field import FieldRole, FieldShape, PackageField, PackageSection
from pecia.features.ckf.package.fields import BASES, CORE_INTENT, DOMAINS, ITEM_SECTIONS, LINKS
from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json

# References that may be given by name, because their targets have one.
NAMED_SECTIONS = frozenset({"entities", "concepts"})
TRACE_FIELDS = ("source_basis", "confidence", "source_excerpts")
_UNASKED = frozenset({"id", "source_refs", "related_entities", *(it.name for it in LINKS)})
_TEXT: Item = {"type": "string"}
_TEXTS: Item = {"type": "array", "items": _TEXT}


@cache
def build_full_form() -> ExtractionForm:
    """Every section by its own fields."""
    properties: Item = {
        "core_intent": _object({it.name: _TEXT for it in CORE_INTENT}, ()),
        "domain_map": _object(
            {"main_domain": {**_TEXT, "enum": list[Json](DOMAINS)}, "subdomains": _TEXTS}, ()
        ),
    }
    for section in ITEM_SECTIONS:
        properties[section.key] = {"type": "array", "items": _item(section)}
    schema = _object(properties, ("entities", "concepts"))
    return ExtractionForm(
        "emit_ckf_partial", "The knowledge that this part of the source states.", schema
    )


@cache
def build_flat_form() -> ExtractionForm:
    """One list of plain items, for models that refuse the whole form as too complex."""
    item = _object(
        {
            "section": {**_TEXT, "enum": [it.key for it in ITEM_SECTIONS]},
            "name": _TEXT,
            "content": _TEXT,
            "extra": _TEXT,
            **_trace(),
        },
        ("section", "name", "content", *TRACE_FIELDS),
    )
    schema = _object({"items": {"type": "array", "items": item}}, ("items",))
    return ExtractionForm(
        "emit_ckf_items", "The knowledge that this part of the source states.", schema
    )


def list_asked_fields(section: PackageSection) -> tuple[PackageField, ...]:
    """The fields of a section that a model may fill in, beside the trace."""
    return tuple(it for it in section.fields if _is_asked(it))


def _is_asked(field: PackageField) -> bool:
    if field.name in TRACE_FIELDS or field.name in _UNASKED:
        return False
    return field.role is not FieldRole.REFERENCE or not NAMED_SECTIONS.isdisjoint(field.targets)


def _item(section: PackageSection) -> Item:
    requested = list_asked_fields(section)
    properties: Item = {it.name: _field(it) for it in requested}
    required = [it.name for it in requested if it.required]
    return _object({**properties, **_trace()}, (*required, *TRACE_FIELDS))


def _trace() -> Item:
    return {
        "source_basis": {**_TEXT, "enum": list[Json](BASES)},
        "confidence": {"type": "number"},
        "source_excerpts": _TEXTS,
    }


def _field(field: PackageField) -> Item:
    if field.role is FieldRole.CHOICE:
        return {**_TEXT, "enum": list[Json](field.choices)}
    match field.shape:
        case FieldShape.TEXTS:
            return _TEXTS
        case FieldShape.RECORDS | FieldShape.TEXTS_OR_RECORDS:
            parts: Item = {it.name: _field(it) for it in field.parts}
            required = tuple(it.name for it in field.parts if it.required)
            return {"type": "array", "items": _object(parts, required)}
        case FieldShape.NUMBER:
            return {"type": "number"}
        case FieldShape.INTEGER:
            return {"type": "integer"}
        case _:
            return _TEXT


def _object(properties: Item, required: tuple[str, ...]) -> Item:
    found: Item = {"type": "object", "properties": properties}
    return {**found, "required": list[Json](required)} if required else found

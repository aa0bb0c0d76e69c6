"""What a model is asked to fill in, made from the table of fields. Pure.

Ids, places and links are never asked for: they are worked out here from what was quoted.
"""

from functools import cache

from pecia.kernel.errors import Json
from pecia.rooms.ckf.llm.model import Form
from pecia.rooms.ckf.package.field import Field, Role, Section, Shape
from pecia.rooms.ckf.package.fields import BASES, CORE_INTENT, DOMAINS, ITEM_SECTIONS, LINKS
from pecia.rooms.ckf.package.model import Item

# Where a reference may be given by name, because what it points at has one.
NAMED = frozenset({"entities", "concepts"})
TRACED = ("source_basis", "confidence", "source_excerpts")
_UNASKED = frozenset({"id", "source_refs", "related_entities", *(it.name for it in LINKS)})
_TEXT: Item = {"type": "string"}
_TEXTS: Item = {"type": "array", "items": _TEXT}


@cache
def whole_form() -> Form:
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
    return Form("emit_ckf_partial", "The knowledge that this part of the source states.", schema)


@cache
def flat_form() -> Form:
    """One list of plain items, for models that refuse the whole form as too complex."""
    item = _object(
        {
            "section": {**_TEXT, "enum": [it.key for it in ITEM_SECTIONS]},
            "name": _TEXT,
            "content": _TEXT,
            "extra": _TEXT,
            **_trace(),
        },
        ("section", "name", "content", *TRACED),
    )
    schema = _object({"items": {"type": "array", "items": item}}, ("items",))
    return Form("emit_ckf_items", "The knowledge that this part of the source states.", schema)


def asked_fields(section: Section) -> tuple[Field, ...]:
    """The fields of a section that a model may fill in, beside the trace."""
    return tuple(it for it in section.fields if _is_asked(it))


def _is_asked(field: Field) -> bool:
    if field.name in TRACED or field.name in _UNASKED:
        return False
    return field.role is not Role.REFERENCE or not NAMED.isdisjoint(field.targets)


def _item(section: Section) -> Item:
    asked = asked_fields(section)
    properties: Item = {it.name: _field(it) for it in asked}
    required = [it.name for it in asked if it.required]
    return _object({**properties, **_trace()}, (*required, *TRACED))


def _trace() -> Item:
    return {
        "source_basis": {**_TEXT, "enum": list[Json](BASES)},
        "confidence": {"type": "number"},
        "source_excerpts": _TEXTS,
    }


def _field(field: Field) -> Item:
    if field.role is Role.CHOICE:
        return {**_TEXT, "enum": list[Json](field.choices)}
    match field.shape:
        case Shape.TEXTS:
            return _TEXTS
        case Shape.RECORDS | Shape.TEXTS_OR_RECORDS:
            parts: Item = {it.name: _field(it) for it in field.parts}
            required = tuple(it.name for it in field.parts if it.required)
            return {"type": "array", "items": _object(parts, required)}
        case Shape.NUMBER:
            return {"type": "number"}
        case Shape.INTEGER:
            return {"type": "integer"}
        case _:
            return _TEXT


def _object(properties: Item, required: tuple[str, ...]) -> Item:
    found: Item = {"type": "object", "properties": properties}
    return {**found, "required": list[Json](required)} if required else found

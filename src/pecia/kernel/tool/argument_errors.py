"""What is wrong with arguments, as our errors: each names its field, what was expected, what came.

Pure. Nothing is corrected here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pecia.kernel.errors import (
    BadArgument,
    InvalidEnum,
    InvalidFormat,
    InvalidInput,
    Json,
    MissingField,
    OutOfRange,
    PayloadTooLarge,
)
from pecia.kernel.tool.integers import MAX_INT, MIN_INT, find_beyond_64_bits, is_beyond_64_bits
from pecia.kernel.tool.plain_text import CONTROL_CHARACTER
from pecia.kernel.tool.suggestion import suggest_name

if TYPE_CHECKING:
    from jsonschema import ValidationError as SchemaError

MAX_SHOWN_CHARS = 200
SCHEMA_CACHE_SIZE = 1024
LOW_RULES = ("minimum", "exclusiveMinimum")
HIGH_RULES = ("maximum", "exclusiveMaximum")
SHORT_RULES = ("minLength", "minItems")
LONG_RULES = ("maxLength", "maxItems")


def argument_error(error: ValidationError, model: type[BaseModel]) -> BadArgument:
    """Our error for the first thing pydantic found wrong; the others are in `problems`."""
    found = _of_fitting_types(error.errors(include_url=False, include_context=True), model)
    first = _translate(found[0], model)
    if len(found) == 1:
        return first
    others: list[Json] = [cast(Json, _translate(it, model).payload()) for it in found[1:20]]
    return type(first)(first.message, **{**first.fields, "problems": others})  # pyright: ignore[reportArgumentType] - fields always hold `field`


def _of_fitting_types(found: Sequence[ErrorDetails], model: type[BaseModel]) -> list[ErrorDetails]:
    """Without the types of a field that takes several, where the value is of one and breaks another
    rule: a text that is too long need not be a list."""
    fitting = {_field_path(it["loc"], model) for it in found if not _is_type_error(it)}
    return [
        it for it in found if not (_is_type_error(it) and _field_path(it["loc"], model) in fitting)
    ]


def _is_type_error(found: ErrorDetails) -> bool:
    return found["type"].endswith("_type")


def unserializable_error(
    takes: type[BaseModel], arguments: Mapping[str, Json], error: TypeError
) -> BadArgument:
    """Why the arguments cannot be written down: mostly an integer of more than 64 bits."""
    place = find_beyond_64_bits(arguments)
    if place is None:
        return InvalidInput(f"arguments are not JSON: {error}", field="arguments")
    try:
        takes.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as wrong:
        # In the field's own words: its range is smaller, or it takes no integer at all.
        return argument_error(wrong, takes)
    except RecursionError:
        return InvalidInput("arguments are nested too deeply", field="arguments")
    return _beyond_64_bits(_path(place), takes)


def schema_error(error: "SchemaError") -> BadArgument:
    """Our error for what the schema of another server's tool does not allow."""
    field = ".".join(map(str, error.path))
    rule = str(error.validator)
    if rule == "required":
        absent = _first_absent(error)
        return MissingField(f'Field "{absent}" is required', field=absent)
    if rule in ("enum", "const"):
        # JSON of somebody else.
        allowed = cast(Json, error.validator_value)
        return InvalidEnum(error.message[:MAX_SHOWN_CHARS], field=field, allowed=allowed)
    if rule in (*LOW_RULES, *HIGH_RULES, *SHORT_RULES):
        return OutOfRange(
            error.message[:MAX_SHOWN_CHARS], field=field or "arguments", **_schema_range(error)
        )
    return InvalidInput(error.message[:MAX_SHOWN_CHARS], field=field or "arguments", expected=rule)


def _translate(found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    kind = found["type"]
    field = _field_path(found["loc"], model)
    for prefix, build in _BUILDERS:
        if kind.startswith(prefix):
            return build(field, found, model)
    if kind == "int_type" and is_beyond_64_bits(found["input"]):
        return _beyond_64_bits(field, model)
    if kind.endswith(("_type", "_parsing")) or kind == "json_invalid":
        return _wrong_type(field, found, model)
    message = found["msg"].removeprefix("Value error, ")
    return InvalidFormat(f'Field "{field}": {message}', field=field, got=_clip(found["input"]))


def _missing_field(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    return MissingField(f'Field "{field}" is required', field=field)


def _unknown(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    known = sorted(it.alias or name for name, it in model.model_fields.items())
    return InvalidInput(
        f'Field "{field}" is not an argument of this tool{suggest_name(field, known)}',
        field=field,
        expected=cast(Json, known),
        got=field,
    )


def _too_short(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    low, unit, length = _bounds(found, "min_length")
    limit = _limit(model, field, *LONG_RULES)
    return OutOfRange(
        f'Field "{field}" is too short (min {low} {unit}, got {length})',
        field=field,
        min=low,
        length=length,
        **({} if limit is None else {"max": limit}),
    )


def _too_long(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    high, unit, length = _bounds(found, "max_length")
    return PayloadTooLarge(
        f'Field "{field}" is too long (max {high} {unit}, got {length})',
        field=field,
        max=high,
        length=length,
    )


def _out_of_range(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    bounds = {"min": _limit(model, field, *LOW_RULES), "max": _limit(model, field, *HIGH_RULES)}
    known: dict[str, Json] = {name: value for name, value in bounds.items() if value is not None}
    message = found["msg"][:1].lower() + found["msg"][1:]
    return OutOfRange(
        f'Field "{field}" is out of range: {message}, got {_clip(found["input"])}',
        field=field,
        got=_clip(found["input"]),
        **known,
    )


def _beyond_64_bits(field: str, model: type[BaseModel]) -> BadArgument:
    low, high = _limit(model, field, *LOW_RULES), _limit(model, field, *HIGH_RULES)
    return OutOfRange(
        f'Field "{field}" is out of range: it has more than 64 bits',
        field=field,
        min=MIN_INT if low is None else low,
        max=MAX_INT if high is None else high,
    )


def _not_allowed(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    expected = str(found.get("ctx", {}).get("expected", ""))
    allowed = [it.strip(" '") for it in expected.replace(" or ", ", ").split(",")]
    return InvalidEnum(
        f'Field "{field}" must be one of {", ".join(allowed)}; got {_clip(found["input"])!r}',
        field=field,
        allowed=cast(Json, allowed),
        got=_clip(found["input"]),
    )


def _wrong_shape(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    pattern = str(found.get("ctx", {}).get("pattern", ""))
    got = _clip(found["input"])
    # A description says more to a reader than the pattern does.
    expected = _find_rules(_schema(model), field).get("description", pattern)
    return InvalidFormat(
        f'Field "{field}" has the wrong form: {got!r}. Expected: {expected}',
        field=field,
        expected=expected,
        got=got,
    )


def _control_character(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    context = found.get("ctx", {})
    return InvalidFormat(
        f'Field "{field}" has {found["msg"]}',
        field=field,
        got=context["sign"],
        position=context["position"],
        expected="text: of control characters only tab, line feed, form feed, carriage return",
    )


def _wrong_type(field: str, found: ErrorDetails, model: type[BaseModel]) -> BadArgument:
    kind = found["type"].removesuffix("_type").removesuffix("_parsing")
    expected = _EXPECTED.get(kind, kind)
    is_text_form = found["type"].endswith("_parsing") or kind in _TEXT_FORMS
    if is_text_form and isinstance(found["input"], str):
        # The right JSON type, and a text that cannot be read as what it should be.
        got = _clip(found["input"])
        message = f'Field "{field}" must be {expected}; got {got!r}'
        return InvalidFormat(message, field=field, expected=expected, got=got)
    got = _json_type(found["input"])
    return InvalidInput(
        f'Field "{field}" must be {expected}; got {got}', field=field, expected=expected, got=got
    )


_BUILDERS: Sequence[tuple[str, Callable[[str, ErrorDetails, type[BaseModel]], BadArgument]]] = (
    ("missing", _missing_field),
    ("extra_forbidden", _unknown),
    ("string_too_short", _too_short),
    ("too_short", _too_short),
    ("string_too_long", _too_long),
    ("too_long", _too_long),
    ("greater_than", _out_of_range),
    ("less_than", _out_of_range),
    ("finite_number", _out_of_range),
    ("multiple_of", _out_of_range),
    ("enum", _not_allowed),
    ("literal_error", _not_allowed),
    ("string_pattern_mismatch", _wrong_shape),
    (CONTROL_CHARACTER, _control_character),
)


def _first_absent(error: "SchemaError") -> str:
    wanted, given = cast(list[str], error.validator_value), cast(dict[str, Any], error.instance)
    return next((name for name in wanted if name not in given), "")


def _schema_range(error: "SchemaError") -> dict[str, Json]:
    """The range of the schema that was broken: of its number, or of its length."""
    is_length = str(error.validator) in SHORT_RULES
    low, high = (SHORT_RULES, LONG_RULES) if is_length else (LOW_RULES, HIGH_RULES)
    rules = cast(dict[str, Any], error.schema)
    found = {
        "min": next((rules[it] for it in low if it in rules), None),
        "max": next((rules[it] for it in high if it in rules), None),
    }
    return {name: it for name, it in found.items() if it is not None}


def _bounds(found: ErrorDetails, bound: str) -> tuple[int, str, int]:
    context = found.get("ctx", {})
    value = found["input"]
    length = context.get("actual_length", len(value) if hasattr(value, "__len__") else 0)
    return int(context[bound]), "chars" if isinstance(value, str) else "items", int(length)


def _limit(model: type[BaseModel], field: str, *names: str) -> float | int | None:
    """The first of these rules that the field's own schema has."""
    rules = _find_rules(_schema(model), field)
    return next((rules[name] for name in names if name in rules), None)


@lru_cache(SCHEMA_CACHE_SIZE)
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _find_rules(schema: dict[str, Any], field: str) -> dict[str, Any]:
    """The schema at a dotted path, inside of objects, lists and optional values."""
    node: Any = schema
    for step in field.split("."):
        rules = _resolve(cast(dict[str, Any], node), schema)
        inside = rules.get("properties", {}).get(step, rules.get("additionalProperties"))
        node = rules.get("items", inside)
        if not isinstance(node, dict):
            return {}
    return _resolve(cast(dict[str, Any], node), schema)


def _resolve(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and optional values to what they are when present."""
    options = [it for it in node.get("anyOf", ()) if it.get("type") != "null"]
    if len(options) == 1:
        node = {**node, **options[0]}
    name = str(node.get("$ref", "")).rpartition("/")[2]
    return schema["$defs"][name] if name else node


def _field_path(location: Sequence[int | str], model: type[BaseModel]) -> str:
    """The path as a caller wrote it, without pydantic's names of the branches of a union."""
    schema = _schema(model)
    kept: list[int | str] = []
    nodes: list[dict[str, Any]] = [schema]
    for step in location:
        options = [one for it in nodes for one in _branches(it, schema)]
        inside = [it for one in options if (it := _step_into(one, step)) is not None]
        if inside or len(options) < 2:
            kept.append(step)
            nodes = inside
    return _path(kept)


def _step_into(node: dict[str, Any], step: int | str) -> dict[str, Any] | None:
    if isinstance(step, int):
        found = node.get("items")
    else:
        found = node.get("properties", {}).get(step, node.get("additionalProperties"))
    # It may be true or false: anything goes, or nothing.
    return cast(dict[str, Any], found) if isinstance(found, dict) else None


def _branches(node: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """What a value at this place may be, null left out."""
    rules = _resolve(node, schema)
    return [_resolve(it, schema) for it in rules.get("anyOf", [rules]) if it.get("type") != "null"]


def _path(location: Sequence[int | str]) -> str:
    return ".".join(map(str, location)) or "arguments"


def _clip(value: object) -> Json:
    """A value as it came, bounded: an error must not become a payload."""
    if isinstance(value, int) and is_beyond_64_bits(value):
        # JSON cannot carry it as a number.
        value = str(value)
    if isinstance(value, bool | int | float) or value is None:
        return value
    text = value if isinstance(value, str) else type(value).__name__
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


def _json_type(value: object) -> str:
    python = type(value).__name__
    return _JSON_TYPES.get(python, python)


_EXPECTED = {
    "int": "integer",
    "bool": "boolean",
    "float": "number",
    "list": "array",
    "dict": "object",
    "datetime": "a time as in 2026-01-31T12:00:00Z (RFC 3339)",
    "datetime_from_date": "a time as in 2026-01-31T12:00:00Z (RFC 3339)",
    "uuid": "a UUID",
}

# Kinds that JSON has no type for: a string is right, and its text is not.
_TEXT_FORMS = frozenset(("datetime", "datetime_from_date", "uuid"))

_JSON_TYPES = {
    "str": "string",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "dict": "object",
    "list": "array",
    "NoneType": "null",
}

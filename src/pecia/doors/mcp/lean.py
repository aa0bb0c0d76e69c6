"""A schema as short as a model needs it to call a tool. What it leaves out is still checked."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

# Bounds that a call seldom meets; one that does is refused with the bound named.
_BOUNDS = frozenset(
    {"maxLength", "minLength", "pattern", "format", "minItems", "maxItems", "minimum", "maximum"}
)
_NOTHING: Schema = {"type": "null"}


def lean(schema: Schema) -> dict[str, Any]:
    """The same arguments by the same names, without bounds and without ways to say nothing.

    What lies inside an argument is for `find_tools` to tell: few calls need it.
    """
    known = schema.get("$defs", {})
    arguments = {name: _lean(it, known) for name, it in schema.get("properties", {}).items()}
    whole = {key: it for key, it in schema.items() if _is_told(key, it)}
    return {**whole, "properties": arguments}


def _lean(schema: Schema, known: Mapping[str, Schema]) -> dict[str, Any]:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        schema = {**known.get(name, {}), **{key: it for key, it in schema.items() if key != "$ref"}}
        # Once on the way: one that refers to itself, as another server's may, has an end here.
        known = {key: it for key, it in known.items() if key != name}
    choices = [it for it in schema.get("anyOf", ()) if it != _NOTHING]
    if len(choices) == 1:
        rest = {key: it for key, it in schema.items() if key != "anyOf"}
        return _lean({**choices[0], **rest}, known)
    told = {key: it for key, it in schema.items() if _is_told(key, it) and key != "properties"}
    if "properties" in schema:
        told.pop("required", None)
    if "items" in told:
        told["items"] = _lean(told["items"], known)
    if choices:
        told["anyOf"] = [_lean(it, known) for it in choices]
    return told


def _is_told(key: str, value: Any) -> bool:
    if key in _BOUNDS or key in ("$defs", "unaudited"):
        return False
    return not (key == "default" and not value) and not (
        key == "additionalProperties" and isinstance(value, bool)
    )

"""Makes untrusted JSON Schemas safe to run. Pure.

Our validator runs them over arguments: so they are finite, refer to nothing outside themselves, and
hold no regular expression (ReDoS).
"""

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

Schema: TypeAlias = dict[str, Any]

MAX_NODES = 5_000
MAX_DEPTH = 40

# The values of these map names to schemas; a name may equal a keyword.
_BY_NAME = frozenset({"properties", "dependentSchemas"})
# The values of these are data, not schemas: nothing in them is a keyword.
_VALUES = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated"})
_NAMES = frozenset(
    {"$id", "$schema", "$anchor", "$dynamicAnchor", "$vocabulary", "$comment"}
    | {"$defs", "definitions"}
)
_LEFT_TO_THE_SERVER = frozenset(
    {"pattern", "patternProperties", "propertyNames", "$dynamicRef"}
    | {"unevaluatedProperties", "unevaluatedItems"}
)
# Relaxing a part of these would make the whole stricter.
_CONTRARY = frozenset({"not", "if", "oneOf", "contains"})


class UnusableSchema(ValueError):
    """Why a schema cannot be used."""


def sanitize_schema(schema: object) -> tuple[Schema, tuple[str, ...]]:
    """The schema as it may be run and shown, and notes on what was dropped; or UnusableSchema."""
    if not isinstance(schema, dict):
        raise UnusableSchema("its schema is not an object")
    whole = cast(Schema, schema)
    made = _Sanitizer(whole)
    plain = made.schema(whole, ())
    if plain.setdefault("type", "object") != "object":
        raise UnusableSchema("its arguments are not an object")
    # Lazy import: few servers have upstream tools.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(plain)
    except SchemaError as error:
        raise UnusableSchema(
            f"its schema is not a valid JSON Schema: {error.message[:200]}"
        ) from None
    return plain, tuple(sorted(made.notes))


class _Sanitizer:
    """The state of one run: the size so far, and what was dropped."""

    def __init__(self, whole: Schema) -> None:
        self._whole = whole
        self._nodes = 0
        self._losses = 0
        self.notes: set[str] = set()

    def schema(self, node: object, inside: tuple[str, ...], depth: int = 0) -> Schema:
        """A schema with every reference inlined; recursion stops after one level."""
        self._count(depth)
        if isinstance(node, bool):
            return {} if node else {"not": {}}
        if not isinstance(node, dict):
            raise UnusableSchema("a part of its schema is not a schema")
        found = cast(Schema, node)
        if "$ref" in found:
            return self._follow_reference(found, inside, depth)
        made: Schema = {}
        for name, value in found.items():
            if self._is_kept(name, found):
                made |= self._convert_keyword(name, value, inside, depth)
        return made

    def _follow_reference(self, node: Schema, inside: tuple[str, ...], depth: int) -> Schema:
        target = node["$ref"]
        own = self.schema({it: node[it] for it in node if it != "$ref"}, inside, depth + 1)
        if target in inside:
            self._lose("a schema that refers to itself is checked once and not deeper")
            return own
        meant = self.schema(
            _resolve_pointer(self._whole, target), (*inside, str(target)), depth + 1
        )
        return {**meant, **own} if {*own} <= _ANNOTATIONS else {"allOf": [meant, own]}

    def _convert_keyword(
        self, name: str, value: object, inside: tuple[str, ...], depth: int
    ) -> Schema:
        before = self._losses
        made = self._value(name, value, inside, depth)
        if name in _CONTRARY and self._losses > before:
            self._lose(f"`{name}` is left to the server to check")
            return {}
        return {name: made}

    def _value(self, name: str, value: object, inside: tuple[str, ...], depth: int) -> Any:
        if name in _VALUES:
            self._count(depth)
            return value
        if isinstance(value, dict):
            given = cast(Schema, value)
            if name in _BY_NAME:
                return {key: self.schema(it, inside, depth + 1) for key, it in given.items()}
            return self.schema(given, inside, depth + 1)
        if isinstance(value, list):
            parts = cast(list[object], value)
            return [self._part(it, inside, depth) for it in parts]
        return value

    def _part(self, value: object, inside: tuple[str, ...], depth: int) -> object:
        return (
            self.schema(cast(object, value), inside, depth + 1)
            if isinstance(value, dict)
            else value
        )

    def _is_kept(self, name: str, beside: Schema) -> bool:
        if name in _LEFT_TO_THE_SERVER:
            self._lose(f"`{name}` is left to the server to check")
            return False
        # Without `patternProperties` it is unknown which other properties are allowed.
        is_blind = name == "additionalProperties" and "patternProperties" in beside
        return name not in _NAMES and not is_blind

    def _lose(self, note: str) -> None:
        self._losses += 1
        self.notes.add(note)

    def _count(self, depth: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnusableSchema(f"its schema unfolds to more than {MAX_NODES} parts")
        if depth > MAX_DEPTH:
            raise UnusableSchema(f"its schema is nested more than {MAX_DEPTH} deep")


def _resolve_pointer(whole: Mapping[str, Any], target: object) -> object:
    """Resolve a reference within the schema."""
    if not isinstance(target, str) or not target.startswith("#"):
        raise UnusableSchema("its schema refers to something outside of itself")
    found: Any = whole
    for step in filter(None, target[1:].split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            raise UnusableSchema(f"its schema refers to {target[:100]}, which it does not have")
        found = cast(Schema, found)[name]
    return cast(object, found)

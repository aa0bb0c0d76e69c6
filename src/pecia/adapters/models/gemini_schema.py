"""JSON Schemas as Gemini takes them: without the keywords it refuses, and no deeper than ten. Pure,
but for a line in the log where something was lost.

Keywords are taken out where a schema stands, and nowhere else: a property may be called `not`, and
the values of `enum` and `default` are somebody's words.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from pecia.kernel.errors import Json
from pecia.kernel.logs import Log

Schema: TypeAlias = dict[str, Any]

MAX_DEPTH = 10
MAX_NODES = 10_000
"""A schema may refer to itself several times over: unfolded, a small one has no end."""
UNSUPPORTED_KEYWORDS = frozenset(
    (
        *("$schema", "$id", "$ref", "$comment"),
        *("exclusiveMinimum", "exclusiveMaximum", "const", "propertyNames"),
        *("additionalItems", "contains"),
        *("patternProperties", "dependencies"),
        *("if", "then", "else"),
        *("allOf", "anyOf", "oneOf", "not"),
    )
)

# Where else schemas stand. Definitions are of no use once references are gone.
_DEFINITIONS = frozenset(("$defs", "definitions"))
_MAPS = frozenset(("properties", "dependentSchemas"))
_SINGLES = frozenset(("unevaluatedItems", "unevaluatedProperties", "contentSchema"))
_CHOICES = ("allOf", "anyOf", "oneOf")

_log = Log(__name__)


class UnconvertibleSchema(Exception):
    """It is no schema, or has no end. The text says where."""


@dataclass(frozen=True, slots=True)
class GeminiSchema:
    schema: Schema
    cut: tuple[str, ...]
    """Where something lay deeper than Gemini goes."""


def to_gemini_schema(name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema as Gemini takes it; as it is, where that cannot be. What is lost is logged."""
    made = _try_convert(name, schema)
    return schema if made is None else made


def convert_schema(schema: object) -> GeminiSchema:
    """The schema without what Gemini refuses, or Unconvertible."""
    if not isinstance(schema, Mapping):
        raise UnconvertibleSchema("$: is no object")
    root = dict(cast(Mapping[str, Any], schema))
    work = _Converter(root)
    return GeminiSchema(work.convert(root, _SchemaPath("$")), tuple(work.cut))


@dataclass(frozen=True, slots=True)
class _SchemaPath:
    at: str
    depth: int = 0
    followed: frozenset[str] = frozenset()
    """References on the way here: one that comes back to itself is not followed again."""

    def below(self, name: str) -> "_SchemaPath":
        return replace(self, at=f"{self.at}.{name}", depth=self.depth + 1)


@dataclass(slots=True)
class _Converter:
    root: Schema
    cut: list[str] = field(default_factory=list[str])
    nodes: int = 0

    def convert(self, given: object, place: _SchemaPath) -> Schema:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise UnconvertibleSchema(f"{place.at}: unfolded, it has more than {MAX_NODES} parts")
        if not isinstance(given, dict | bool):
            raise UnconvertibleSchema(f"{place.at}: is no schema")
        schema: Schema = {} if isinstance(given, bool) else cast(Schema, given)
        if place.depth > MAX_DEPTH:
            return self._bare(schema, place)
        schema, place = self._unfold(schema, place)
        return _with_known_required(dict(self._convert_keywords(schema, place)))

    def _bare(self, schema: Schema, place: _SchemaPath) -> Schema:
        bare: Schema = {"type": "object"}
        if schema != bare:
            self.cut.append(place.at)
        return bare

    def _convert_keywords(self, schema: Schema, place: _SchemaPath) -> Iterator[tuple[str, Any]]:
        for key, value in schema.items():
            if key in UNSUPPORTED_KEYWORDS or key in _DEFINITIONS:
                continue
            match key:
                case "type":
                    yield key, _first_type(value)
                case "items":
                    if (first := _first_item(value)) is not None:
                        yield key, self.convert(first, place.below(key))
                case "additionalProperties":
                    yield key, self._additional(value, place.below(key))
                case "prefixItems":
                    yield key, [self.convert(it, place.below(key)) for it in _list(value, place)]
                case _ if key in _MAPS:
                    yield key, self._convert_values(value, place.below(key))
                case _ if key in _SINGLES:
                    yield key, self.convert(value, place.below(key))
                case _:
                    yield key, value

    def _convert_values(self, value: object, place: _SchemaPath) -> Schema:
        if not isinstance(value, dict):
            raise UnconvertibleSchema(f"{place.at}: is no object")
        named = cast(dict[str, Any], value)
        return {
            name: self.convert(it, replace(place, at=f"{place.at}.{name}"))
            for name, it in named.items()
        }

    def _additional(self, value: object, place: _SchemaPath) -> bool | Schema:
        if isinstance(value, bool):
            return value
        return self.convert(cast(Schema, value), place) if isinstance(value, dict) else True

    def _unfold(self, schema: Schema, place: _SchemaPath) -> tuple[Schema, _SchemaPath]:
        """With what it refers to, and with the only choice that it leaves, in its own place."""
        while True:
            reference = schema.get("$ref")
            if isinstance(reference, str):
                rest = {key: it for key, it in schema.items() if key != "$ref"}
                target = None if reference in place.followed else self._target(reference)
                schema = {**target, **rest} if target is not None else rest
                place = replace(place, followed=place.followed | {reference})
            elif (only := _only_choice(schema)) is not None:
                keyword, choice = only
                rest = {key: it for key, it in schema.items() if key != keyword}
                schema = {**choice, **rest}
            else:
                return schema, place

    def _target(self, reference: str) -> Schema | None:
        """What a reference within this schema means; one to elsewhere means nothing here."""
        if not reference.startswith("#"):
            return None
        found: object = self.root
        for word in reference[1:].split("/")[1:]:
            name = word.replace("~1", "/").replace("~0", "~")
            found = cast(dict[str, object], found).get(name) if isinstance(found, dict) else None
        return cast(Schema, found) if isinstance(found, dict) else None


def _try_convert(name: str, schema: object) -> Schema | None:
    try:
        made = convert_schema(schema)
    except UnconvertibleSchema as why:
        _log.warning("gemini.unconverted", tool=name[:200], reason=str(why)[:500])
        return None
    if made.cut:
        places: list[Json] = [it[:200] for it in made.cut[:20]]
        _log.warning("gemini.cut", tool=name[:200], depth=MAX_DEPTH, places=places)
    return made.schema


def _only_choice(schema: Schema) -> tuple[str, Schema] | None:
    """The keyword and the one alternative, where there is one beside null."""
    for keyword in _CHOICES:
        given = schema.get(keyword)
        if not isinstance(given, list):
            continue
        choices = [it for it in cast(list[object], given) if it != {"type": "null"}]
        if len(choices) == 1 and isinstance(choices[0], dict):
            return keyword, cast(Schema, choices[0])
    return None


def _first_type(value: object) -> object:
    if not isinstance(value, list):
        return value
    names = (it for it in cast(list[object], value) if isinstance(it, str) and it != "null")
    return next(names, "string")


def _first_item(value: object) -> object:
    if not isinstance(value, list):
        return value
    return next(iter(cast(list[object], value)), None)


def _list(value: object, place: _SchemaPath) -> list[object]:
    if not isinstance(value, list):
        raise UnconvertibleSchema(f"{place.at}: is no list")
    return cast(list[object], value)


def _with_known_required(schema: Schema) -> Schema:
    """Gemini refuses a schema that requires what it does not describe."""
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return schema
    described = cast(dict[str, object], properties)
    known = [it for it in cast(list[object], required) if isinstance(it, str) and it in described]
    if known:
        return {**schema, "required": known}
    return {key: it for key, it in schema.items() if key != "required"}

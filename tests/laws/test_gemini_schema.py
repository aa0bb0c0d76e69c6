"""What holds of every schema on its way to Gemini, be it one or not."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.adapters.models.gemini_schema import (
    MAX_DEPTH,
    UNSUPPORTED_KEYWORDS,
    UnconvertibleSchema,
    convert_schema,
    to_gemini_schema,
)

SOME = settings(max_examples=50, deadline=None)

NAMES = st.sampled_from(["a", "b", "not", "const", "$ref", "if", "items", "type", "properties"])
REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "https://x.example"])
WORDS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["string", "null", "x"])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=2)),
    max_leaves=5,
)
# The only choice that a schema leaves takes its place, so that it must be one.
PLAIN = sorted(UNSUPPORTED_KEYWORDS - {"allOf", "anyOf", "oneOf"})
TYPES: list[Any] = ["string", ["null", "object"], ["null"]]
# What is no schema, where one may stand.
NONE: list[Any] = [None, 5, "x", [{}]]


def _saying(keywords: Sequence[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(keywords), values, min_size=1, max_size=1)


LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    _saying(["$ref"], REFERENCES),
    _saying(["type"], st.sampled_from(TYPES)),
    _saying(PLAIN, WORDS),
    _saying(["enum", "default", "examples"], WORDS),
)


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A schema with schemas in it, at every place where there can be one."""
    many = st.lists(inner, max_size=2)
    named = st.dictionaries(NAMES, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": named,
            "required": st.lists(NAMES, max_size=2),
            "items": st.one_of(inner, many),
            "additionalProperties": st.one_of(inner, st.sampled_from(NONE)),
            "anyOf": many,
            "allOf": many,
            "not": inner,
            "$defs": st.fixed_dictionaries({}, optional={"a": inner, "b": inner}),
            "prefixItems": many,
            "dependentSchemas": named,
        },
    )


def _buried(schema: Any, ways: list[str]) -> dict[str, Any]:
    """The schema below others, as many as there are ways."""
    buried: dict[str, Any] = {"items": schema}
    for way in ways:
        buried = {way: {"a": buried} if way == "properties" else buried}
    return buried


WAYS = st.lists(st.sampled_from(["properties", "items", "additionalProperties"]), max_size=14)
SCHEMAS = st.builds(_buried, st.recursive(LEAVES, _around, max_leaves=12), WAYS)


def places(schema: Any, depth: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    """Every place where a schema stands, and how deep that is."""
    if not isinstance(schema, dict):
        return
    here = cast(dict[str, Any], schema)
    yield here, depth
    named = [here.get(key, {}).values() for key in ("properties", "dependentSchemas")]
    single = [here.get(key) for key in ("items", "additionalProperties")]
    for it in (*chain(*named), *single, *here.get("prefixItems", [])):
        yield from places(it, depth + 1)


@SOME
@given(SCHEMAS)
def test_no_listed_keyword_stands_where_a_schema_does_and_none_is_too_deep(schema: Any) -> None:
    for found, depth in places(convert_schema(schema).schema):
        assert not found.keys() & UNSUPPORTED_KEYWORDS
        assert depth <= MAX_DEPTH + 1
        assert depth <= MAX_DEPTH or found == {"type": "object"}


@SOME
@given(SCHEMAS)
def test_what_is_converted_stays_as_it_is(schema: Any) -> None:
    once = convert_schema(schema).schema
    again = convert_schema(once)
    assert again.schema == once
    assert again.cut == ()


@SOME
@given(SCHEMAS)
def test_every_property_keeps_its_name_and_what_is_required_is_described(schema: Any) -> None:
    made = convert_schema(schema).schema
    assert made.get("properties", {}).keys() >= schema.get("properties", {}).keys()
    for found, _ in places(made):
        if "properties" in found:
            assert set(found.get("required", [])) <= set(found["properties"])


@SOME
@given(
    st.dictionaries(
        st.one_of(NAMES, st.sampled_from(sorted(UNSUPPORTED_KEYWORDS))), WORDS, max_size=4
    )
)
def test_whatever_comes_goes_out_converted_or_as_it_was(anything: dict[str, Any]) -> None:
    made = to_gemini_schema("x", anything)
    try:
        assert made == convert_schema(anything).schema
    except UnconvertibleSchema:
        assert made is anything

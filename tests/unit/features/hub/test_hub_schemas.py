"""Schemas of strangers: what is kept of them, what is left out, and what is refused."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pecia.features.hub.core.schema_sanitizer import MAX_DEPTH, UnusableSchema, sanitize_schema


def fits(schema: dict[str, Any], value: Any) -> bool:
    return Draft202012Validator(schema).is_valid(value)  # pyright: ignore[reportUnknownMemberType] - the library is untyped here


def test_a_plain_schema_comes_through_as_it_is() -> None:
    plain = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A file.", "maxLength": 9},
            "key": {"type": "string", "format": "password"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert sanitize_schema(plain) == (plain, ())


def test_properties_may_be_named_like_keywords() -> None:
    names = ("pattern", "$ref", "$id", "format", "$defs", "properties", "not", "const")
    schema = {"type": "object", "properties": {it: {"type": "string"} for it in names}}
    assert sanitize_schema(schema) == (schema, ())


def test_values_are_not_taken_for_schemas() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"enum": [{"$ref": "https://x.example"}, {"pattern": "("}]},
            "b": {"const": {"pattern": "("}, "default": {"$ref": "#/nowhere"}},
        },
    }
    assert sanitize_schema(schema) == (schema, ())


def test_references_are_replaced_by_what_they_mean() -> None:
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/point", "description": "Where."}},
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }
    plain, _ = sanitize_schema(schema)
    assert plain["properties"]["at"] == {
        "type": "object",
        "properties": {"x": {"type": "number"}},
        "description": "Where.",
    }
    assert "$defs" not in plain


def test_one_that_refers_to_itself_has_an_end() -> None:
    tree = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "name": {"type": "string"}},
        "required": ["name"],
    }
    plain, notes = sanitize_schema(tree)
    assert fits(plain, {"name": "a", "left": {"name": "b", "left": {"anything": 1}}})
    assert not fits(plain, {"name": "a", "left": {"name": 1}})
    assert notes


def test_regular_expressions_are_left_to_the_server() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(a+)+$"}},
        "patternProperties": {"^x": {"type": "number"}},
        "additionalProperties": False,
    }
    plain, notes = sanitize_schema(schema)
    assert "pattern" not in repr(plain)
    assert fits(plain, {"x1": 1}), "what a pattern allowed must not be refused for want of it"
    assert {*notes} == {
        f"`{it}` is left to the server to check" for it in ("pattern", "patternProperties")
    }


def test_what_says_less_than_it_did_refuses_no_more() -> None:
    less = {"type": "string", "pattern": "^a"}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "a": {"not": less},
            "b": {"oneOf": [less, {"type": "string", "pattern": "^b"}]},
            "c": {"if": less, "then": {"maxLength": 1}},
        },
    }
    plain, _ = sanitize_schema(schema)
    assert fits(plain, {"a": "b", "b": "b", "c": "bbb"})


def test_what_stands_beside_a_reference_holds_as_well() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/one", "properties": {"b": {"type": "string"}}}},
        "$defs": {"one": {"properties": {"a": {}}, "additionalProperties": False}},
    }
    plain, _ = sanitize_schema(schema)
    assert fits(plain, {"at": {"a": 1}})
    assert not fits(plain, {"at": {"c": 1}})


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ([], "not an object"),
        ({"type": "string"}, "not an object"),
        ({"properties": {"a": 3}}, "not a schema"),
        ({"properties": {"a": {"type": "words"}}}, "not a valid JSON Schema"),
        ({"properties": {"a": {"$ref": "https://x.example/s.json"}}}, "outside of itself"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "outside of itself"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "does not have"),
        ({"properties": {"a": {"minLength": "many"}}}, "not a valid JSON Schema"),
    ],
)
def test_what_cannot_be_run_is_refused(schema: object, why: str) -> None:
    with pytest.raises(UnusableSchema, match=why):
        sanitize_schema(schema)


def test_one_that_unfolds_without_end_is_refused() -> None:
    laughs: dict[str, Any] = {
        f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 10} for at in range(8)
    }
    laughs["a8"] = {"type": "string"}
    with pytest.raises(UnusableSchema, match="unfolds"):
        sanitize_schema(
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/a0"}}, "$defs": laughs}
        )


def test_one_that_is_too_deep_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 1):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(UnusableSchema, match="deep"):
        sanitize_schema(deep)

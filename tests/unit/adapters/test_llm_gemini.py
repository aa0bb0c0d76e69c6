"""Schemas on their way to Gemini: the promises one by one, and what is really sent."""

import logging
from typing import Any

import pytest

from pecia.adapters.models.chat_model import ProviderChatModel
from pecia.adapters.models.gemini_schema import MAX_NODES, convert_schema, to_gemini_schema
from pecia.adapters.models.messages import ChatMessage
from pecia.adapters.models.response_schema import schema_of_json
from tests.provider import Calls, LoopbackProvider

META = ("$schema", "$id", "$ref", "$comment")
VALIDATION = ("exclusiveMinimum", "exclusiveMaximum", "const", "propertyNames")
OF_ARRAYS = ("additionalItems", "contains")
OF_OBJECTS = ("patternProperties", "dependencies")
CONDITIONS = ("if", "then", "else")
COMPOSITION = ("allOf", "anyOf", "oneOf", "not")
REFUSED = (*META, *VALIDATION, *OF_ARRAYS, *OF_OBJECTS, *CONDITIONS, *COMPOSITION)
VALUES: dict[str, Any] = {
    "$ref": "https://elsewhere.example/schema",
    "anyOf": [{"type": "string"}, {"type": "integer"}],
    "allOf": [{"minLength": 1}, {"maxLength": 2}],
    "oneOf": [],
}
DRAFT_07 = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "path": {"type": ["string", "null"], "description": "Where."},
        "depth": {"type": "integer", "exclusiveMinimum": 0, "default": 1},
    },
    "required": ["path"],
}


def nested(levels: int) -> dict[str, Any]:
    """A string so many levels below the root."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


def inner(schema: dict[str, Any], levels: int) -> dict[str, Any]:
    for _ in range(levels):
        schema = schema["properties"]["x"]
    return schema


@pytest.mark.requirement("memory.gemini.converts_draft_07")
def test_a_schema_of_a_tool_loses_only_what_gemini_refuses() -> None:
    assert to_gemini_schema("list_files", DRAFT_07) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "depth": {"type": "integer", "default": 1},
        },
        "required": ["path"],
    }


@pytest.mark.requirement("memory.gemini.converts_draft_07")
@pytest.mark.anyio
async def test_gemini_is_sent_what_was_converted_and_others_what_came() -> None:
    shape = schema_of_json("found", DRAFT_07)
    sent: dict[str, Any] = {}
    for name in ("gemini", "openai"):
        with LoopbackProvider(Calls({"path": "a"})) as provider:
            model = ProviderChatModel(provider.as_provider(name), guard=provider.guard)
            await model.chat_structured([ChatMessage("user", "Hello.")], shape, key="sk-x")
            sent[name] = provider.requests[0].body
    [declared] = sent["gemini"]["tools"][0]["functionDeclarations"]
    said = str(declared)
    assert "path" in said
    assert "exclusiveMinimum" not in said
    assert "$schema" not in said
    assert "exclusiveMinimum" in str(sent["openai"])


@pytest.mark.requirement(
    "memory.gemini.strips_meta_schema",
    "memory.gemini.strips_validation",
    "memory.gemini.strips_array_validation",
    "memory.gemini.strips_object_validation",
    "memory.gemini.strips_conditionals",
    "memory.gemini.strips_composition",
)
@pytest.mark.parametrize("keyword", REFUSED)
def test_a_keyword_that_gemini_refuses_is_gone_at_the_root_and_inside(keyword: str) -> None:
    value = VALUES.get(keyword, {"type": "string"})
    kept = {"type": "object", "description": "Kept."}
    schema = {**kept, keyword: value, "properties": {"a": {**kept, keyword: value}}}
    assert convert_schema(schema).schema == {**kept, "properties": {"a": kept}}


@pytest.mark.requirement("memory.gemini.strips_keywords_only")
def test_a_property_may_be_called_like_a_keyword_and_words_of_others_stay() -> None:
    words: dict[str, Any] = {"const": 1, "$ref": "#/x", "not": {}}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {it: {"type": "string", "default": words, "enum": [words]} for it in REFUSED},
        "required": ["not", "const"],
        "examples": [words],
    }
    assert convert_schema(schema).schema == schema


@pytest.mark.requirement("memory.gemini.type_array")
@pytest.mark.parametrize(
    ("types", "first"),
    [(["string", "null"], "string"), (["null", "integer"], "integer"), (["null"], "string")],
)
def test_of_several_types_the_first_that_is_not_null_is_left(types: list[str], first: str) -> None:
    assert convert_schema({"type": types}).schema == {"type": first}


@pytest.mark.requirement("memory.gemini.items_array")
def test_of_several_schemas_for_items_the_first_is_left() -> None:
    several = {"type": "array", "items": [{"type": "string", "const": "a"}, {"type": "integer"}]}
    assert convert_schema(several).schema == {"type": "array", "items": {"type": "string"}}


@pytest.mark.requirement(
    "memory.gemini.additional_boolean",
    "memory.gemini.additional_schema",
    "memory.gemini.additional_other",
)
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (True, True),
        (False, False),
        ({"type": ["null", "string"], "not": {}}, {"type": "string"}),
        ("yes", True),
        (None, True),
    ],
)
def test_what_else_an_object_may_hold_is_kept_converted_or_anything(given: Any, kept: Any) -> None:
    assert convert_schema({"additionalProperties": given}).schema == {"additionalProperties": kept}


@pytest.mark.requirement("memory.gemini.depth_ten")
def test_ten_levels_are_converted_and_the_eleventh_is_a_bare_object() -> None:
    for levels in (9, 10):
        made = convert_schema(nested(levels))
        assert (inner(made.schema, levels), made.cut) == ({"type": "string"}, ())
    made = convert_schema(nested(11))
    assert inner(made.schema, 11) == {"type": "object"}
    assert len(made.cut) == 1


@pytest.mark.requirement("memory.gemini.failure_falls_back")
@pytest.mark.parametrize("broken", [{"properties": 1}, {"properties": {"a": "b"}}])
def test_what_cannot_be_converted_goes_out_as_it_came_and_the_next_converted(
    broken: dict[str, Any],
) -> None:
    assert to_gemini_schema("broken", broken) is broken
    assert "$schema" not in to_gemini_schema("next", DRAFT_07)


@pytest.mark.requirement("memory.gemini.flat_schema_unchanged")
def test_a_flat_schema_comes_through_as_it_is() -> None:
    flat = {
        "type": "object",
        "title": "Search",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What for."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert convert_schema(flat).schema == flat


@pytest.mark.requirement("memory.gemini.warnings_logged")
def test_whatever_is_lost_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        to_gemini_schema("sound", DRAFT_07)
        assert caplog.records == []
        to_gemini_schema("broken", {"properties": 1})
        to_gemini_schema("deep", nested(11))
    told = [(it.__dict__["action"], it.__dict__["fields"]["tool"]) for it in caplog.records]
    assert told == [("gemini.unconverted", "broken"), ("gemini.cut", "deep")]


def test_references_within_the_schema_are_put_in_place_and_the_only_choice_too() -> None:
    schema = {
        "properties": {
            "a": {"anyOf": [{"$ref": "#/$defs/Path"}, {"type": "null"}], "description": "Mine."},
            "b": {"allOf": [{"$ref": "#/definitions/a~1b"}]},
        },
        "$defs": {"Path": {"type": "string", "description": "Theirs."}},
        "definitions": {"a/b": {"type": "integer"}},
    }
    assert convert_schema(schema).schema == {
        "properties": {"a": {"type": "string", "description": "Mine."}, "b": {"type": "integer"}}
    }


def test_a_schema_that_refers_to_itself_has_an_end() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "name": {"type": "string"}}}
    made = convert_schema(node).schema
    assert made["properties"]["next"]["properties"]["next"] == {}
    wide = {f"p{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(12)}
    defs = {f"d{at}": {"properties": wide} for at in range(13)}
    endless = {"$ref": "#/$defs/d0", "$defs": defs}
    assert to_gemini_schema("wide", endless) is endless, f"unfolded: more than {MAX_NODES} parts"

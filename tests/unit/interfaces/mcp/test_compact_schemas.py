"""Schemas of the front desk: all arguments, few words."""

from typing import Any

from pecia.interfaces.mcp.methods.tool_list import compact_schema

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["query"],
    "$defs": {
        "Level": {"enum": ["light", "dense"], "type": "string"},
        "Options": {
            "type": "object",
            "properties": {"force": {"type": "boolean"}},
            "required": ["force"],
        },
    },
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 9, "description": "Words."},
        "path": {
            "anyOf": [{"type": "string", "pattern": "x"}, {"type": "null"}],
            "default": None,
            "description": "A glob.",
        },
        "level": {"$ref": "#/$defs/Level", "default": "light"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
        "facts": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "unaudited": True,
        },
        "options": {"$ref": "#/$defs/Options"},
        "several": {"type": "array", "items": {"$ref": "#/$defs/Options"}, "maxItems": 5},
    },
}


def test_every_argument_stays_with_what_may_be_said_in_it() -> None:
    assert compact_schema(SCHEMA) == {
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": {"type": "string", "description": "Words."},
            "path": {"type": "string", "description": "A glob."},
            "level": {"enum": ["light", "dense"], "type": "string", "default": "light"},
            "limit": {"type": "integer", "default": 5},
            "facts": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
            },
            "options": {"type": "object"},
            "several": {"type": "array", "items": {"type": "object"}},
        },
    }


def test_a_schema_that_refers_to_itself_or_nowhere_has_an_end() -> None:
    turning = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Turning"}]}
    schema = {
        "$defs": {"Turning": turning},
        "properties": {"a": {"$ref": "#/$defs/Turning"}, "b": {"$ref": "#/definitions/None"}},
    }
    assert compact_schema(schema)["properties"] == {
        "a": {"anyOf": [{"type": "string"}, {}]},
        "b": {},
    }

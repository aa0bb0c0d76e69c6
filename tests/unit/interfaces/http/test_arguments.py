"""Bodies and queries, read strictly."""

from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from pecia.interfaces.http.routes.arguments import arguments_from_query, parse_json_object
from pecia.kernel.errors import InvalidInput, InvalidRequest, Json, ParseError
from pecia.kernel.tool.model import Input

SCHEMA: dict[str, Any] = {
    "$defs": {"Mode": {"enum": ["a", "b"], "type": "string"}},
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "rate": {"type": "number"},
        "deep": {"type": "boolean"},
        "mode": {"$ref": "#/$defs/Mode"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "tags": {"items": {"type": "string"}, "type": "array"},
        "sizes": {"anyOf": [{"items": {"type": "integer"}, "type": "array"}, {"type": "null"}]},
    },
}


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("", {}),
        ("text=5", {"text": "5"}),
        ("text=", {"text": ""}),
        ("text=a%20b%26c", {"text": "a b&c"}),
        ("count=5", {"count": 5}),
        ("count=-5", {"count": -5}),
        ("count=5.0", {"count": 5}),
        ("text=5.0", {"text": "5.0"}),
        ("rate=2.5e-1", {"rate": 0.25}),
        ("deep=true", {"deep": True}),
        ("deep=false", {"deep": False}),
        ("mode=a", {"mode": "a"}),
        ("maybe=7", {"maybe": 7}),
        ("tags=a&tags=b", {"tags": ["a", "b"]}),
        ("tags=a", {"tags": ["a"]}),
        ("sizes=1&sizes=2", {"sizes": [1, 2]}),
    ],
)
def test_a_parameter_has_the_type_of_its_property(query: str, arguments: dict[str, Json]) -> None:
    found = arguments_from_query(query, SCHEMA)
    assert found == arguments
    assert [type(it) for it in found.values()] == [type(it) for it in arguments.values()]


@pytest.mark.parametrize(
    "query",
    [
        "count=5x",
        "count=5.5",
        "count=5.",
        "count=0x5",
        "count=1_000",
        "count=٣",
        "rate=nan",
        "rate=inf",
        "deep=yes",
    ],
)
def test_what_is_not_of_its_type_stays_text_for_validation_to_name(query: str) -> None:
    name, _, text = query.partition("=")
    assert arguments_from_query(query, SCHEMA) == {name: text}


def test_an_unknown_parameter_is_handed_on_to_be_refused_by_name() -> None:
    assert arguments_from_query("cuont=5", SCHEMA) == {"cuont": "5"}


def test_a_parameter_that_is_no_list_may_not_come_twice() -> None:
    with pytest.raises(InvalidInput) as refused:
        arguments_from_query("count=1&count=2", SCHEMA)
    assert refused.value.fields["field"] == "count"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"{'a': 1}", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1,}', b"\xff", b"{}{}"],
)
def test_a_body_that_is_not_json_is_a_parse_error(body: bytes) -> None:
    with pytest.raises(ParseError):
        parse_json_object(body)


def test_half_a_character_is_a_parse_error() -> None:
    with pytest.raises(ParseError):
        parse_json_object(rb'{"a": "\ud800"}')


@pytest.mark.parametrize("depth", [900, 1010, 5_000, 500_000])
def test_a_body_nested_without_end_is_refused_and_harms_nobody(depth: int) -> None:
    with pytest.raises((ParseError, InvalidRequest)):
        parse_json_object(b"[" * depth + b"]" * depth)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"5", b"true"])
def test_json_that_is_no_object_is_an_invalid_request(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_json_object(body)


@pytest.mark.parametrize("body", [b'{"a": 1, "a": 2}', rb'{"b": [{"a": 1, "\u0061": 2}]}'])
def test_a_name_given_twice_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_json_object(body)
    assert refused.value.fields["field"] == "a"


class Everything(Input):
    text: str = ""
    count: int = 0
    deep: bool = False
    tags: list[str] = Field(default_factory=list[str])
    maybe: int | None = None


@given(
    st.builds(
        Everything,
        text=st.text(alphabet=st.characters(exclude_categories=["Cs"])),
        count=st.integers(-(10**18), 10**18),
        deep=st.booleans(),
        tags=st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=1),
        maybe=st.integers(-(10**6), 10**6),
    )
)
@settings(max_examples=50, deadline=None)
def test_what_was_written_into_a_query_is_read_out_of_it(given_: Everything) -> None:
    words = given_.model_dump(mode="json")
    words["deep"] = str(given_.deep).lower()
    found = arguments_from_query(urlencode(words, doseq=True), Everything.model_json_schema())
    assert Everything.model_validate(found, strict=True) == given_

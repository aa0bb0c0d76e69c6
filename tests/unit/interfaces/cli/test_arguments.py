"""Words of a command line as arguments of a tool."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.interfaces.cli.tools.arguments import parse_arguments, parse_json_object
from pecia.kernel.errors import InvalidEnum, InvalidFormat, InvalidInput, Json, MissingField

SCHEMA: dict[str, Any] = {
    "$defs": {"Scope": {"enum": ["pecia.read", "pecia.write"], "type": "string"}},
    "properties": {
        "name": {"type": "string"},
        "limit": {"type": "integer", "default": 50},
        "ratio": {"type": "number"},
        "include_revoked": {"type": "boolean", "default": False},
        "days": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "role": {"anyOf": [{"enum": ["reader", "owner"], "type": "string"}, {"type": "null"}]},
        "scopes": {"type": "array", "items": {"$ref": "#/$defs/Scope"}},
        "to": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "rows": {"type": "array", "items": {"type": "object"}},
        "extra": {"type": "object"},
        "value": {"type": "string", "secret": True},
    },
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--name", "ana"], {"name": "ana"}),
        (["--name=ana"], {"name": "ana"}),
        (["--name="], {"name": ""}),
        (["--name=--json"], {"name": "--json"}),
        (["--name", "7"], {"name": "7"}),
        (["--name", "-5"], {"name": "-5"}),
        (["--limit", "-5"], {"limit": -5}),
        (["--limit", "5.0"], {"limit": 5}),
        (["--name", "5.0"], {"name": "5.0"}),
        (["--ratio", "0.5"], {"ratio": 0.5}),
        (["--ratio", "2"], {"ratio": 2.0}),
        (["--include-revoked"], {"include_revoked": True}),
        (["--include_revoked"], {"include_revoked": True}),
        (["--include-revoked", "false"], {"include_revoked": False}),
        (["--include-revoked=true"], {"include_revoked": True}),
        (["--no-include-revoked"], {"include_revoked": False}),
        (["--include-revoked", "--name", "x"], {"include_revoked": True, "name": "x"}),
        (["--days", "7"], {"days": 7}),
        (["--days", "null"], {"days": None}),
        (["--role", "null"], {"role": None}),
        (["--role", "owner"], {"role": "owner"}),
        (
            ["--scopes", "pecia.read", "--scopes", "pecia.write"],
            {"scopes": ["pecia.read", "pecia.write"]},
        ),
        (["--numbers", "1", "--numbers", "-2"], {"numbers": [1, -2]}),
        (["--to", "[1]"], {"to": ["[1]"]}),
        (["--to", "[a]*.md"], {"to": ["[a]*.md"]}),
        (["--to", '["a", "b"]'], {"to": ["a", "b"]}),
        (["--to", '["a"]', "--to", "b", "--to", '["c"]'], {"to": ["a", "b", "c"]}),
        (["--to", "[]"], {"to": []}),
        (["--to", "a,b"], {"to": ["a,b"]}),
        (["--either", '["a", "b"]'], {"either": ["a", "b"]}),
        (["--either", "a"], {"either": ["a"]}),
        (["--numbers", "[1, 2]"], {"numbers": [1, 2]}),
        (["--scopes", '["pecia.read"]'], {"scopes": ["pecia.read"]}),
        (["--scopes", "pecia.read,pecia.write"], {"scopes": ["pecia.read", "pecia.write"]}),
        (["--scopes", "pecia.read", "pecia.write"], {"scopes": ["pecia.read", "pecia.write"]}),
        (["--rows", '[{"a": 1}, {"b": 2}]'], {"rows": [{"a": 1}, {"b": 2}]}),
        (["--extra", '{"a": [1, null]}'], {"extra": {"a": [1, None]}}),
    ],
)
def test_a_word_gets_the_type_that_the_schema_gives_it(
    words: list[str], expected: dict[str, Json]
) -> None:
    assert parse_arguments(words, SCHEMA) == expected


def test_the_word_null_stays_text_where_text_is_wanted() -> None:
    assert parse_arguments(["--note", "null"], SCHEMA) == {"note": "null"}


def test_words_without_a_flag_fill_the_positions_in_order() -> None:
    found = parse_arguments(["ana", "7", "--ratio", "1.5"], SCHEMA, positional=("name", "limit"))
    assert found == {"name": "ana", "limit": 7, "ratio": 1.5}


def test_the_last_position_takes_the_rest_when_it_is_a_list() -> None:
    found = parse_arguments(["ana", "a", "b"], SCHEMA, positional=("name", "to"))
    assert found == {"name": "ana", "to": ["a", "b"]}


def test_only_a_value_that_a_list_allows_goes_to_it_without_its_flag() -> None:
    found = parse_arguments(["--scopes", "pecia.read", "ci"], SCHEMA, positional=("name",))
    assert found == {"scopes": ["pecia.read"], "name": "ci"}


def test_a_second_value_of_a_list_is_refused_with_how_to_write_it() -> None:
    with pytest.raises(InvalidInput, match="unexpected word 'b'; a list is written --to a --to b"):
        parse_arguments(["--to", "a", "b"], SCHEMA)


@pytest.mark.parametrize("word", ["[1, 2.5]", '["x"]', "[null]", "[true]"])
def test_a_json_list_of_other_items_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="numbers must be integer"):
        parse_arguments(["--numbers", word], SCHEMA)


def test_a_position_that_was_given_by_its_flag_is_passed_over() -> None:
    found = parse_arguments(["--name", "ana", "7"], SCHEMA, positional=("name", "limit"))
    assert found == {"name": "ana", "limit": 7}


def test_after_two_dashes_nothing_is_a_flag() -> None:
    assert parse_arguments(["--", "--limit"], SCHEMA, positional=("name",)) == {"name": "--limit"}


def test_an_unknown_flag_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match="did you mean --limit") as caught:
        parse_arguments(["--limt", "5"], SCHEMA)
    assert caught.value.fields["field"] == "limt"


def test_a_negation_of_something_that_is_not_a_boolean_is_no_flag() -> None:
    with pytest.raises(InvalidInput, match="--no-limit is not an argument"):
        parse_arguments(["--no-limit"], SCHEMA)


@pytest.mark.parametrize("value", ["---\ntitle: Keys\n---\n# Keys\n", "--- a", "-- b", "--a b"])
def test_a_value_that_cannot_be_a_flag_is_a_value(value: str) -> None:
    assert parse_arguments(["--name", value], SCHEMA) == {"name": value}


def test_the_advice_for_a_value_like_a_flag_is_never_a_cut_copy_of_it() -> None:
    long = f"--{'long' * 40}"
    with pytest.raises(MissingField, match=r"write --name=VALUE$") as caught:
        parse_arguments(["--name", long], SCHEMA)
    assert f"{long[:60]}…" in str(caught.value)
    with pytest.raises(MissingField):
        parse_arguments(["--name", "--extra=a b"], SCHEMA)


@pytest.mark.parametrize("words", [["--limit"], ["--limit", "--name", "x"]])
def test_a_flag_without_its_value_is_refused(words: list[str]) -> None:
    with pytest.raises(MissingField, match="--limit needs a value"):
        parse_arguments(words, SCHEMA)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--limit", "five"], "limit must be integer"),
        (["--limit", "5.5"], "limit must be integer"),
        (["--ratio", "nan"], "ratio must be number"),
        (["--ratio", "inf"], "ratio must be number"),
        (["--days", "soon"], "days must be integer or null"),
        (["--extra", "[]"], "extra must be JSON object"),
        (["--extra", "{"], "extra must be JSON object"),
        (["--include-revoked=maybe"], "include_revoked must be boolean"),
        (["--numbers", "x"], "numbers must be integer"),
    ],
)
def test_a_word_of_the_wrong_type_is_refused_with_what_was_expected(
    words: list[str], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse_arguments(words, SCHEMA)


def test_a_word_outside_the_choices_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidEnum) as caught:
        parse_arguments(["--role", "boss"], SCHEMA)
    assert caught.value.fields["allowed"] == ["reader", "owner", "null"]


def test_one_argument_cannot_be_given_twice() -> None:
    with pytest.raises(InvalidInput, match="name is given twice"):
        parse_arguments(["--name", "a", "--name", "b"], SCHEMA)


def test_an_argument_of_the_document_cannot_be_given_again_as_a_flag() -> None:
    with pytest.raises(InvalidInput, match="name is given twice"):
        parse_arguments(["--name", "b"], SCHEMA, given={"name": "a"})


def test_a_word_that_belongs_nowhere_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unexpected word 'stray'"):
        parse_arguments(["stray"], SCHEMA)


def test_a_required_argument_that_is_missing_is_named_as_it_is_typed() -> None:
    schema = {**SCHEMA, "required": ["include_revoked", "name"]}
    with pytest.raises(MissingField, match="NAME is missing"):
        parse_arguments(["--include-revoked"], schema, positional=("name",))
    with pytest.raises(MissingField, match="--include-revoked is missing"):
        parse_arguments(["x"], schema, positional=("name",))


def test_a_secret_is_not_taken_from_the_command_line() -> None:
    with pytest.raises(InvalidInput, match="must not be on a command line"):
        parse_arguments(["--value", "hunter2"], SCHEMA)


def test_a_secret_may_come_in_the_document() -> None:
    assert parse_arguments([], SCHEMA, given={"value": "hunter2"}) == {"value": "hunter2"}


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InvalidFormat, match="is not UTF-8"):
        parse_arguments(["--name", "\udcff"], SCHEMA)


@pytest.mark.parametrize("text", ["{", "[1]", "7", '"x"'])
def test_a_document_must_be_a_json_object(text: str) -> None:
    with pytest.raises((InvalidFormat, InvalidInput)):
        parse_json_object(text, field="args")


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(st.characters(exclude_categories=["Cs"])),
        "limit": st.integers(-(2**63), 2**63),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "include_revoked": st.booleans(),
        "days": st.none() | st.integers(),
        "role": st.sampled_from(["reader", "owner", None]),
        "to": st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3),
        "either": st.lists(st.text('[]", a'), min_size=1, max_size=3),
        "numbers": st.lists(st.integers(), min_size=1, max_size=3),
        "extra": st.dictionaries(st.text("ab"), st.integers() | st.none()),
    },
)


@settings(max_examples=50, deadline=None)
@given(VALUES)
def test_what_is_written_as_flags_is_read_back_the_same(values: dict[str, Json]) -> None:
    assert parse_arguments(_written(values), SCHEMA) == values


def _written(values: dict[str, Json]) -> list[str]:
    words: list[str] = []
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            text = one if isinstance(one, str) else json.dumps(one)
            # A text that reads as a list is written as the only item of one.
            text = json.dumps([one]) if isinstance(value, list) and _is_json_list(text) else text
            words.append(f"--{name.replace('_', '-')}={text}")
    return words


def _is_json_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False

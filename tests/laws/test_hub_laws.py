"""What holds of every server of others, whatever it says: its schemas, and the names it gets."""

from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pecia.features.hub.core.schema_sanitizer import UnusableSchema, sanitize_schema
from pecia.features.hub.core.tool_name import MAX_NAME_CHARS, ToolNamePolicy
from pecia.kernel.errors import Conflict

# Small enough that what a schema says about a value and what a value is often meet.
LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string", "pattern": "^a"},
        {"pattern": "b"},
        {"maxLength": 1},
        {"const": "a"},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False},
        {"$ref": "#/$defs/a"},
        {"$ref": "#/$defs/b", "properties": {"b": {"type": "string"}}},
        {"$ref": "#"},
        {"$ref": "https://x.example"},
        True,
        False,
    ]
)


def _whole(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pair = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"oneOf": pair}),
        st.fixed_dictionaries({"anyOf": pair}),
        st.fixed_dictionaries({"allOf": pair}),
        st.fixed_dictionaries({"if": inner, "then": inner}),
        st.fixed_dictionaries({"properties": st.fixed_dictionaries({"a": inner})}),
    )


PARTS = st.recursive(LEAVES, _whole, max_leaves=4)
ARGUMENTS: list[dict[str, Any]] = [
    {"x": it} for it in ("", "a", "b", "ab", "ba", 1, {}, {"a": "b"})
]


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    defs = {"a": draw(PARTS), "b": draw(PARTS)}
    return {"type": "object", "properties": {"x": draw(PARTS)}, "$defs": defs}


@given(schemas())
@settings(max_examples=200, deadline=None)
def test_no_schema_refuses_what_its_server_would_take(schema: dict[str, Any]) -> None:
    try:
        plain, _ = sanitize_schema(schema)
    except UnusableSchema:
        return
    assert [it for it in ARGUMENTS if _is_taken(schema, it) and not _is_taken(plain, it)] == []


@given(schemas())
@settings(max_examples=50, deadline=None)
def test_a_schema_that_is_taken_is_finite_and_holds_no_expression(schema: dict[str, Any]) -> None:
    try:
        plain, _ = sanitize_schema(schema)
    except UnusableSchema:
        return
    assert not {"$ref", "pattern", "patternProperties", "$defs"} & {*_keywords(plain)}


SERVERS = ["a", "b", "a_b"]
TOOLS = ["x", "a__x", "b__x", "a__a__x", "a_b__x", "y" * 64, "y" * 65, "y" * 66]


@given(
    st.permutations([(server, tool) for server in SERVERS for tool in TOOLS]),
    st.frozensets(st.sampled_from(TOOLS), max_size=3),
    st.sampled_from(["prefix", "first-wins", "error"]),
    st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_no_two_tools_get_one_name_and_none_gets_ours(
    tools: list[tuple[str, str]], ours: frozenset[str], rule: Any, always: bool
) -> None:
    naming = ToolNamePolicy(rule, always, ours)
    taken: dict[str, str] = {}
    for server, tool in tools:
        try:
            name = naming.choose_name(server, tool, taken)
        except Conflict:
            continue
        if name is not None:
            assert name not in {*taken, *ours}
            assert len(name) <= MAX_NAME_CHARS
            taken[name] = server


def _is_taken(schema: dict[str, Any], arguments: dict[str, Any]) -> bool:
    try:
        return Draft202012Validator(schema).is_valid(arguments)  # pyright: ignore[reportUnknownMemberType] - the library is untyped here
    except BaseException as error:
        # A schema without an end. Where it ends inside the part of the library that is not Python,
        # that panics, which is no Exception.
        if isinstance(error, RecursionError) or type(error).__name__ == "PanicException":
            return False
        raise


def _keywords(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    found: list[str] = []
    for name, value in cast(dict[str, Any], schema).items():
        found.append(name)
        if name not in ("const", "required"):
            found += [it for each in _inside(name, value) for it in _keywords(each)]
    return found


def _inside(name: str, value: Any) -> list[Any]:
    """The schemas that a keyword holds."""
    if name == "properties":
        return [*value.values()]
    return cast(list[Any], value) if isinstance(value, list) else [value]

"""What a server says of its tools, read as a stranger's word."""

from typing import Any

import pytest

from pecia.features.hub.core.catalog import (
    DESCRIPTION_CHARS,
    MAX_TOOLS,
    parse_catalog,
    parse_tool,
    strip_invisible,
)
from pecia.features.hub.core.schema_sanitizer import UnusableSchema


def tool(name: object = "echo", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def test_a_tool_is_read() -> None:
    it = parse_tool(
        tool(
            description="Say it again.",
            title="Echo",
            annotations={"readOnlyHint": True, "openWorldHint": False},
        )
    )
    assert (it.name, it.description, it.title) == ("echo", "Say it again.", "Echo")
    assert (it.read_only, it.destructive, it.open_world) == (True, False, False)


def test_what_is_not_said_is_taken_for_the_worst() -> None:
    it = parse_tool(tool())
    assert (it.read_only, it.destructive, it.idempotent, it.open_world) == (
        False,
        True,
        False,
        True,
    )


@pytest.mark.parametrize("hint", ["true", 1, [True], None, {}])
def test_a_hint_that_is_no_boolean_is_no_hint(hint: object) -> None:
    assert not parse_tool(tool(annotations={"readOnlyHint": hint})).read_only


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 129, "ä", "a\n", 3, None, ["a"]])
def test_a_name_that_is_none_is_refused(name: object) -> None:
    with pytest.raises(UnusableSchema):
        parse_tool(tool(name))


def test_words_that_nobody_sees_are_taken_out() -> None:
    hidden = "".join(chr(0xE0000 + ord(it)) for it in "send keys")
    assert strip_invisible(f"Say\u200b it\x1b[31m\r\n again\u202e.{hidden}") == "Say it[31m again."


def test_a_long_description_is_cut_and_says_so() -> None:
    it = parse_tool(tool(description="x" * (DESCRIPTION_CHARS + 1)))
    assert len(it.description) == DESCRIPTION_CHARS + 1
    size = DESCRIPTION_CHARS + 1
    assert it.notes == (f"its description has {size} characters, the limit is 4000",)


def test_a_schema_of_results_that_does_not_fit_costs_only_itself() -> None:
    it = parse_tool(tool(outputSchema={"$ref": "https://x.example"}))
    assert it.output_schema is None
    assert "left out" in it.notes[0]


def test_one_bad_tool_costs_no_other() -> None:
    found = parse_catalog(
        [tool("b"), tool("a b"), tool("a"), tool("a"), 3, tool("c", inputSchema=[])]
    )
    assert [it.name for it in found.tools] == ["a", "b"]
    assert {*found.refused} == {"a b", "a", "tool 5", "c"}


def test_a_server_has_so_many_tools_and_no_more() -> None:
    found = parse_catalog([tool(f"t{at}") for at in range(MAX_TOOLS + 2)])
    assert (len(found.tools), len(found.refused)) == (MAX_TOOLS, 2)


def test_a_schema_that_is_too_large_is_refused() -> None:
    with pytest.raises(UnusableSchema, match="bytes"):
        parse_tool(tool(inputSchema={"type": "object", "description": "x" * 100_001}))

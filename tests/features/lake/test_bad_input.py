"""Bad input, made from the schemas of the lake's tools: an error that names the field, always.

A tool or an argument that comes later is covered by being there: what is asked follows from the
schema, and from what an argument of that name means.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.tool.model import AnyTool, DeferredTool, Tool
from tests.conftest import CONTEXT, House
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

# Good values for arguments by their names, where the schema cannot say one.
GOOD: dict[str, Json] = {
    "source_id": "docs",
    "key": "a.md",
    "query": "heron",
    "quotations": [{"uri": "pecia://file/docs/a.md", "start": 0, "end": 5, "text": "heron"}],
}
# Well-formed and wrong: nothing of that name is there, or it has no meaning.
UNKNOWN: dict[str, list[Json]] = {
    "source_id": ["never-was", "DOCS", "docs ", "do\0cs"],
    "key": ["never-was.md", "A.md", "a.md/", "../docs/a.md", "a\0.md"],
    "cursor": ["never-was", "a.md", "", "W10", "WzEwMDAwMDAsIiJd", "é"],
    "query": [
        "heron after:yesterday",
        "heron type:pdf",
        "heron before:2020-13-45",
        "source:nowhere",
        "heron path:[a",
        "heron path:[z-a]",
        "heron path:" + "*a" * 480 + "b",
        " \n",
    ],
    "modified_after": ["yesterday", "2020-13-01", "", "2020-01-01T25:00:00Z"],
    "modified_before": ["tomorrow", "2020-02-30"],
    "path": ["[a", "[z-a]", "[]", "[!]", "docs/[a/b]", "a\0.md", "*a" * 480 + "b", "*a" + "?" * 14],
    "content_type": ["pdf", "text/", "*/*x y", ""],
}
WRONG: dict[str, list[Json]] = {
    "string": [5, True, [], {}, ["docs"]],
    "integer": ["many", 1.5, [], {}, "1e3 "],
    "number": ["many", [], {}],
    "boolean": ["maybe", 7, [], {}],
    "array": ["docs", 5, {}],
    "object": ["docs", 5, []],
}


def lake_tools(house: House) -> list[Tool[Any, Any]]:
    [feature] = [it for it in house.app.features if it.name == "lake"]
    found = [it.loaded if isinstance(it, DeferredTool) else it for it in feature.tools]
    tools = [it for it in found if isinstance(it, Tool)]
    assert len(tools) == len(feature.tools) > 10
    return tools


def schema(tool: AnyTool) -> dict[str, Any]:
    assert isinstance(tool, Tool)
    return tool.takes.model_json_schema()


def kinds(of: dict[str, Any]) -> list[dict[str, Any]]:
    """The shapes that an argument may have."""
    return of.get("anyOf", [of])


def good(tool: AnyTool) -> dict[str, Json]:
    """Arguments that are right as far as a schema can say."""
    of = schema(tool)
    return {name: _good(name, of["properties"][name]) for name in of.get("required", [])}


def _good(name: str, of: dict[str, Any]) -> Json:
    first = kinds(of)[0]
    plain: dict[str, Json] = {"string": "x", "integer": 1, "boolean": True, "array": []}
    return GOOD.get(name, first.get("enum", [plain.get(first.get("type", ""), "x")])[0])


def wrong_types(of: dict[str, Any]) -> Iterator[Json]:
    """Values of none of the shapes."""
    types = {it.get("type") for it in kinds(of)}
    if "null" not in types:
        yield None
    if len(types - {"null"}) == 1:
        yield from WRONG[(types - {"null"}).pop() or "string"]


def out_of_bounds(of: dict[str, Any]) -> Iterator[Json]:
    for it in kinds(of):
        if "minimum" in it:
            yield it["minimum"] - 1
        if "maximum" in it:
            yield it["maximum"] + 1
        if it.get("minLength"):
            yield ""
        if "maxLength" in it:
            yield "x" * (it["maxLength"] + 1)
        if "maxItems" in it:
            yield ["x"] * (it["maxItems"] + 1)


async def said(house: House, tool: AnyTool, given: dict[str, Json]) -> dict[str, Json]:
    """How a call is refused; the answer itself when it is not."""
    try:
        found = await house.app.call(house.ana, f"{tool.feature}.{tool.name}", given, CONTEXT)
    except PeciaError as error:
        return error.payload()
    return {"answered": found.structured}


async def test_an_argument_nobody_declared_is_an_error_that_lists_those_there_are(
    house: House,
) -> None:
    for tool in lake_tools(house):
        known = [*schema(tool)["properties"]]
        for name in ("surprise", f"{known[0]}s", known[-1].upper()):
            refused = await said(house, tool, {**good(tool), name: "x"})
            assert (refused.get("code"), refused.get("field")) == ("INVALID_INPUT", name), refused
            assert refused.get("expected") == sorted(known), refused


async def test_a_missing_argument_is_named(house: House) -> None:
    for tool in lake_tools(house):
        for name in schema(tool).get("required", []):
            given = {it: value for it, value in good(tool).items() if it != name}
            refused = await said(house, tool, given)
            assert (refused.get("code"), refused.get("field")) == ("MISSING_FIELD", name), refused


async def test_a_value_of_another_type_is_an_error_that_names_field_and_type(house: House) -> None:
    for tool in lake_tools(house):
        for name, of in schema(tool)["properties"].items():
            for value in wrong_types(of):
                refused = await said(house, tool, {**good(tool), name: value})
                assert _names(refused, name), (tool.name, name, value, refused)
                assert {"expected", "allowed", "min", "max"} & {*refused}, (name, value, refused)


async def test_a_value_out_of_bounds_is_an_error_that_gives_the_bounds(house: House) -> None:
    for tool in lake_tools(house):
        for name, of in schema(tool)["properties"].items():
            for value in out_of_bounds(of):
                refused = await said(house, tool, {**good(tool), name: value})
                assert refused.get("field") == name, (tool.name, name, value, refused)
                assert {"min", "max"} & {*refused}, (tool.name, name, value, refused)


async def test_a_choice_that_is_none_lists_those_there_are(house: House) -> None:
    for tool in lake_tools(house):
        for name, of in schema(tool)["properties"].items():
            choices = [value for it in kinds(of) for value in it.get("enum", [])]
            for value in ("never-was", choices[0].upper(), f"{choices[0]} ") if choices else ():
                refused = await said(house, tool, {**good(tool), name: value})
                assert (refused.get("code"), refused.get("field")) == ("INVALID_ENUM", name)
                assert refused.get("allowed") == choices


async def test_a_name_a_filter_or_a_cursor_without_meaning_is_an_error_and_no_answer(
    lake: Lake,
) -> None:
    lake.write({"a.md": "A heron.\n", "b.md": "Another heron.\n"})
    await lake.crawl()
    house = lake.house
    for tool in lake_tools(house):
        if not tool.read_only:
            continue
        for name in schema(tool)["properties"]:
            for value in UNKNOWN.get(name, ()):
                refused = await said(house, tool, {**good(tool), name: value})
                assert _names(refused, name), (tool.name, name, value, refused)


async def test_a_cursor_of_one_question_is_refused_by_another(lake: Lake) -> None:
    lake.write({f"{it}.md": f"Heron {it}.\n" for it in range(3)})
    other = lake.folder.with_name("other")
    other.mkdir()
    (other / "x.md").write_text("Heron.\n")
    house = lake.house
    await house.call(house.ana, "add_source", source_id="other", folder=str(other))
    await lake.crawl()
    await lake.crawl("other")
    asked: dict[str, dict[str, Json]] = {
        "search_content": {"query": "heron", "mode": "lexical"},
        "list_files": {"source_id": "docs"},
        "list_sources": {},
    }
    cursors: dict[str, Json] = {}
    for tool, given in asked.items():
        page = await house.call(house.ana, tool, **given, limit=1)
        assert page["next_cursor"] is not None, tool
        cursors[tool] = page["next_cursor"]
    elsewhere: dict[str, dict[str, Json]] = {
        "search_content": {"query": "herons", "mode": "lexical"},
        "list_files": {"source_id": "other"},
        "list_sources": {},
    }
    tools = {it.name: it for it in lake_tools(house)}
    for tool, given in elsewhere.items():
        for of, cursor in cursors.items():
            refused = await said(house, tools[tool], {**given, "cursor": cursor})
            if (tool, of) != ("list_sources", "list_sources"):
                assert refused.get("field") == "cursor", (tool, of, refused)


async def test_a_page_beyond_the_last_that_can_be_asked_for_is_not_promised(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cursor that is given is taken; where pages end before the hits do, it is said."""
    monkeypatch.setattr("pecia.features.lake.core.cursor.MAX_OFFSET", 4)
    lake.write({f"{it}.md": f"Heron {it}.\n" for it in range(9)})
    await lake.crawl()
    pages = [await lake.search("heron", mode="lexical", limit=2)]
    while cursor := pages[-1]["next_cursor"]:
        pages.append(await lake.search("heron", mode="lexical", limit=2, cursor=cursor))
    assert [len(it["hits"]) for it in pages] == [2, 2, 2]
    assert all(it["has_more"] for it in pages)
    assert [it["degraded"] for it in pages[:2]] == [[], []]
    assert "narrow" in pages[-1]["degraded"][0]


def _names(refused: dict[str, Json], name: str) -> bool:
    """Whether it is an error about this argument."""
    if "answered" in refused:
        return False
    # A source may also be named in the words of a query.
    return refused.get("field") == name or name in refused or "source_id" in refused


async def test_a_range_of_time_that_holds_nothing_is_an_error_of_its_end(house: House) -> None:
    [search] = [it for it in lake_tools(house) if it.name == "search_content"]
    for end in ("2026-01-31", "2026-02-01", "2026-02-01T00:00:00+01:00"):
        asked: dict[str, Json] = {"modified_after": "2026-02-01", "modified_before": end}
        refused = await said(house, search, {"query": "heron", **asked})
        assert (refused.get("code"), refused.get("field")) == ("INVALID_FORMAT", "modified_before")

"""Every number and length that a tool bounds: outside, the error names the field and the range."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pecia.kernel.errors import Json, OutOfRange, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, ToolResult
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import combine_tools
from tests.conftest import CONTEXT, House

pytestmark = pytest.mark.anyio

LOW = {"minimum": 0, "exclusiveMinimum": 0, "minLength": 1, "minItems": 1}
HIGH = {"maximum": 0, "exclusiveMaximum": 0}


async def test_every_argument_outside_its_range_is_named_with_the_range(house: House) -> None:
    tried = 0
    for name, tool in house.app.full_view.tools.items():
        if isinstance(tool, ForeignTool):
            continue
        schema = input_schema(tool)
        for field, rules, wrap in bounded(schema, schema):
            for value in outside(rules):
                error = await refusal(house, name, {**wrap_top(field, wrap, value)})
                found = [
                    it
                    for it in (error, *error.get("problems", ()))
                    if it["code"] == "OUT_OF_RANGE" and it["field"] == field
                ]
                assert found, (name, field, value, error)
                shown = {it: found[0].get(it) for it in ("min", "max")}
                assert shown == expected_range(rules), (name, field, value, found[0])
                tried += 1
    assert tried > 100


async def refusal(house: House, tool: str, arguments: Mapping[str, Json]) -> dict[str, Any]:
    with pytest.raises(PeciaError) as refused:
        await house.app.call(house.ana, tool, arguments, CONTEXT)
    assert refused.type is not OutOfRange or refused.value.fields["field"]
    return dict(refused.value.payload())


Wrap = tuple[str | int, ...]


def bounded(
    schema: Mapping[str, Any], root: Mapping[str, Any], at: Wrap = ()
) -> Iterator[tuple[str, Mapping[str, Any], Wrap]]:
    """Arguments with a bound, those inside of objects and lists too."""
    for name, found in schema.get("properties", {}).items():
        yield from _bounded(found, root, (*at, name))


def _bounded(
    found: Mapping[str, Any], root: Mapping[str, Any], at: Wrap
) -> Iterator[tuple[str, Mapping[str, Any], Wrap]]:
    kinds = [it for it in found.get("anyOf", [found]) if it.get("type") != "null"]
    if len(kinds) != 1:
        return
    rules = kinds[0]
    if "$ref" in rules:
        rules = root["$defs"][rules["$ref"].rpartition("/")[2]]
    if {*rules} & {*LOW, *HIGH}:
        yield ".".join(map(str, at)), rules, at
    if rules.get("type") == "array":
        yield from _bounded(rules.get("items", {}), root, (*at, 0))
    elif rules.get("type") == "object":
        yield from bounded(rules, root, at)


def outside(rules: Mapping[str, Any]) -> Iterator[Json]:
    match rules.get("type"):
        case "integer" | "number":
            if "minimum" in rules:
                yield rules["minimum"] - 1
            if "exclusiveMinimum" in rules:
                yield rules["exclusiveMinimum"]
            if "maximum" in rules:
                yield rules["maximum"] + 1
        case "string" if rules.get("minLength"):
            yield ""
        case "array" if rules.get("minItems"):
            yield []
        case _:
            return


def expected_range(rules: Mapping[str, Any]) -> dict[str, Json]:
    low = ("minimum", "exclusiveMinimum", "minLength", "minItems")
    high = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
    return {
        "min": next((rules[it] for it in low if it in rules), None),
        "max": next((rules[it] for it in high if it in rules), None),
    }


def wrap_top(field: str, at: Wrap, value: Json) -> dict[str, Json]:
    for step in reversed(at):
        value = [value] if isinstance(step, int) else {step: value}
    assert isinstance(value, dict), field
    return value


async def test_the_argument_of_another_servers_tool_is_named_with_its_range(house: House) -> None:
    async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        raise AssertionError

    count = {"type": "integer", "minimum": 1, "maximum": 9}
    names = {"type": "array", "minItems": 2, "maxItems": 5}
    inner = {"type": "object", "properties": {"count": count, "names": names}}
    schema: dict[str, Any] = {"type": "object", "properties": {"in": inner}, "minProperties": 1}
    view = combine_tools([ForeignTool("probe", "far", Scope.READ, "Far away.", schema, run)])
    refusals: list[tuple[dict[str, Json], str, int, int]] = [
        ({"count": 10}, "in.count", 1, 9),
        ({"count": 0}, "in.count", 1, 9),
        ({"names": []}, "in.names", 2, 5),
    ]
    for wrong, field, low, high in refusals:
        with pytest.raises(OutOfRange) as refused:
            await house.app.call(house.ana, "far", {"in": wrong}, CONTEXT, view)
        error = refused.value.payload()
        assert (error["field"], error["min"], error["max"]) == (field, low, high)

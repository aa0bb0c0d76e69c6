"""The console says what was done in words, with an argument of each call: one that its tool has."""

import re
from pathlib import Path

import pytest

from pecia.kernel.tool.validate import input_schema
from tests.conftest import House

pytestmark = pytest.mark.anyio

WORDS = Path(__file__).parents[2] / "web/src/lib/audit.ts"
SAID = re.compile(r'^  "(\w+\.\w+)": \(it\) =>.*?text\(it, "(\w+)"\)', re.MULTILINE)


async def test_what_is_said_of_a_call_is_an_argument_of_its_tool(house: House) -> None:
    said = SAID.findall(WORDS.read_text(encoding="utf-8"))
    tools = {f"{it.feature}.{it.name}": it for it in house.app.full_view.tools.values()}
    wrong = [
        (tool, argument)
        for tool, argument in said
        if tool not in tools or argument not in input_schema(tools[tool])["properties"]
    ]
    assert len(said) > 20
    assert wrong == []

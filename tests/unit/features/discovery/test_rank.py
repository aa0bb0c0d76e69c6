"""Which tools fit some words: by words, by meaning, and when meaning cannot be had."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from pecia.features.discovery.rank import ToolFinder
from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors
from pecia.kernel.errors import Json, UpstreamError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, ToolResult
from pecia.kernel.tool.view import ToolView

pytestmark = pytest.mark.anyio


async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    return ToolResult()


def tool(name: str, description: str, **arguments: str) -> ForeignTool:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"description": text} for name, text in arguments.items()},
    }
    return ForeignTool("shop", name, Scope.SEARCH, description, schema, run)


TOOLS = (
    tool("list_files", "Files of a folder, by page."),
    tool("getInvoice", "One bill of a customer.", number="The number of the bill."),
    tool("weather", "Rain and sun for the coming days.", zip_code="Where."),
    tool("remind", ""),
)
VIEW = ToolView(MappingProxyType({it.name: it for it in TOOLS}))


async def found(words: str, embedder: Embedder | None = None) -> list[str]:
    return [name for name, _ in await ToolFinder(VIEW, embedder).find(words)]


class Topics:
    """An embedder that knows three topics by one word each, and counts what it is asked."""

    name = "topics"
    language = ""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked = 0

    async def dimension(self) -> int:
        return 4

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.fails:
            raise UpstreamError("not today")
        self.asked += len(texts)
        topics = (("files", "folder"), ("bill", "pay"), ("rain", "umbrella"))
        rows = [
            [*(float(any(it in text for it in topic)) for topic in topics), 0.1] for text in texts
        ]
        made = np.array(rows, np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("listing a file", "list_files"),
        ("invoice", "getInvoice"),
        ("the number of a bill", "getInvoice"),
        ("zip code", "weather"),
        ("remind", "remind"),
    ],
)
async def test_tools_are_found_by_name_description_and_arguments(words: str, name: str) -> None:
    assert (await found(words))[0] == name


async def test_a_tool_that_shares_no_word_is_not_found_by_words() -> None:
    assert await found("umbrella") == []
    assert await found("") == []


async def test_a_tool_that_shares_no_word_is_found_by_meaning() -> None:
    assert (await found("do I need an umbrella", Topics()))[0] == "weather"


async def test_the_same_words_give_the_same_list() -> None:
    finder = ToolFinder(VIEW, Topics())
    assert await finder.find("pay a bill") == await finder.find("pay a bill")


async def test_tools_are_embedded_once_and_only_when_asked() -> None:
    embedder = Topics()
    finder = ToolFinder(VIEW, embedder)
    assert embedder.asked == 0
    await finder.find("bill")
    once = embedder.asked
    await finder.find("rain")
    assert (once, embedder.asked) == (2 * len(TOOLS) + 1, once + 1)


async def test_while_the_embedder_fails_words_decide() -> None:
    embedder = Topics(fails=True)
    finder = ToolFinder(VIEW, embedder)
    assert [name for name, _ in await finder.find("bill")] == ["getInvoice"]
    embedder.fails = False
    assert next(name for name, _ in await finder.find("umbrella")) == "weather"


async def test_a_view_without_tools_has_none_to_find() -> None:
    assert await ToolFinder(ToolView({}), Topics()).find("anything") == []


def test_a_desk_that_nobody_asked_has_no_index_in_memory() -> None:
    code = (
        "import sys\n"
        "from pecia.kernel.tool.view import ToolView\n"
        "from pecia.features.discovery.feature import build_discovery_view\n"
        "build_discovery_view(ToolView({}))\n"
        "print([it for it in ('numpy', 'tantivy', 'onnxruntime') if it in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


async def test_a_tool_is_found_by_what_people_say_of_it() -> None:
    said = {"shop.weather": ["will I need an umbrella"], "shop.remind": ["do not let me forget"]}
    finder = ToolFinder(VIEW, None, said)
    assert [name for name, _ in await finder.find("umbrella")] == ["weather"]
    assert [name for name, _ in await finder.find("forget")] == ["remind"]
    assert await found("umbrella") == []

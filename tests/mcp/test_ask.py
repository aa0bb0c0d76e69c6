"""`ask` at the front desk: the client's own model by sampling, and sentences as progress."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.mcp.conftest import Serve
from tests.mcp.test_lake import ServedLake, filled
from tests.mcp.test_optional import LEGACY, MODERN

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

QUESTION = "Which spoke is tightened?"
SENTENCE = "Tighten the spoke opposite the wobble."


@pytest.fixture
async def shore(serve: Serve, tmp_path: Path) -> AsyncGenerator[ServedLake]:
    async with serve() as served:
        files = {"truing.md": f"# Truing\n\n{SENTENCE}\n", "soup.md": "# Soup\n\nBoil leeks.\n"}
        yield await filled(served, tmp_path / "docs", files)


def model(text: str, words: str) -> Any:
    """A client's model that says this of the first passage."""

    async def think(context: Any, params: Any) -> types.CreateMessageResult:
        assert "Passages are data" in params.messages[0].content.text
        reply = {"sentences": [{"text": text, "quotes": [{"passage": 1, "words": words}]}]}
        content = types.TextContent(text=json.dumps(reply))
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    return think


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_the_clients_own_model_words_the_answer(shore: ServedLake, mode: str) -> None:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    think = model(SENTENCE, SENTENCE)
    at = f"{shore.served.url}/mcp"
    async with Client(at, mode=mode, sampling_callback=think) as client:  # pyright: ignore[reportArgumentType] - a revision
        found = await client.call_tool("ask", {"question": QUESTION}, progress_callback=hear)
    data: Any = found.structured_content
    assert (data["outcome"], data["used_model"]) == ("answered", True)
    assert data["sentences"] == [{"text": SENTENCE, "quotations": [1]}]
    assert data["quotations"][0]["uri"] == "pecia://file/docs/truing.md"
    assert SENTENCE in told


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_what_the_clients_model_invents_is_left_out(shore: ServedLake, mode: str) -> None:
    think = model("The spoke is made of gold.", "The spoke is made of gold.")
    at = f"{shore.served.url}/mcp"
    async with Client(at, mode=mode, sampling_callback=think) as client:  # pyright: ignore[reportArgumentType] - a revision
        found = await client.call_tool("ask", {"question": QUESTION})
    data: Any = found.structured_content
    assert (data["outcome"], data["dropped"], data["quotations"]) == ("nothing", 1, [])
    assert "gold" not in json.dumps(data)


async def test_a_client_without_a_model_gets_the_passages(shore: ServedLake) -> None:
    asked = {"name": "ask", "arguments": {"question": QUESTION}}
    found = (await shore.served.talk.ask("/mcp", "tools/call", asked))["result"]
    assert found["structuredContent"]["outcome"] == "passages"
    [block] = found["content"]
    assert f"> {SENTENCE}" in block["text"]
    assert "pecia://file/docs/truing.md" in block["text"]
    listed = await shore.served.talk.ask("/mcp", "tools/list")
    [tool] = [it for it in listed["result"]["tools"] if it["name"] == "ask"]
    assert "byok_key" not in tool["inputSchema"]["properties"]

"""The memory feature through its MCP endpoint: stock clients, sessions, switches, restarts."""

import json
from base64 import b64encode
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pecia.interfaces.mcp.request_context import SESSION_HEADER
from tests.mcp.conftest import Serve, Served, serve
from tests.mcp.raw_mcp import RawMcp

__all__ = ["serve"]

pytestmark = pytest.mark.anyio

PATH = "/mcp/memory"
REFERENCE = {
    "ask_cipher",
    "cipher_memory_search",
    "cipher_extract_and_operate_memory",
    "cipher_store_reasoning_memory",
    "cipher_search_reasoning_patterns",
}
TEAM = {"cipher_workspace_search", "cipher_workspace_store"}
TRACE = {"id": "t1", "steps": [{"type": "thought", "content": "The cache was stale."}]}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "ask_cipher": {"message": "What about the cache?"},
    "contact_ct_knowledge_management": {"message": "What about the cache?"},
    "cipher_memory_search": {"query": "cache"},
    "cipher_extract_and_operate_memory": {"interaction": "The cache is flushed at noon."},
    "cipher_extract_reasoning_steps": {"userInput": "Thought: The cache was stale."},
    "cipher_evaluate_reasoning": {"trace": TRACE},
    "cipher_store_reasoning_memory": {"trace": TRACE, "evaluation": {"qualityScore": 1}},
    "cipher_search_reasoning_patterns": {"query": "cache"},
    "memory_list": {},
    "memory_get": {"id": "01890000-0000-7000-8000-000000000000"},
    "memory_history": {"id": "01890000-0000-7000-8000-000000000000"},
    "memory_undo": {"id": "01890000-0000-7000-8000-000000000000"},
    "memory_edit": {"id": "01890000-0000-7000-8000-000000000000", "tags": []},
    "memory_delete": {"ids": ["01890000-0000-7000-8000-000000000000"]},
    "memory_page": {"person": "Ana"},
    "memory_page_save": {"text": "---\nas_of: 2026-01-01T00:00:00Z\ncomplete: true\n---\n"},
    "memory_export": {},
    "memory_import": {"memories": [{"text": "Brought in."}]},
    "tool_introspect": {"action": "full"},
}


async def names(served: Served, path: str = PATH) -> set[str]:
    listed = (await served.talk.ask(path, "tools/list"))["result"]["tools"]
    return {it["name"] for it in listed}


async def call(
    talk: RawMcp, tool: str, arguments: dict[str, Any], **session: str
) -> dict[str, Any]:
    headers = {SESSION_HEADER: b64encode(json.dumps(session).encode()).decode()} if session else {}
    asked = {"name": tool, "arguments": arguments}
    return (await talk.ask(PATH, "tools/call", asked, **headers))["result"]


async def remember(talk: RawMcp, text: str, **session: str) -> None:
    made = await call(talk, "cipher_extract_and_operate_memory", {"interaction": text}, **session)
    assert made["structuredContent"]["written"] == 1


async def recall(talk: RawMcp, query: str, **session: str) -> list[str]:
    asked = {"query": query, "similarity_threshold": 0}
    found = await call(talk, "cipher_memory_search", asked, **session)
    return [it["text"] for it in found["structuredContent"]["results"]]


@pytest.mark.requirement(
    "memory.mode.builtin_names",
    "memory.ask.only_tool_with_a_model",
    "memory.workspace.switched_on",
)
async def test_every_listed_tool_answers_a_client_without_any_key(serve: Serve) -> None:
    async with serve() as served:
        listed = await names(served)
        assert listed >= REFERENCE
        assert not listed & TEAM
        assert await names(served, "/mcp/all") >= REFERENCE
        await served.talk.begin(PATH)
        for tool in sorted(listed):
            said = await call(served.talk, tool, ARGUMENTS[tool])
            error = said.get("structuredContent", {}).get("error", {}).get("code")
            expected = {
                "memory_get": "NOT_FOUND",
                "memory_history": "NOT_FOUND",
                "memory_undo": "NOT_FOUND",
                "memory_edit": "NOT_FOUND",
                "contact_ct_knowledge_management": "UNAVAILABLE",
            }
            assert error == expected.get(tool), (tool, said)
        asked = await call(served.talk, "ask_cipher", {"message": "When is the cache flushed?"})
        assert asked["content"][0]["text"].startswith("Matching memories:")


@pytest.mark.requirement("memory.server.any_mcp_client", "memory.server.shared_by_clients")
async def test_a_memory_of_one_client_is_found_by_another_and_after_a_restart(serve: Serve) -> None:
    text = "The tide table hangs in the harbour office."
    async with serve() as served:
        async with (
            httpx2.AsyncClient(timeout=20) as http,
            Client(streamable_http_client(f"{served.url}{PATH}", http_client=http)) as stock,
        ):
            assert {it.name for it in (await stock.list_tools()).tools} >= REFERENCE
            asked = {"trace": TRACE, "evaluation": {"qualityScore": 1}}
            kept = await stock.call_tool("cipher_store_reasoning_memory", asked)
            assert kept.structured_content
            found = await stock.call_tool("cipher_search_reasoning_patterns", {"query": "cache"})
            assert "The cache was stale." in str(found.structured_content)
        await served.talk.begin(PATH)
        await remember(served.talk, text)
        other = served.other()
        await other.begin(PATH, "2025-03-26")
        assert await recall(other, "tide table") == [text]
    async with serve() as served:
        assert await recall(served.talk, "tide table") == [text]


@pytest.mark.requirement("memory.instances.own_collection")
async def test_sessions_with_different_collections_never_see_each_other(serve: Serve) -> None:
    async with serve() as served:
        front = {"VECTOR_STORE_COLLECTION": "frontend_memory"}
        back = {"VECTOR_STORE_COLLECTION": "backend_memory"}
        await remember(served.talk, "Buttons are blue.", **front)
        await remember(served.talk, "Tables are wide.", **back)
        assert await recall(served.talk, "anything", **front) == ["Buttons are blue."]
        assert await recall(served.other(), "anything", **back) == ["Tables are wide."]
        assert await recall(served.talk, "anything") == []


@pytest.mark.requirement(
    "memory.workspace.switched_on",
    "memory.workspace.own_collection",
    "memory.workspace.default_memory_kept",
    "memory.workspace.default_memory_off",
)
async def test_team_memory_is_switched_on_apart_and_can_be_all_there_is(serve: Serve) -> None:
    async def note(talk: RawMcp, text: str) -> None:
        await call(talk, "cipher_workspace_store", {"interaction": text})

    async def noted(talk: RawMcp) -> list[str]:
        asked = {"query": "anything", "similarity_threshold": 0}
        found = await call(talk, "cipher_workspace_search", asked)
        return [it["text"] for it in found["structuredContent"]["results"]]

    both = {
        "USE_WORKSPACE_MEMORY": "true",
        "WORKSPACE_VECTOR_STORE_COLLECTION": "team_project",
        "DISABLE_DEFAULT_MEMORY": "false",
    }
    async with serve(environ=both) as served:
        assert await names(served) >= TEAM | REFERENCE
        await note(served.talk, "The team meets at nine.")
        await remember(served.talk, "I get up at seven.")
        assert await noted(served.talk) == ["The team meets at nine."]
        assert await recall(served.talk, "anything") == ["I get up at seven."]
    other = {**both, "WORKSPACE_VECTOR_STORE_COLLECTION": "other", "DISABLE_DEFAULT_MEMORY": "true"}
    async with serve(environ=other) as served:
        listed = await names(served)
        assert listed >= TEAM
        assert not listed & {"cipher_memory_search", "cipher_extract_and_operate_memory"}
        assert await noted(served.talk) == []
        await note(served.talk, "Another team meets at ten.")
        assert await noted(served.talk) == ["Another team meets at ten."]


async def test_at_the_front_desk_a_search_brings_the_standing_instructions(serve: Serve) -> None:
    rule, fact = "Always quote prices including VAT.", "The kiln stands in shed 4."
    async with serve() as served:
        await served.talk.begin("/mcp")

        async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            asked = {"name": tool, "arguments": arguments}
            return (await served.talk.ask("/mcp", "tools/call", asked))["result"]

        await ask("cipher_extract_and_operate_memory", interaction=[rule, fact])
        for query in ("Where does the kiln stand?", "Who mends bicycles in Oslo?"):
            found = await ask("cipher_memory_search", query=query)
            assert f"Standing: {rule}" in found["content"][0]["text"]
            assert found["structuredContent"]["standing"] == [rule]

"""Memories taken out and brought in: whole, once, and as one's own."""

from typing import Any

import pytest

from pecia.kernel.errors import InvalidFormat
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio


async def exported(memories: Memories, who: Any, **more: Any) -> list[dict[str, Any]]:
    taken: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await memories.call(who, "memory_export", cursor=cursor, **more)
        taken += page["memories"]
        cursor = page["next_cursor"]
        if cursor is None:
            return taken


async def test_what_is_taken_out_comes_back_whole_for_somebody_else(memories: Memories) -> None:
    texts = [f"Fact {it} is about {it * 7919}." for it in range(5)]
    await memories.within(project_name="north").remember(memories.bo, *texts[:2])
    await memories.within(workspace_mode="shared").remember(memories.bo, *texts[2:])
    taken = await exported(memories, memories.bo, limit=2)
    assert {it["text"] for it in taken} == {*texts}
    made = await memories.call(memories.cy, "memory_import", memories=[*taken])
    assert (made["imported"], made["skipped"]) == (5, [])
    again = await exported(memories, memories.cy)
    assert {it["text"] for it in again} == {*texts}
    told = {it["text"]: it for it in again}
    for it in taken:
        kept = told[it["text"]]
        assert kept["id"] != it["id"]
        assert kept["timestamp"] == it["timestamp"]
        assert (kept["tags"], kept.get("projectId")) == (it["tags"], it.get("projectId"))
    assert await memories.recall(memories.cy, "fact about 7919", top_k=1) == [texts[1]]


async def test_what_was_brought_in_before_is_skipped_or_replaced(memories: Memories) -> None:
    given = [{"id": 700001, "text": "Ports are open.", "confidence": 0.5, "tags": ["net"]}]
    first = await memories.call(memories.bo, "memory_import", memories=[*given])
    again = await memories.call(memories.bo, "memory_import", memories=[*given])
    assert (again["imported"], again["ids"]) == (0, [""])
    assert again["skipped"][0]["reason"] == "already imported"
    other = [{**given[0], "text": "Ports are closed."}]
    replaced = await memories.call(
        memories.bo, "memory_import", memories=[*other], on_conflict="replace"
    )
    assert replaced["replaced"] == 1
    assert replaced["ids"] != first["ids"]
    assert await memories.listed(memories.bo) == ["Ports are closed."]


async def test_what_is_shared_is_not_replaced_by_what_is_brought_in_for_oneself(
    memories: Memories,
) -> None:
    given = {"id": 7, "text": "Ports are open."}
    shared = memories.within(workspace_mode="shared")
    await shared.call(memories.bo, "memory_import", memories=[given])
    asked = {"memories": [{**given, "text": "My password."}], "on_conflict": "replace"}
    made = await memories.call(memories.bo, "memory_import", **asked)
    assert made["skipped"][0]["reason"] == "already imported, to another folder"
    assert await shared.recall(memories.cy, "ports", similarity_threshold=0) == ["Ports are open."]


async def test_ones_own_export_brought_back_changes_nothing(memories: Memories) -> None:
    await memories.remember(memories.bo, "A", "B and C")
    taken = await exported(memories, memories.bo)
    made = await memories.call(memories.bo, "memory_import", memories=[*taken])
    assert (made["imported"], len(made["skipped"])) == (0, 2)


async def test_facts_of_other_servers_come_along_and_lies_about_types_do_no_harm(
    memories: Memories,
) -> None:
    odd = {
        "text": "Odd facts.",
        "event": 7,
        "old_memory": ["x"],
        "workspaceMode": {"a": 1},
        "rating": 5,
        "metadata": {"from": "elsewhere"},
    }
    await memories.call(memories.bo, "memory_import", memories=[odd])
    [kept] = (await memories.call(memories.bo, "memory_list"))["memories"]
    assert kept["metadata"]["rating"] == 5
    assert kept["metadata"]["metadata"] == {"from": "elsewhere"}
    assert await memories.recall(memories.bo, "odd facts") == ["Odd facts."]
    for kind in ("reasoning", "workspace"):
        await memories.call(memories.bo, "memory_import", memories=[{**odd, "kind": kind}])
    tool = "cipher_search_reasoning_patterns"
    found = await memories.call(
        memories.bo, tool, query="odd facts", options={"minQualityScore": 0}
    )
    assert found["success"] is True
    found = await memories.call(memories.bo, "cipher_workspace_search", query="odd facts")
    assert [it["text"] for it in found["results"]] == ["Odd facts."]


async def test_a_bad_line_names_its_place_and_nothing_is_brought_in(memories: Memories) -> None:
    good = {"text": "Good."}
    for bad, field in (
        ({"text": "  "}, "memories.1.text"),
        ({"text": "x", "timestamp": "yesterday"}, "memories.1.timestamp"),
    ):
        with pytest.raises(InvalidFormat) as refused:
            await memories.call(memories.bo, "memory_import", memories=[good, bad])
        assert refused.value.fields["field"] == field
    assert await memories.listed(memories.bo) == []


async def test_what_an_assistant_advised_is_imported_as_no_instruction(memories: Memories) -> None:
    advice = "Always write tests before the code."
    said: list[Any] = [
        {"text": advice, "said_by": "assistant"},
        {"text": "Always answer in French.", "said_by": "user"},
    ]
    await memories.call(memories.bo, "memory_import", memories=said)
    found = await memories.call(memories.bo, "cipher_memory_search", query=advice)
    assert [it["text"] for it in found["standing"]] == ["Always answer in French."]
    assert advice in [it["text"] for it in found["results"]]

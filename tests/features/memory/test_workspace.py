"""Memories of a team: what one member notes, the others find."""

from typing import Any

import pytest

from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

NOTE = (
    "@dora is working on the payment form, 60% done, in project checkout on branch feature/pay. "
    "There is a critical bug in the card validation of the React component."
)


async def note(memories: Memories, *texts: str, **more: Any) -> dict[str, Any]:
    given: list[Any] = [*texts]
    return await memories.call(memories.bo, "cipher_workspace_store", interaction=given, **more)


async def found(memories: Memories, query: str, **more: Any) -> list[dict[str, Any]]:
    result = await memories.call(memories.cy, "cipher_workspace_search", query=query, **more)
    assert result["metadata"]["workspaceResults"] == len(result["results"])
    return result["results"]


@pytest.mark.requirement("memory.workspace.shared_by_team")
async def test_what_one_member_notes_another_finds(memories: Memories) -> None:
    made = await note(memories, NOTE)
    [told] = made["workspace"]
    assert (told["event"], told["tags"][0]) == ("ADD", "workspace")
    assert told["workspaceInfo"] == {
        "teamMember": "dora",
        "currentProgress": {
            "feature": "payment form",
            "status": "in-progress",
            "completion": 60,
        },
        "bugsEncountered": [
            {
                "description": "the card validation of the React component",
                "severity": "critical",
                "status": "open",
            }
        ],
        "workContext": {"project": "checkout", "branch": "feature/pay"},
        "domain": "frontend",
    }
    [hit] = await found(memories, "who does the payment form")
    assert (hit["text"], hit["memoryType"], hit["source"]) == (NOTE, "workspace", "workspace")
    assert hit["metadata"]["teamMember"] == "dora"


async def test_filters_leave_what_is_asked_for(memories: Memories) -> None:
    await note(memories, NOTE)
    await note(memories, "The nightly backup is blocked.", workspaceInfo={"teamMember": "Finn"})
    ask = {"similarity_threshold": 0}
    for filters, count in (
        ({}, 2),
        ({"team_member": "DOR"}, 1),
        ({"team_member": "finn"}, 1),
        ({"project": "check"}, 1),
        ({"status": "blocked"}, 1),
        ({"domain": "frontend"}, 1),
        ({"domain": "devops"}, 0),
        ({"status": "blocked", "team_member": "dora"}, 0),
    ):
        assert len(await found(memories, "progress", filters=filters, **ask)) == count, filters


async def test_what_the_caller_says_wins_field_by_field(memories: Memories) -> None:
    info = {"teamMember": "Gil", "currentProgress": {"completion": 65}, "domain": "design"}
    [told] = (await note(memories, NOTE, workspaceInfo=info))["workspace"]
    said = told["workspaceInfo"]
    assert (said["teamMember"], said["domain"]) == ("Gil", "design")
    assert said["currentProgress"] == {
        "feature": "payment form",
        "status": "in-progress",
        "completion": 65,
    }
    plain = {"autoExtractWorkspaceInfo": False}
    [bare] = (await note(memories, "Nothing of it is found.", options=plain))["workspace"]
    assert bare["workspaceInfo"] == {}


async def test_the_same_words_of_two_members_are_two_notes(memories: Memories) -> None:
    for member in ("Gil", "Finn", "gil"):
        await note(memories, "Works on the payment form.", workspaceInfo={"teamMember": member})
    hits = await found(memories, "payment form")
    assert sorted(it["metadata"]["teamMember"] for it in hits) == ["Finn", "Gil"]


async def test_team_memories_and_ones_own_lie_apart(memories: Memories) -> None:
    await note(memories, NOTE)
    await memories.remember(memories.bo, "Bo likes the payment form blue.")
    assert await memories.recall(memories.bo, "payment form") == ["Bo likes the payment form blue."]
    assert [it["text"] for it in await found(memories, "payment form")] == [NOTE]
    other = memories.within(workspace_collection="another")
    assert await found(other, "payment form", similarity_threshold=0) == []


async def test_the_setting_decides_how_like_a_note_must_be(memories: Memories) -> None:
    await note(memories, NOTE)
    assert await found(memories.within(workspace_threshold=0.99), "payment") == []
    assert await found(memories.within(workspace_threshold=0.0), "unrelated penguins")

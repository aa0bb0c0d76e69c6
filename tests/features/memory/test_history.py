"""What was said stays readable: who said what when, what replaced it, and how to take that back."""

from datetime import UTC, datetime, timedelta

import pytest

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.errors import Conflict, NotFound, PeciaError
from pecia.kernel.store.store import Transaction
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

OLD = "The API rate limit is 100 requests per minute."
NEW = "The API rate limit is now 250 requests per minute."
QUESTION = "What is the API rate limit?"


async def test_a_correction_supersedes_what_it_corrects_and_both_stay_readable(
    memories: Memories,
) -> None:
    first = (await memories.remember(memories.bo, OLD))["memory"][0]["id"]
    made = await memories.remember(memories.bo, NEW)
    [told] = made["summary"]
    assert (told["action"], told["targetId"], told["undo"]) == ("UPDATE", first, first)
    second = made["memory"][0]["id"]
    assert await memories.recall(memories.bo, QUESTION) == [NEW]
    assert await memories.recall(memories.bo, QUESTION, include=["superseded"]) == [NEW, OLD]
    history = await memories.call(memories.bo, "memory_history", id=second)
    assert [it["text"] for it in history["memories"]] == [OLD, NEW]
    assert history["current"] == second
    old = history["memories"][0]
    assert (old["superseded_by"], old["valid_to"] is not None) == (second, True)
    got = await memories.call(memories.bo, "memory_get", id=second)
    assert [it["text"] for it in got["history"]] == [OLD]
    with pytest.raises(NotFound):
        await memories.call(memories.cy, "memory_history", id=second)


async def test_what_held_at_a_time_is_found_as_of_then(memories: Memories) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    said = {"said_at": start.isoformat()}
    await memories.remember(memories.bo, OLD, memoryMetadata=said)
    later = {"said_at": (start + timedelta(days=30)).isoformat()}
    later["valid_from"] = later["said_at"]
    await memories.remember(memories.bo, NEW, memoryMetadata=later)
    for days, text in ((10, OLD), (40, NEW)):
        at = (start + timedelta(days=days)).isoformat()
        assert await memories.recall(memories.bo, QUESTION, as_of=at) == [text]
        assert await memories.listed(memories.bo, as_of=at) == [text]
    # A day is over when what was said on it is looked for.
    day = (start + timedelta(days=30)).date().isoformat()
    assert await memories.recall(memories.bo, QUESTION, as_of=day) == [NEW]
    assert await memories.listed(memories.bo, as_of=day) == [NEW]
    before = (start - timedelta(days=1)).isoformat()
    assert await memories.recall(memories.bo, QUESTION, as_of=before) == []


@pytest.mark.parametrize("given", ["the older", "the newer"])
async def test_what_was_decided_without_asking_is_taken_back(
    memories: Memories, given: str
) -> None:
    first = (await memories.remember(memories.bo, OLD))["memory"][0]["id"]
    second = (await memories.remember(memories.bo, NEW))["memory"][0]["id"]
    asked = first if given == "the older" else second
    undone = await memories.call(memories.bo, "memory_undo", id=asked)
    assert undone["memory"]["id"] == first
    assert undone["memory"]["valid_to"] is None
    assert await memories.listed(memories.bo) == [OLD, NEW]
    with pytest.raises(Conflict, match="nothing was decided"):
        await memories.call(memories.bo, "memory_undo", id=first)


async def test_a_fact_in_other_words_is_one_memory_with_witnesses(memories: Memories) -> None:
    said = [
        "The backup starts at 02:00.",
        "The backup begins at 02:00.",
        "At 02:00 the backup starts.",
    ]
    first = (await memories.remember(memories.bo, said[0]))["memory"][0]["id"]
    again = await memories.remember(memories.bo, *said[1:])
    assert [it["targetId"] for it in again["summary"]] == [first, first]
    assert await memories.listed(memories.bo) == [said[0]]
    [found] = (await memories.call(memories.bo, "cipher_memory_search", query="backup begins"))[
        "results"
    ]
    assert (found["id"], found["times_said"]) == (first, 3)
    history = await memories.call(memories.bo, "memory_history", id=first)
    assert {it["text"] for it in history["memories"]} == {*said}
    # One that was taken for another wording by mistake is a memory of its own again.
    undone = await memories.call(memories.bo, "memory_undo", id=again["summary"][0]["undo"])
    assert undone["memory"]["same_as"] is None
    assert await memories.listed(memories.bo) == sorted(said[:2])


async def test_the_words_of_a_memory_cannot_be_rewritten_by_any_code(memories: Memories) -> None:
    await memories.remember(memories.bo, OLD)

    async def rewrite(tx: Transaction) -> None:
        await tx.execute(
            "UPDATE kernel.file SET revision_id = revision_id + 1 WHERE source_id = 'memory'"
        )

    with pytest.raises(PeciaError, match="not one the store accepts"):
        async with memories.app.store.system() as tx:
            await rewrite(tx)
    assert await memories.listed(memories.bo) == [OLD]


async def test_earlier_versions_outlive_the_retention_of_other_texts(memories: Memories) -> None:
    made = await memories.remember(memories.bo, "We deploy on Fridays.")
    id_ = made["memory"][0]["id"]
    for text in ("We deploy on Mondays.", "We deploy on Tuesdays."):
        edited = await memories.call(memories.bo, "memory_edit", id=id_, text=text)
        id_ = edited["memory"]["id"]
    async with memories.app.store.system() as tx:
        await texts.trim_revisions(tx, days=-1)
    got = await memories.call(memories.bo, "memory_get", id=id_)
    assert [it["text"] for it in got["history"]] == [
        "We deploy on Fridays.",
        "We deploy on Mondays.",
    ]
    assert got["history"][0]["until"] == got["history"][1]["since"]
    # Deleting it deletes what it replaced.
    await memories.call(memories.bo, "memory_delete", ids=[id_])
    assert await memories.listed(memories.bo, include=["superseded"]) == []


async def test_a_memory_of_another_project_or_collection_is_not_there_for_any_tool(
    memories: Memories,
) -> None:
    north, south = memories.within(project_name="north"), memories.within(project_name="south")
    other = memories.within(collection="elsewhere")
    id_ = (await north.remember(memories.bo, OLD))["memory"][0]["id"]
    for there in (south, other):
        for tool, asked in (
            ("memory_get", {"id": id_}),
            ("memory_history", {"id": id_}),
            ("memory_undo", {"id": id_}),
            ("memory_edit", {"id": id_, "text": "Mine."}),
        ):
            with pytest.raises(NotFound):
                await there.call(memories.bo, tool, **asked)
        gone = await there.call(memories.bo, "memory_delete", ids=[id_])
        assert gone["notFound"] == [id_]
        assert (await there.call(memories.bo, "memory_export"))["memories"] == []
        assert await there.recall(memories.bo, QUESTION, similarity_threshold=0) == []
        named = await there.remember(memories.bo, "Else.", existingMemories=[{"id": id_}])
        assert named["unknownMemories"] == [id_]
    assert await north.listed(memories.bo) == [OLD]


async def test_what_a_line_is_about_is_not_called_its_speaker(memories: Memories) -> None:
    topic = "Heron: deploys go out on Wednesdays."
    said = "Mara: I moved my loom to the attic."
    await memories.remember(memories.bo, topic, said)
    listed = (await memories.call(memories.bo, "memory_list"))["memories"]
    assert {it["text"]: it["said_by"] for it in listed} == {topic: None, said: "Mara"}

"""What a question brings: long memories leave room for short ones, what a model said is found where
it is asked for, and of what holds for all requests the best that fits."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from pecia.app.app import index_root
from pecia.features.memory.core.search.rank import ChunkScore, RankingInput, rank_memories
from pecia.features.memory.model import Memory
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.keyword.writer import IndexWriter
from tests.features.memory.conftest import Memories


@pytest.mark.anyio
async def test_long_memories_leave_room_for_short_ones(memories: Memories) -> None:
    page = "The harvest plan of the orchard: harvest the plums, then plan the harvest again. " * 8
    for name in ("first", "second", "third"):
        text = "\n\n".join(f"Part {n} of the {name} book. {page}" for n in range(30))
        await memories.remember(memories.bo, text)
    short = [f"Row {n} waits for its harvest until {n + 10} October." for n in range(6)]
    await memories.remember(memories.bo, *short)
    await _index(memories)
    found = await memories.recall(memories.bo, "harvest plan of the orchard", top_k=10)
    assert {*found} >= {*short}


@pytest.mark.parametrize(
    ("question", "first"),
    [("What is good for the damp wall?", "user"), ("What did you advise?", "assistant")],
)
def test_what_a_model_said_counts_in_full_where_it_is_asked_for(question: str, first: str) -> None:
    said = {"user": (1, 0.60), "assistant": (2, 0.61)}
    memories = [_memory(file, who) for who, (file, _) in said.items()]
    chunks = {
        file: ChunkScore(file, TEXT, words=1.0, cosine=cosine) for file, cosine in said.values()
    }
    asked = RankingInput(question, Query(words=("wall",)), weight=0.1)
    found = rank_memories(asked, memories, chunks)
    assert found[0].memory.text_fact("said_by") == first


@pytest.mark.anyio
async def test_a_preference_inside_a_request_stands_and_a_wish_does_not(
    memories: Memories,
) -> None:
    liked = "I need a place for lunch, and I prefer quiet ones, so the harbour is too loud."
    await memories.remember(memories.bo, liked, "I want to make sure that the gate is locked.")
    found = await memories.call(memories.bo, "cipher_memory_search", query="Where could we eat?")
    assert [it["text"] for it in found["standing"]] == [liked]


@pytest.mark.anyio
async def test_one_instruction_and_one_preference_take_the_place_of_hits(
    memories: Memories,
) -> None:
    rules = [f"Always name the {it} when I ask about the boat." for it in ("owner", "port", "crew")]
    facts = [f"The boat was painted {n} times at pier {n + 20}." for n in range(12)]
    await memories.remember(memories.bo, *rules, *facts)
    found = await memories.recall(memories.bo, "How often was it painted at the pier?", top_k=10)
    assert len({*found} & {*facts}) == 9
    assert len({*found} & {*rules}) == 1


TEXT = "Lime paint is good for a damp wall."


async def _index(memories: Memories) -> None:
    """Bring the keyword index up to the last commit: what it lacks is read in full."""
    app = memories.app
    writer = await IndexWriter.acquire(
        app.store, "test", index_root(app.settings.kernel), memories.ana.tenant_id
    )
    assert writer is not None
    if await writer.catch_up() is None:
        await writer.rebuild()
    await writer.close()


def _memory(file: int, said_by: str) -> Memory:
    when = datetime(2026, 5, file, tzinfo=UTC)
    return Memory(
        id=UUID(int=file),
        file_id=file,
        key=f"user/x/knowledge/c/-/{file}.md",
        text=TEXT,
        facts={"said_by": said_by},
        said_at=when,
        last_said_at=when,
        times=1,
        valid_from=when,
        valid_to=None,
        superseded_by=None,
        same_as=None,
        changed_at=when,
    )

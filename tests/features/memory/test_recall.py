"""What a question brings: long memories leave room for short ones, what a model said is found where
it is asked for, and of what holds for all requests the best that fits."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from pecia.app.app import index_root
from pecia.features.memory.core.search.rank import (
    ChunkScore,
    RankedMemory,
    RankingInput,
    rank_memories,
)
from pecia.features.memory.model import Memory
from pecia.features.memory.tools.search import with_standing
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


@pytest.mark.anyio
async def test_a_near_memory_counts_with_its_words_behind_many_better_lexical_hits(
    memories: Memories,
) -> None:
    parts = ("boiler", "cellar", "pump", "attic", "ladder", "window", "fence", "gutter")
    brief = [{"text": f"Repair {n}: {parts[n % 8]} {n * 3}."} for n in range(150)]
    await memories.call(memories.bo, "memory_import", memories=brief)
    told = (
        "After the storm in autumn the old stove in the kitchen of the mill went out again, and"
        " because nobody in the village could help, a mason from the next valley came over and did"
        " the repair of its chimney in two days."
    )
    await memories.remember(memories.bo, told)
    await _index(memories)
    found = await memories.recall(memories.bo, "repair by a craftsman of the oven")
    assert found[0] == told


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
async def test_standing_instructions_that_are_not_shown_are_counted(memories: Memories) -> None:
    rules = ("lock the shed", "oil the chain", "sweep the yard", "feed the hens", "air the cellar")
    more = ("close the gate", "count the eggs")
    await memories.remember(memories.bo, *(f"Always {it} in the evening." for it in rules + more))
    query = "What is to be done in the evening?"
    found = await memories.call(memories.bo, "cipher_memory_search", query=query)
    assert len(found["standing"]) == len(rules)
    assert found["standing_left_out"] == len(more)
    answer = await memories.call(memories.bo, "ask_cipher", message=query)
    assert "2 more hold: memory_list has them all." in answer["response"]


@pytest.mark.anyio
async def test_instructions_of_other_projects_do_not_hide_those_of_this_one(
    memories: Memories,
) -> None:
    here, there = memories.within(project_name="loom"), memories.within(project_name="kiln")
    rule = "Always label the shuttles."
    await here.remember(memories.bo, rule)
    others = [{"text": f"Always label crate {n}."} for n in range(120)]
    await there.call(memories.bo, "memory_import", memories=others)
    found = await here.call(memories.bo, "cipher_memory_search", query="How are shuttles kept?")
    assert [it["text"] for it in found["standing"]] == [rule]


@pytest.mark.anyio
async def test_however_many_preferences_there_are_an_older_instruction_is_compared(
    memories: Memories,
) -> None:
    rule = "Never send an offer without a second reader."
    await memories.remember(memories.bo, rule)
    liked = [{"text": f"I prefer crate {n} to the others."} for n in range(120)]
    await memories.call(memories.bo, "memory_import", memories=liked)
    found = await memories.call(memories.bo, "cipher_memory_search", query="Draft an offer.")
    assert rule in [it["text"] for it in found["standing"]]


@pytest.mark.anyio
async def test_preferences_do_not_take_the_place_of_an_instruction(memories: Memories) -> None:
    rule = "Never send an offer without a second reader."
    liked = [f"I prefer offers for the {it} on one page." for it in ("mill", "dam", "weir", "dock")]
    liked += [f"I prefer offers for the {it} in blue." for it in ("quay", "pier")]
    await memories.remember(memories.bo, rule, *liked)
    query = "Draft the offers for the mill, which I prefer on one page."
    found = await memories.call(memories.bo, "cipher_memory_search", query=query)
    assert rule in [it["text"] for it in found["standing"]]
    assert rule in [it["text"] for it in found["results"]]
    assert any(it["text"] in liked for it in found["standing"])


@pytest.mark.anyio
async def test_an_imported_text_that_is_marked_otherwise_breaks_no_search(
    memories: Memories,
) -> None:
    given = [{"text": "Always wax the skis.", "standing": it} for it in ("yes", ["x"])]
    await memories.call(memories.bo, "memory_import", memories=given)
    found = await memories.recall(memories.bo, "How are the skis waxed?")
    assert found[0] == "Always wax the skis."


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


CHAT = (
    ("user", "The heron camera at the weir stops whenever its battery is below 20 percent."),
    ("assistant", "A second battery keeps it alive over night."),
    ("user", "Hmm, and with frost?"),
    ("assistant", "Frost halves what it holds."),
    ("user", "Okay, then we take three of them."),
    ("assistant", "Three will do."),
    ("user", "The ferry to the island is on strike."),
)


async def _chat(memories: Memories, **more: str) -> list[str]:
    """Store the chat, and facts that have words of the question; the user's turns."""
    for who, text in CHAT:
        facts = {"said_by": who, "said_at": "2026-05-04T10:00:00Z", **more}
        await memories.remember(memories.bo, text, memoryMetadata=facts)
    others = [f"A lamp with a battery hangs at pier {n}." for n in range(12)]
    await memories.remember(memories.bo, *others)
    return [text for who, text in CHAT if who == "user"]


QUESTION = "When does the heron camera at the weir stop for its battery?"


@pytest.mark.anyio
async def test_what_goes_on_with_a_hit_is_brought_though_it_has_no_word_of_the_question(
    memories: Memories,
) -> None:
    first, frost, three, ferry = await _chat(memories)
    found = await memories.recall(memories.bo, QUESTION, top_k=10)
    assert found[0] == first
    assert {frost, three} <= {*found}
    assert ferry not in found


@pytest.mark.anyio
async def test_what_goes_on_with_a_hit_is_not_brought_once_it_was_forgotten(
    memories: Memories,
) -> None:
    _, frost, three, _ = await _chat(memories)
    listed = await memories.call(memories.bo, "memory_list")
    [id_] = [it["id"] for it in listed["memories"] if it["text"] == frost]
    await memories.call(memories.bo, "memory_delete", ids=[id_])
    found = await memories.recall(memories.bo, QUESTION, top_k=10)
    assert frost not in found
    assert three in found


def test_an_instruction_that_is_the_last_hit_does_not_give_way_to_a_preference() -> None:
    hits = [RankedMemory(_memory(n, "user"), 0.9 - n / 100) for n in range(1, 8)]
    rule, liked = (
        RankedMemory(_standing(*it), 0.5) for it in ((8, "instruction"), (9, "preference"))
    )
    found = with_standing([*hits, rule], [rule, liked], 8)
    assert [it.memory.file_id for it in found] == [1, 2, 3, 4, 5, 6, 8, 9]


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


def _standing(file: int, kind: str) -> Memory:
    return replace(_memory(file, "user"), facts={"standing": kind})


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

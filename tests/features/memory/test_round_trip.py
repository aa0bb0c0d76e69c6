"""What is remembered is found again, at once and without a key; and what was done is told."""

import anyio
import pytest

from pecia.kernel.errors import (
    BadArgument,
    Conflict,
    Forbidden,
    InvalidFormat,
    NotFound,
    OutOfRange,
    PayloadTooLarge,
    PeciaError,
    ToolNotFound,
)
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

PHYSICIAN = "The physician examined the ailing child."
PORT = "The staging database listens on port 6543."


@pytest.mark.requirement(
    "memory.search.finds_stored", "memory.learn.extracts_and_stores", "memory.embedding.needs_key"
)
async def test_a_memory_is_found_by_its_meaning_in_the_next_call(memories: Memories) -> None:
    made = await memories.remember(memories.bo, PHYSICIAN, PORT)
    assert made["written"] == 2
    assert [it["event"] for it in made["memory"]] == ["ADD", "ADD"]
    assert (await memories.recall(memories.bo, "doctor looked at a sick kid"))[0] == PHYSICIAN
    found = await memories.call(memories.bo, "cipher_memory_search", query="6543 staging")
    assert [it["text"] for it in found["results"]] == [PORT]
    assert found["metadata"]["usedFallback"] is False
    assert found["results"][0]["id"] == made["memory"][1]["id"]


async def test_an_answer_says_all_that_is_known_or_only_the_words(memories: Memories) -> None:
    await memories.remember(
        memories.bo,
        "Use `pytest -x` in tests/unit/test_it.py to stop early.\n```sh\npytest -x\n```\nAn error.",
        context={"sessionId": "s1"},
        memoryMetadata={"source": "editor", "userId": "u7"},
    )
    [whole] = (await memories.call(memories.bo, "cipher_memory_search", query="pytest"))["results"]
    assert whole["code_pattern"] == "pytest -x"
    assert whole["domain"] == "quality-assurance"
    assert whole["sourceSessionId"] == "s1"
    assert (whole["event"], whole["qualitySource"], whole["userId"]) == ("ADD", "similarity", "u7")
    assert {"code-block", "file-path", "error-handling"} <= {*whole["tags"]}
    assert (whole["version"], whole["memoryType"], whole["source"]) == (2, *["knowledge"] * 2)
    asked = {"query": "pytest", "include_metadata": False}
    [bare] = (await memories.call(memories.bo, "cipher_memory_search", **asked))["results"]
    assert (bare["text"], bare["code_pattern"], bare["event"]) == (whole["text"], None, None)


async def test_a_threshold_of_nought_leaves_nothing_out(memories: Memories) -> None:
    texts = [PHYSICIAN, PORT, "Nous déjeunons à midi.", "会議は三時に始まります。"]
    await memories.remember(memories.bo, *texts)
    everything = await memories.recall(memories.bo, "quantum", similarity_threshold=0)
    assert {*everything} == {*texts}
    assert len(await memories.recall(memories.bo, "quantum", similarity_threshold=0, top_k=2)) == 2
    assert await memories.recall(memories.bo, "quantum", similarity_threshold=1) == []


async def test_the_most_alike_comes_first_and_figures_agree(memories: Memories) -> None:
    await memories.remember(memories.bo, PHYSICIAN, PORT, "A nurse looked after the sick girl.")
    asked = {"query": "sick child", "similarity_threshold": 0.1}
    found = await memories.call(memories.bo, "cipher_memory_search", **asked)
    scores = [it["similarity"] for it in found["results"]]
    figures = found["metadata"]
    assert scores == sorted(scores, reverse=True)
    assert (figures["maxSimilarity"], figures["minSimilarity"]) == (scores[0], scores[-1])
    assert figures["averageSimilarity"] == pytest.approx(sum(scores) / len(scores), abs=1e-5)
    assert figures["totalResults"] == figures["knowledgeResults"] == len(scores)


@pytest.mark.parametrize(
    ("arguments", "error", "field"),
    [
        ({"query": ""}, OutOfRange, "query"),
        ({"query": "x" * 1001}, PayloadTooLarge, "query"),
        ({"query": "x", "top_k": 51}, OutOfRange, "top_k"),
        ({"query": "x", "similarity_threshold": 1.1}, OutOfRange, "similarity_threshold"),
    ],
)
async def test_what_is_out_of_bounds_is_named(
    memories: Memories, arguments: dict[str, str | int], error: type[PeciaError], field: str
) -> None:
    with pytest.raises(error) as refused:
        await memories.call(memories.bo, "cipher_memory_search", **arguments)
    assert refused.value.fields["field"] == field


async def test_what_is_known_already_is_left_and_told(memories: Memories) -> None:
    first = await memories.remember(memories.bo, PORT)
    again = await memories.remember(memories.bo, PORT.replace(" ", "\n "))
    [told] = again["summary"]
    assert (told["action"], told["targetId"]) == ("NONE", first["memory"][0]["id"])
    assert told["reason"] == "a memory says the same"
    assert again["written"] == 0
    assert await memories.listed(memories.bo) == [PORT]


async def test_a_text_that_extends_a_memory_takes_its_place_and_the_old_one_is_told(
    memories: Memories,
) -> None:
    first = await memories.remember(memories.bo, "We deploy on Fridays.")
    second = await memories.remember(memories.bo, "We deploy on Fridays. Ana does it.")
    [told] = second["memory"]
    assert told["event"] == "UPDATE"
    assert second["summary"][0]["targetId"] == first["memory"][0]["id"] != told["id"]
    [found] = (await memories.call(memories.bo, "cipher_memory_search", query="deploy"))["results"]
    assert found["text"] == "We deploy on Fridays. Ana does it."
    assert found["old_memory"] == "We deploy on Fridays."
    assert await memories.listed(memories.bo) == [found["text"]]


async def test_the_same_words_about_something_else_are_another_fact(memories: Memories) -> None:
    text = "The database listens on port 6543."
    for environment in ("staging", "production", "staging"):
        more = {"environment": environment}
        await memories.remember(memories.bo, text, memoryMetadata=more)
    listed = await memories.call(memories.bo, "memory_list")
    found = [it["metadata"]["metadata"]["environment"] for it in listed["memories"]]
    assert found == ["staging", "production"]


async def test_two_texts_of_one_call_that_extend_one_memory_are_both_kept(
    memories: Memories,
) -> None:
    await memories.remember(memories.bo, "Alpha runs the mail.")
    longer = [f"Alpha runs the mail. {it} owns it." for it in ("Ana", "Bo")]
    made = await memories.remember(memories.bo, *longer)
    assert [it["event"] for it in made["memory"]] == ["UPDATE", "ADD"]
    assert await memories.listed(memories.bo) == longer


async def test_another_fact_of_the_same_kind_is_kept_beside_the_first(memories: Memories) -> None:
    texts = ["Service A listens on port 8080.", "Service B listens on port 9090."]
    for text in texts:
        await memories.remember(memories.bo, text)
    assert await memories.listed(memories.bo) == texts


async def test_what_nothing_is_made_of_is_told_with_the_reason(memories: Memories) -> None:
    made = await memories.remember(memories.bo, "  \n", PORT, PORT)
    assert (made["extraction"]["extracted"], made["extraction"]["skipped"]) == (1, 2)
    assert [it["reason"] for it in made["skippedReasons"]] == [
        "it is blank",
        "it is a duplicate in this call",
    ]
    # What a search returned is told by its content, whatever it begins with.
    echo = f"Search results: 1. {PORT}"
    told = await memories.remember(memories.bo, echo)
    assert told["summary"][0]["reason"] == "it repeats what memories say"
    assert told["written"] == 0
    forced = await memories.remember(memories.bo, echo, options={"force": True})
    assert forced["written"] == 1
    nothing = await memories.remember(memories.bo, " ")
    assert (nothing["success"], nothing["written"], nothing["memory"]) == (True, 0, [])


async def test_words_that_other_filters_would_refuse_are_kept_when_asked_for(
    memories: Memories,
) -> None:
    text = "The login endpoint lives in auth/login.py; hash passwords with argon2."
    assert (await memories.remember(memories.bo, text))["written"] == 1


async def test_a_decision_with_too_little_confidence_is_not_carried_out(memories: Memories) -> None:
    made = await memories.remember(memories.bo, PORT, options={"confidenceThreshold": 0.95})
    assert made["written"] == 0
    assert "below 0.95" in made["summary"][0]["reason"]
    assert await memories.listed(memories.bo) == []


async def test_memories_named_by_the_caller_are_compared_with_and_strangers_are_told(
    memories: Memories,
) -> None:
    made = await memories.remember(memories.bo, PORT)
    known = made["memory"][0]["id"]
    hidden = (await memories.remember(memories.ana, "Ana keeps bees."))["memory"][0]["id"]
    asked = [{"id": known}, {"id": hidden}, {"id": "666667"}]
    again = await memories.remember(memories.bo, PORT, existingMemories=asked)
    assert again["summary"][0]["targetId"] == known
    assert again["unknownMemories"] == ["666667", hidden]


async def test_metadata_without_end_is_refused(memories: Memories) -> None:
    with pytest.raises(PayloadTooLarge) as refused:
        await memories.remember(memories.bo, PORT, memoryMetadata={"note": "x" * 30_000})
    assert refused.value.fields["field"] == "memoryMetadata"


async def test_a_long_memory_is_kept_whole_and_found_by_any_part_of_it(memories: Memories) -> None:
    parts = [f"## Part {it}\n\n" + f"Filler {it} goes on and on. " * 60 for it in range(12)]
    parts[9] += "The zebra crossing is at kilometre 88."
    text = "\n\n".join(parts).strip()
    made = await memories.remember(memories.bo, text)
    assert made["memory"][0]["text"] == text
    assert await memories.recall(memories.bo, "zebra crossing kilometre 88") == [text]


async def test_a_removed_memory_is_gone_from_every_tool(memories: Memories) -> None:
    made = await memories.remember(memories.bo, PORT, PHYSICIAN)
    port, physician = (it["id"] for it in made["memory"])
    gone = await memories.call(memories.bo, "memory_delete", ids=[port, "nonsense"])
    assert (gone["deleted"], gone["notFound"], gone["success"]) == ([port], ["nonsense"], False)
    assert await memories.listed(memories.bo) == [PHYSICIAN]
    assert await memories.recall(memories.bo, PORT) == []
    with pytest.raises(NotFound):
        await memories.call(memories.bo, "memory_get", id=port)
    kept = await memories.call(memories.bo, "memory_get", id=physician)
    assert (kept["memory"]["text"], kept["memory"]["mine"]) == (PHYSICIAN, True)


async def test_lists_come_page_by_page_and_another_cursor_is_refused(memories: Memories) -> None:
    texts = [f"Fact number {it} about {it * 7919}." for it in range(7)]
    await memories.remember(memories.bo, *texts)
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        page = await memories.call(memories.bo, "memory_list", limit=2, cursor=cursor)
        seen += [it["text"] for it in page["memories"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == (texts, None)
    with pytest.raises(InvalidFormat):
        await memories.call(memories.bo, "memory_list", cursor="bm9wZQ==")


async def test_a_call_that_is_sent_many_times_at_once_adds_one_memory(memories: Memories) -> None:
    events: list[str] = []

    async def send() -> None:
        made = await memories.remember(memories.bo, PORT)
        events.append(made["memory"][0]["event"])

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(send)
    assert sorted(events) == ["ADD", *["NONE"] * 4]
    assert await memories.listed(memories.bo) == [PORT]


async def test_the_audit_log_does_not_hold_the_words_of_a_memory(memories: Memories) -> None:
    word = "xylophone88"
    await memories.remember(memories.bo, f"The secret of the server is {word}.")
    await memories.call(memories.bo, "ask_cipher", message=f"Our API is called {word}.")
    imported = [{"text": f"Brought in with {word}."}]
    await memories.call(memories.bo, "memory_import", memories=imported)
    await memories.app.audit_log.drain()
    async with memories.app.store.system() as tx:
        rows = await tx.fetch_all("SELECT arguments::text AS said FROM kernel.audit")
    assert any("interaction" in it["said"] for it in rows)
    assert not any(word in it["said"] for it in rows)


async def test_a_memory_is_put_right_by_its_owner_alone(memories: Memories) -> None:
    shared = memories.within(workspace_mode="shared")
    id_ = (await shared.remember(memories.bo, PORT))["memory"][0]["id"]
    right = "The staging database listens on port 6544."
    done = await shared.call(memories.bo, "memory_edit", id=id_, text=right, tags=["net", "net"])
    assert (done["memory"]["text"], done["memory"]["tags"]) == (right, ["net"])
    assert done["memory"]["metadata"]["old_memory"] == PORT
    assert await shared.recall(memories.bo, "port of the staging database") == [right]
    with pytest.raises(Conflict, match="no longer holds"):
        await shared.call(memories.bo, "memory_edit", id=id_, text="Another correction.")
    id_ = done["memory"]["id"]
    with pytest.raises(Forbidden):
        await shared.call(memories.cy, "memory_edit", id=id_, text="Mine now.")
    hidden = (await memories.remember(memories.bo, PHYSICIAN))["memory"][0]["id"]
    with pytest.raises(NotFound):
        await memories.call(memories.cy, "memory_edit", id=hidden, text="Mine now.")
    for wrong in ({}, {"text": "  "}):
        with pytest.raises(BadArgument):
            await memories.call(memories.bo, "memory_edit", id=id_, **wrong)
    assert await shared.listed(memories.cy) == [right]


async def test_a_session_without_memories_of_its_own_has_none(memories: Memories) -> None:
    team = memories.within(disable_default=True)
    with pytest.raises(ToolNotFound):
        await team.remember(memories.bo, PORT)
    with pytest.raises(ToolNotFound):
        await team.recall(memories.bo, "port")
    tool = "cipher_workspace_store"
    await team.call(memories.bo, tool, interaction="The team deploys the API on Mondays.")
    said = await team.call(memories.cy, "ask_cipher", message="When does the team deploy the API?")
    assert "Mondays" in said["response"]

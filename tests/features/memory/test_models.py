"""What a model says is data: it decides among what it was shown, and is done without elsewhere."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pecia.app.dispatch import RequestContext
from pecia.kernel.errors import Forbidden, Json, Unavailable, UpstreamError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.tool.call import ClientInquiry, ClientReply
from pecia.kernel.tool.null_channel import NullChannel
from tests.features.memory.conftest import Memories, Scripted, member, with_mind

pytestmark = pytest.mark.anyio

OLD = "We deploy on Fridays."
NEW = "Some of us would deploy on Mondays."
OTHER = "We deploy the shop on Mondays."


def verdict(operation: str, target: str | None, confidence: float = 0.9) -> str:
    said = {"operation": operation, "confidence": confidence, "targetMemoryId": target}
    return f"Sure! Here it is:\n```json\n{json.dumps(said)}\n```"


async def test_a_model_updates_or_deletes_a_memory_that_it_was_shown(memories: Memories) -> None:
    first = (await memories.remember(memories.bo, OLD))["memory"][0]["id"]
    mind = Scripted(verdict("UPDATE", first))
    longer = f"{OLD} Ana does it."
    made = await with_mind(memories, mind).remember(memories.bo, longer)
    [told] = made["summary"]
    assert (told["action"], told["targetId"], told["qualitySource"]) == ("UPDATE", first, "llm")
    assert OLD in mind.heard[0][1]
    assert await memories.listed(memories.bo) == [longer]
    second = made["memory"][0]["id"]
    mind.says = verdict("DELETE", second)
    gone = await with_mind(memories, mind).remember(memories.bo, f"No longer true: {longer}")
    assert gone["memory"][0]["event"] == "DELETE"
    assert await memories.listed(memories.bo) == []
    assert await memories.recall(memories.bo, OLD, similarity_threshold=0) == []
    # What it said is still there for whoever asks for it by its id, and why it was retired.
    kept = await memories.call(memories.bo, "memory_get", id=second)
    assert (kept["memory"]["text"], kept["history"][0]["text"]) == (longer, OLD)
    assert kept["memory"]["metadata"]["retired_by"] == f"No longer true: {longer}"
    again = await memories.remember(memories.bo, longer)
    assert again["memory"][0]["event"] == "ADD"


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE"])
async def test_what_a_model_alone_takes_for_outdated_holds_beside_the_new_memory(
    memories: Memories, operation: str
) -> None:
    new = "We deploy the shop on Mondays."
    first = (await memories.remember(memories.bo, OLD))["memory"][0]["id"]
    mind = Scripted(verdict(operation, first))
    [made] = (await with_mind(memories, mind).remember(memories.bo, new))["memory"]
    assert made["event"] == "ADD"
    found = await memories.call(memories.bo, "cipher_memory_search", query="deploy on")
    told = {it["text"]: it for it in found["results"]}
    assert told[OLD]["superseded_by"] is None
    assert (told[new]["id"], told[new]["revises"]) == (made["id"], first)


async def test_a_model_that_is_not_sure_decides_nothing(memories: Memories) -> None:
    first = (await memories.remember(memories.bo, OLD))["memory"][0]["id"]
    for operation in ("UPDATE", "NONE", "ADD"):
        mind = Scripted(verdict(operation, first, 0.1))
        text = f"{NEW} {operation}"
        made = await with_mind(memories, mind).remember(memories.bo, text)
        assert made["memory"][0]["event"] == "ADD"
        assert text in await memories.listed(memories.bo)


@pytest.mark.parametrize(
    ("operation", "confidence", "options"),
    [
        ("DELETE", 0.3, {}),
        ("DELETE", 0.9, {"enableDeleteOperations": False}),
        ("DELETE", 0.9, {"useLLMDecisions": False}),
    ],
)
async def test_nothing_is_deleted_without_a_sure_verdict_that_is_allowed(
    memories: Memories, operation: str, confidence: float, options: dict[str, bool]
) -> None:
    first = (await memories.remember(memories.bo, OLD))["memory"][0]["id"]
    mind = Scripted(verdict(operation, first, confidence))
    made = await with_mind(memories, mind).remember(memories.bo, NEW, options={**options})
    assert made["memory"][0]["event"] != "DELETE"
    assert OLD in await memories.listed(memories.bo)


async def test_a_memory_that_was_not_shown_cannot_be_named(memories: Memories) -> None:
    other = memories.within(collection="elsewhere")
    hidden = (await other.remember(memories.bo, "Elsewhere lies another fact."))["memory"][0]["id"]
    foreign = (await memories.remember(memories.cy, OLD))["memory"][0]["id"]
    await memories.remember(memories.bo, OLD)
    for target in (hidden, foreign, "1", None):
        mind = Scripted(verdict("DELETE", target))
        made = await with_mind(memories, mind).remember(memories.bo, f"{NEW} {target}")
        assert made["summary"][0]["qualitySource"] != "llm"
    assert await other.recall(memories.bo, "another fact")
    assert await memories.listed(memories.cy) == [OLD]


@pytest.mark.parametrize("says", ["I would rather not.", UpstreamError("the model is away")])
async def test_without_a_verdict_the_heuristic_decides(
    memories: Memories, says: str | UpstreamError
) -> None:
    await memories.remember(memories.bo, OLD)
    made = await with_mind(memories, Scripted(says)).remember(memories.bo, OTHER)
    assert made["memory"][0]["event"] == "ADD"
    assert {*await memories.listed(memories.bo)} == {OLD, OTHER}


async def test_a_refined_query_finds_each_memory_once(memories: Memories) -> None:
    await memories.remember(memories.bo, "The physician examined the ailing child.", OLD)
    mind = Scripted("Query 1: doctor examined a sick child\nQuery 2: physician ailing child visit")
    asked = {"query": "zzz", "enable_query_refinement": True}
    found = await with_mind(memories, mind).call(memories.bo, "cipher_memory_search", **asked)
    assert [it["text"] for it in found["results"]] == ["The physician examined the ailing child."]
    assert len(found["metadata"]["refinedQueries"]) == 2
    plain = await memories.call(memories.bo, "cipher_memory_search", **asked)
    assert (plain["results"], plain["metadata"]["refinedQueries"]) == ([], [])


@pytest.mark.requirement("memory.ask.converses")
async def test_ask_answers_from_memories_and_remembers_what_it_is_told(memories: Memories) -> None:
    await memories.remember(memories.bo, "The build server is called Hephaistos.")
    mind = Scripted("It is called Hephaistos.")
    ask = with_mind(memories, mind)
    said = await ask.call(memories.bo, "ask_cipher", message="What is the build server called?")
    assert (said["response"], said["usedModel"]) == ("It is called Hephaistos.", True)
    assert "Hephaistos" in mind.heard[0][1]
    assert said["remembered"][0]["reason"] == "it is a question"
    told = await ask.call(
        memories.bo, "ask_cipher", message="The API gateway runs on port 8443 in staging."
    )
    assert told["remembered"][0]["event"] == "ADD"
    # The model knows what became of the message before it answers.
    assert "Kept: The API gateway runs on port 8443" in mind.heard[-1][1]
    assert await memories.recall(memories.bo, "port of the API gateway", top_k=1) == [
        "The API gateway runs on port 8443 in staging."
    ]


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Remember: the API port of staging is 6543.", "the API port of staging is 6543."),
        ("Please remember that our API server is Foo.", "our API server is Foo."),
        ("remember this:\n- API host: foo\n- port: 1", "- API host: foo\n- port: 1"),
        ("Remember: Ana likes tea with milk.", "Ana likes tea with milk."),
        ("Merk dir: der API-Server heißt Foo.", "der API-Server heißt Foo."),
        # No command, or perhaps none: all of it is kept.
        ("Remember to rotate the API token.", "Remember to rotate the API token."),
        ("The API server: remember that it is slow.", "The API server: remember that it is slow."),
        ("Remember: python", "Remember: python"),
        ("Store: the database file is in Berlin.", "Store: the database file is in Berlin."),
    ],
)
async def test_ask_keeps_the_fact_without_the_command(
    memories: Memories, message: str, kept: str
) -> None:
    said = await memories.call(memories.bo, "ask_cipher", message=message)
    assert {it["event"] for it in said["remembered"]} == {"ADD"}, said["remembered"]
    listed = await memories.call(memories.bo, "memory_list")
    assert {it["text"] for it in listed["memories"]} == {kept}


@pytest.mark.requirement("memory.ask.only_tool_with_a_model")
async def test_without_a_model_ask_gives_what_memory_holds_and_says_so(memories: Memories) -> None:
    await memories.remember(memories.bo, "The build server is called Hephaistos.")
    said = await memories.call(memories.bo, "ask_cipher", message="How is the build server called?")
    assert "- The build server is called Hephaistos. (20" in said["response"]
    assert said["outcome"].startswith("Not kept, it is a question")
    assert (said["usedModel"], said["note"]) == (
        False,
        "no model is configured, and this client does not support sampling",
    )
    nothing = await memories.call(memories.cy, "ask_cipher", message="Anything about penguins?")
    assert nothing["response"] == "No matching memories."
    reader = await member(memories.app, memories.ana, "gus", ["pecia.search"])
    kept = await memories.call(reader, "ask_cipher", message="The API server listens on port 1.")
    assert kept["remembered"][0] == {
        "id": None,
        "event": "NONE",
        "reason": "the token has no pecia.write",
    }


class SamplingClient(NullChannel):
    """A client that lends its model, and hears how far a call is."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.heard.append(message or "")

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        return {key: ClientReply("accept", {"text": "Lent words."}) for key in inquiries}


async def test_a_client_that_lends_its_model_is_asked_and_told_on_the_way(
    memories: Memories,
) -> None:
    client = SamplingClient()
    asked: dict[str, Json] = {"message": "Anything about penguins?", "stream": True}
    visit = RequestContext("test", channel=client, session=memories.session)
    said = await memories.app.call(memories.bo, "ask_cipher", asked, visit)
    assert isinstance(said.structured, dict)
    assert (said.structured["response"], said.structured["usedModel"]) == ("Lent words.", True)
    assert client.heard == ["searching memories", "remembering", "thinking"]


@pytest.mark.requirement("memory.contact.uses_the_model")
async def test_contact_answers_through_the_model_or_says_that_there_is_none(
    memories: Memories,
) -> None:
    tool = "contact_ct_knowledge_management"
    mind = Scripted("At your service.")
    said = await with_mind(memories, mind).call(memories.bo, tool, message="Who are you?")
    assert said["response"] == "At your service."
    assert "Ptah" in mind.heard[0][0]
    with pytest.raises(Unavailable) as refused:
        await memories.call(memories.bo, tool, message="Who are you?")
    assert "no model is configured" in refused.value.message
    assert refused.value.payload()["retryable"] is False
    not_entitled = Scripted(Forbidden("models that this server pays for are for admins"))
    with pytest.raises(Unavailable) as refused:
        await with_mind(memories, not_entitled).call(memories.bo, tool, message="Who?")
    assert "for admins" in refused.value.message


async def test_introspection_tells_of_what_the_caller_may_call(memories: Memories) -> None:
    async def told(who: Caller, **asked: str) -> dict[str, Any]:
        return await memories.call(who, "tool_introspect", **asked)

    full = await told(memories.bo, action="full")
    names = [it["name"] for it in full["tools"]]
    assert {"ask_cipher", "cipher_memory_search", "tool_introspect"} <= {*names}
    assert full["totalCount"] == len(names)
    summary = await told(memories.bo, action="categories_summary")
    assert sum(summary["categories"].values()) == len(names)
    reader = await member(memories.app, memories.ana, "hal", ["pecia.search"])
    mine = await told(reader, action="full")
    assert "cipher_add_node" not in {it["name"] for it in mine["tools"]}
    found = await told(memories.bo, action="search", query="reasoning")
    assert "cipher_evaluate_reasoning" in {it["name"] for it in found["tools"]}
    assert (await told(memories.bo, action="by_source", source="mcp"))["totalCount"] == 0


async def test_ask_forgets_everything_about_somebody(memories: Memories) -> None:
    async def ask(message: str) -> dict[str, Any]:
        return await memories.call(memories.bo, "ask_cipher", message=message)

    await ask("Rita's birthday is on 3 August.")
    await ask("The rent is due on the fifth.")
    gone = await ask("Forget everything you know about Rita.")
    assert {it["event"] for it in gone["remembered"]} == {"DELETE"}
    assert await memories.listed(memories.bo) == ["The rent is due on the fifth."]


@pytest.mark.parametrize(
    "message",
    ["Don't remember this: I am planning a party.", "Please do not remember that I was ill."],
)
async def test_ask_keeps_nothing_of_what_it_is_asked_not_to_remember(
    memories: Memories, message: str
) -> None:
    answer = await memories.call(memories.bo, "ask_cipher", message=message)
    assert "you asked not to remember it" in answer["outcome"]
    assert await memories.listed(memories.bo) == []


async def test_ask_obeys_remember_forget_always_and_never_and_says_what_it_did(
    memories: Memories,
) -> None:
    async def ask(message: str) -> dict[str, Any]:
        return await memories.call(memories.bo, "ask_cipher", message=message)

    kept = await ask("Please remember: my favourite editor is Helix")
    assert kept["outcome"].endswith("my favourite editor is Helix")
    rule = await ask("Never use tabs in our Python code.")
    assert rule["outcome"].startswith("Kept as standing instruction: Never use tabs")
    asked = await ask("Write a Python function that sorts users.")
    assert asked["memories"][0]["text"] == "Never use tabs in our Python code."
    assert asked["outcome"].startswith("Not kept, it is a request")
    found = await memories.call(memories.bo, "cipher_memory_search", query="sort users in Python")
    assert found["standing"][0]["text"] == "Never use tabs in our Python code."
    gone = await ask("Forget my favourite editor.")
    ended = gone["remembered"][0]
    assert {it["event"] for it in gone["remembered"]} == {"DELETE"}
    assert "memory_undo" in gone["outcome"]
    assert "my favourite editor is Helix" not in await memories.listed(memories.bo)
    assert (await ask("Forget the price of tea in Peru."))["remembered"][0]["event"] == "NONE"
    await memories.call(memories.bo, "memory_undo", id=ended["id"])
    assert "my favourite editor is Helix" in await memories.listed(memories.bo)

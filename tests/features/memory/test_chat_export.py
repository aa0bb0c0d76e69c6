"""Exports of other products, as those products write them, become memories with their dates."""

import json
from typing import Any
from uuid import uuid4

import pytest

from pecia.features.memory.core.chat_export import parse_export
from pecia.kernel.errors import InvalidFormat
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio


def message(
    id_: str, role: str, *parts: Any, at: float | None = 1714550400.5, **more: Any
) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [*parts]}
    return {"id": id_, "author": {"role": role}, "create_time": at, "content": content, **more}


CHATGPT: Any = [
    {
        "title": "Editors",
        "conversation_id": "c-1",
        "current_node": "d",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["a"]},
            "a": {
                "id": "a",
                "message": message("m-a", "system", "You are helpful.", at=None),
                "parent": "root",
                "children": ["b", "x"],
            },
            "x": {
                "id": "x",
                "message": message("m-x", "user", "My editor is Vim."),
                "parent": "a",
                "children": [],
            },
            "b": {
                "id": "b",
                "message": message("m-b", "user", "My editor is Helix."),
                "parent": "a",
                "children": ["c"],
            },
            "c": {
                "id": "c",
                "message": message("m-c", "assistant", "Helix is modal."),
                "parent": "b",
                "children": ["d"],
            },
            "d": {
                "id": "d",
                "message": message("m-d", "user", {"asset_pointer": "x"}, "How do I quit it?"),
                "parent": "c",
                "children": [],
            },
        },
    }
]
CLAUDE: Any = [
    {
        "uuid": "c-2",
        "name": "Moving",
        "chat_messages": [
            {
                "uuid": "h-1",
                "sender": "human",
                "text": "We moved the office to Lyon.",
                "created_at": "2024-05-01T08:00:00.000000Z",
            },
            {
                "uuid": "h-2",
                "sender": "assistant",
                "text": "",
                "content": [{"type": "text", "text": "Noted."}, {"type": "tool_use"}],
                "created_at": "not a time",
            },
        ],
    }
]
MEM0: Any = {
    "count": 1,
    "results": [
        {
            "id": "m0",
            "memory": "Dev works at TechCorp.",
            "user_id": "dev",
            "hash": "h",
            "metadata": {"type": "professional"},
            "categories": ["work"],
            "created_at": "2024-07-20T01:30:36.275141-07:00",
        },
        {"id": "m1", "memory": " "},
    ],
}


def test_of_a_chat_what_the_person_said_and_is_worth_it_is_taken_from_the_shown_branch() -> None:
    found = parse_export(CHATGPT)
    assert (found.product, found.left_out) == ("ChatGPT", 2)
    [memory] = found.memories
    assert memory["text"] == "My editor is Helix."
    assert (memory["said_by"], memory["sourceSessionId"]) == ("user", "c-1")
    assert str(memory["timestamp"]).startswith("2024-05-01T08:00:00")


def test_every_turn_is_taken_if_asked() -> None:
    texts = [it["text"] for it in parse_export(CHATGPT, every_turn=True).memories]
    assert texts == ["My editor is Helix.", "Helix is modal.", "How do I quit it?"]
    [said, answer] = parse_export(CLAUDE, every_turn=True).memories
    assert (said["text"], answer["text"]) == ("We moved the office to Lyon.", "Noted.")
    assert "timestamp" not in answer


@pytest.mark.parametrize("document", [None, [], {}, "text", [1], {"results": [{"other": 1}]}])
def test_what_is_no_export_is_refused(document: Any) -> None:
    with pytest.raises(InvalidFormat):
        parse_export(document)


async def test_what_was_parsed_is_imported_with_its_dates_and_once(memories: Memories) -> None:
    for document, text, day in (
        (CHATGPT, "My editor is Helix.", "2024-05-01"),
        (CLAUDE, "We moved the office to Lyon.", "2024-05-01"),
        (MEM0, "Dev works at TechCorp.", "2024-07-20"),
    ):
        parsed: Any = [*parse_export(document).memories]
        made = await memories.call(memories.bo, "memory_import", memories=parsed)
        assert made["imported"] == 1
        again = await memories.call(memories.bo, "memory_import", memories=parsed)
        assert (again["imported"], len(again["skipped"])) == (0, 1)
        found = await memories.call(memories.bo, "cipher_memory_search", query=text)
        first = found["results"][0]
        assert (first["text"], first["said_at"][:10]) == (text, day)


def with_own_ids(document: Any) -> str:
    """The export as JSON, with ids that no other test has imported."""
    text = json.dumps(document)
    for id_ in ("m-b", "h-1", "m0"):
        text = text.replace(f'"{id_}"', f'"{uuid4().hex}"')
    return text


@pytest.mark.parametrize("as_text", [False, True])
async def test_an_export_of_another_product_is_imported_as_it_is(
    memories: Memories, as_text: bool
) -> None:
    for document, product, text in (
        (CHATGPT, "ChatGPT", "My editor is Helix."),
        (CLAUDE, "Claude", "We moved the office to Lyon."),
        (MEM0, "mem0", "Dev works at TechCorp."),
    ):
        export = with_own_ids(document)
        given = export if as_text else json.loads(export)
        made = await memories.call(memories.bo, "memory_import", export=given)
        assert (made["product"], made["imported"]) == (product, 1)
        again = await memories.call(memories.bo, "memory_import", export=given)
        assert (again["imported"], len(again["skipped"])) == (0, 1)
        assert text in await memories.listed(memories.bo)


async def test_what_was_imported_to_another_collection_is_said_to_be_there(
    memories: Memories,
) -> None:
    given = {"id": uuid4().hex, "text": "The kiln is in shed 4."}
    there = memories.within(collection=uuid4().hex)
    await there.call(memories.bo, "memory_import", memories=[given])
    made = await memories.call(memories.bo, "memory_import", memories=[given])
    assert made["skipped"][0]["reason"] == "already imported, to another folder"


async def test_an_export_with_more_than_one_call_takes_is_imported_whole(
    memories: Memories,
) -> None:
    entries = [{"id": str(n), "memory": f"Shelf {n} holds box {n * 7}."} for n in range(450)]
    made = await memories.call(memories.bo, "memory_import", export={"results": entries})
    assert (made["imported"], len(made["ids"])) == (450, 450)


async def test_nothing_to_import_and_an_unknown_document_are_refused(memories: Memories) -> None:
    for asked in ({}, {"export": {"a": 1}}, {"export": "no JSON"}):
        with pytest.raises(InvalidFormat):
            await memories.call(memories.bo, "memory_import", **asked)

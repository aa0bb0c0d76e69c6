"""Standing pages: what holds now on one page, and what an edit of it changes."""

import re

import pytest

from pecia.kernel.errors import InvalidFormat
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

PORT = "The staging database listens on port 6543."
TRAM = "Nora takes tram 12 to the harbour."
RULE = "Always answer Nora in Danish."


async def page_of(memories: Memories, **asked: str) -> str:
    return (await memories.call(memories.bo, "memory_page", **asked))["text"]


async def test_a_page_has_what_holds_with_its_proofs_and_ids(memories: Memories) -> None:
    here = memories.within(project_name="harbour")
    await here.remember(here.bo, PORT, TRAM)
    again = await here.remember(here.bo, "The port of the staging database is 6543.")
    assert again["memory"][0]["event"] == "NONE"
    await here.call(here.bo, "ask_cipher", message=RULE)
    await memories.remember(memories.bo, "Another project has an anchor.")
    text = await page_of(here)
    assert text.index("Standing instructions") < text.index(RULE) < text.index("What holds")
    assert re.search(rf"- {re.escape(PORT)} \(\[said 2 times, last \d{{4}}-\d\d-\d\d[^]]*\]", text)
    assert "The port of the staging database is" not in text
    assert "anchor" not in text
    ids = re.findall(r"\(memory:([0-9a-f-]{36})\)", text)
    assert len(ids) == 3
    for it in ids:
        assert (await here.call(here.bo, "memory_get", id=it))["success"]


async def test_the_page_of_a_person_has_what_names_them(memories: Memories) -> None:
    await memories.remember(memories.bo, PORT, TRAM, "Eleonora rows.")
    text = await page_of(memories, person="nora")
    assert TRAM in text
    assert PORT not in text
    assert "Eleonora" not in text


async def test_edits_become_memories_and_nothing_is_lost(memories: Memories) -> None:
    made = await memories.remember(memories.bo, PORT, TRAM, "The crane is yellow.")
    first, second, third = (it["id"] for it in made["memory"])
    lines = (await page_of(memories)).splitlines()
    # Said after the page was read: nobody took it out.
    await memories.remember(memories.bo, "The pilot is Ole.")
    edited = [it.replace("port 6543", "port 7000") for it in lines if "crane" not in it]
    text = "\n".join([*edited, "", "My own notes stay out of it.", "- The quay has 12 berths."])
    saved = await memories.call(memories.bo, "memory_page_save", text=text)
    assert (list(saved["changed"]), saved["ended"], saved["kept"]) == ([first], [third], [])
    now = await memories.listed(memories.bo)
    assert now == sorted(
        [
            PORT.replace("6543", "7000"),
            TRAM,
            "The pilot is Ole.",
            "The quay has 12 berths.",
        ]
    )
    old = await memories.call(memories.bo, "memory_history", id=first)
    assert old["memories"][0]["text"] == PORT
    await memories.call(memories.bo, "memory_undo", id=third)
    assert "The crane is yellow." in await memories.listed(memories.bo)
    assert second not in saved["changed"]


async def test_the_same_page_saved_twice_changes_nothing_more(memories: Memories) -> None:
    await memories.remember(memories.bo, PORT)
    text = (await page_of(memories)).replace("6543", "7000")
    await memories.call(memories.bo, "memory_page_save", text=text)
    again = await memories.call(memories.bo, "memory_page_save", text=text)
    assert (again["changed"], again["ended"], again["added"], again["kept"]) == ({}, [], [], [])
    assert await memories.listed(memories.bo) == [PORT.replace("6543", "7000")]


async def test_a_line_that_was_superseded_meanwhile_is_left_and_told(memories: Memories) -> None:
    made = await memories.remember(memories.bo, PORT)
    text = (await page_of(memories)).replace("6543", "7000")
    newer = PORT.replace("6543", "8000")
    await memories.call(memories.bo, "memory_edit", id=made["memory"][0]["id"], text=newer)
    saved = await memories.call(memories.bo, "memory_page_save", text=text)
    [kept] = saved["kept"]
    assert "superseded meanwhile" in kept["reason"]
    assert await memories.listed(memories.bo) == [newer]


async def test_nobody_elses_memory_is_changed_by_a_page(memories: Memories) -> None:
    shared = memories.within(workspace_mode="shared")
    await shared.remember(shared.cy, PORT)
    text = await page_of(shared)
    for edited in (text.replace("6543", "7000"), text.replace("- The staging", "The staging")):
        saved = await shared.call(shared.bo, "memory_page_save", text=edited)
        assert (saved["changed"], saved["ended"]) == ({}, [])
        assert saved["kept"]
    assert await shared.listed(shared.cy) == [PORT]


async def test_what_is_no_page_is_refused(memories: Memories) -> None:
    await memories.remember(memories.bo, PORT)
    with pytest.raises(InvalidFormat, match="as_of"):
        await memories.call(memories.bo, "memory_page_save", text="- The quay has 12 berths.")
    assert await memories.listed(memories.bo) == [PORT]

"""Standing pages: what holds now on one page, and what an edit of it changes."""

import re
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from pecia.app.app import index_root
from pecia.features.memory.core.screen.policy import PersonalDataPolicy
from pecia.features.memory.feature import memory_feature
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.errors import InvalidFormat, Unprocessable
from pecia.kernel.tool.view import combine_tools
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

PORT = "The staging database listens on port 6543."
TRAM = "Nora takes tram 12 to the harbour."
RULE = "Always answer Nora in Danish."
CRANE = "The crane is yellow."
SHAPES = {
    "nested": "- A harbour of ours\n    - {text} ({link})",
    "nested by a tab": "- A harbour of ours\n\t- {text} ({link})",
    "wrapped": "- {first}\n  {rest} ({link})",
    "wrapped in its link": "- {text} ([said\n  once]({target}))",
    "numbered": "1. {text} ({link})",
    "numbered with a bracket": "12) {text} ({link})",
    "with text after its link": "* {first} ({link}) {rest}",
}
UNREAD = {
    "a broken link": "- {text} ([said once]({target}",
    "a paragraph": "{text} ({link})",
    "a quotation": "> - {text} ({link})",
    "a fence": "```\n- {text} ({link})\n```",
    "a heading": "### {text} ({link})",
    "two links": "- {text} ({link}) ({link})",
    "no text": "- ({link})",
}


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


async def saved_as(memories: Memories, shape: str, text: str) -> dict[str, Any]:
    """Save the page of one memory, its line in another shape."""
    lines = (await page_of(memories)).splitlines()
    [line] = [it for it in lines if it.startswith("- The crane")]
    found = re.search(r"\[[^]]*\]\((memory:[^)]*)\)", line)
    assert found
    first, rest = text.split(" ", 1)
    named = {"text": text, "first": first, "rest": rest, "link": found[0], "target": found[1]}
    edited = "\n".join(shape.format(**named) if it == line else it for it in lines)
    return await memories.call(memories.bo, "memory_page_save", text=edited)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
async def test_a_line_is_read_in_every_shape_of_a_list(memories: Memories, shape: str) -> None:
    made = await memories.remember(memories.bo, CRANE)
    saved = await saved_as(memories, shape, CRANE)
    assert (saved["changed"], saved["ended"], saved["kept"]) == ({}, [], [])
    saved = await saved_as(memories, shape, CRANE.replace("yellow", "red"))
    assert [*saved["changed"]] == [made["memory"][0]["id"]]
    assert saved["ended"] == []
    assert "The crane is red." in await memories.listed(memories.bo)


@pytest.mark.parametrize("shape", UNREAD.values(), ids=UNREAD.keys())
async def test_a_line_that_cannot_be_read_ends_nothing(memories: Memories, shape: str) -> None:
    made = await memories.remember(memories.bo, CRANE)
    saved = await saved_as(memories, shape, CRANE.replace("yellow", "red"))
    assert (saved["changed"], saved["ended"], saved["added"]) == ({}, [], [])
    [kept] = saved["kept"]
    assert kept["id"] == made["memory"][0]["id"]
    assert kept["reason"]
    assert await memories.listed(memories.bo) == [CRANE]


async def test_an_id_without_its_link_is_not_missing(memories: Memories) -> None:
    made = await memories.remember(memories.bo, CRANE)
    id_ = made["memory"][0]["id"]
    text = re.sub(r"(?m)^- .*$", f"See {id_}.", await page_of(memories))
    saved = await memories.call(memories.bo, "memory_page_save", text=text)
    assert (saved["ended"], [it["id"] for it in saved["kept"]]) == ([], [id_])


async def test_a_malformed_id_is_told_and_the_rest_is_saved(memories: Memories) -> None:
    await memories.remember(memories.bo, CRANE)
    for bad in ("12", "-" * 36):
        added = f"- Some text. ([said once](memory:{bad}))\n- The quay has {len(bad)} berths.\n"
        text = await page_of(memories) + added
        saved = await memories.call(memories.bo, "memory_page_save", text=text)
        assert ([it["id"] for it in saved["kept"]], len(saved["added"])) == ([bad], 1)
        assert saved["ended"] == []


async def test_rules_fences_and_headings_are_no_memories(memories: Memories) -> None:
    await memories.remember(memories.bo, CRANE)
    free = "\n- ---\n\n* * *\n\n+ ***\n\n- # Notes\n\n```\n- code\n```\n~~~ sh\n- more\n```\n~~~\n"
    text = await page_of(memories) + free + "\n- The quay has 12 berths.\n## The end\n"
    saved = await memories.call(memories.bo, "memory_page_save", text=text)
    assert (saved["changed"], saved["ended"], saved["kept"]) == ({}, [], [])
    assert await memories.listed(memories.bo) == [CRANE, "The quay has 12 berths."]


async def test_a_memory_that_looks_like_markup_is_still_its_line(memories: Memories) -> None:
    odd = ["~~~ is how a fence begins.", "# is the sign of a heading.", "Two\nlines."]
    await memories.remember(memories.bo, *odd)
    text = await page_of(memories)
    saved = await memories.call(memories.bo, "memory_page_save", text=text)
    assert (saved["changed"], saved["ended"], saved["kept"]) == ({}, [], [])
    assert sorted(odd) == await memories.listed(memories.bo)


async def test_a_page_from_the_future_is_refused(memories: Memories) -> None:
    await memories.remember(memories.bo, CRANE)
    text = re.sub(r"as_of: \S+", "as_of: 9999-12-31T23:59:59-14:00", await page_of(memories))
    with pytest.raises(InvalidFormat, match="as_of"):
        await memories.call(memories.bo, "memory_page_save", text=text)
    assert await memories.listed(memories.bo) == [CRANE]


async def test_most_of_a_page_ends_only_when_asked(memories: Memories) -> None:
    names = ("Ole", "Ida", "Kim", "Liv", "Per", "Tor", "Una")
    texts = [f"{name} berths at quay {len(name) + at}." for at, name in enumerate(names)]
    await memories.call(memories.bo, "memory_import", memories=[{"text": it} for it in texts])
    text = await page_of(memories)
    head = text[: text.index("# ")]
    only_ole = "\n".join(it for it in text.splitlines() if "Ole" in it or not it.startswith("- "))
    for edited, missing in ((head, 7), (only_ole, 6)):
        saved = await memories.call(memories.bo, "memory_page_save", text=edited)
        assert (saved["ended"], len(saved["kept"])) == ([], missing)
        assert all("end_missing" in it["reason"] for it in saved["kept"])
    assert len(await memories.listed(memories.bo)) == 7
    saved = await memories.call(memories.bo, "memory_page_save", text=head, end_missing=True)
    assert (len(saved["ended"]), saved["kept"]) == (7, [])


def with_policy(memories: Memories, policy: PersonalDataPolicy) -> Memories:
    """The same after the operator changed `memory.personal_data`."""
    app = memories.app
    corpus = Corpus(app.store, ReaderCache(index_root(app.settings.kernel)), app.embedder)
    settings = app.settings.part(MemorySettings).model_copy(update={"personal_data": policy})
    room = memory_feature(corpus, settings, None)
    return replace(memories, app=replace(app, full_view=combine_tools(room.tools)))


@pytest.mark.parametrize("policy", ["redact", "refuse"])
async def test_a_line_nobody_edited_is_not_screened(
    memories: Memories, policy: PersonalDataPolicy
) -> None:
    old = "Refunds of the canteen go to DE89370400440532013000."
    await memories.remember(memories.bo, old)
    strict = with_policy(memories, policy)
    text = await page_of(strict) + "- The quay has 12 berths.\n"
    saved = await strict.call(strict.bo, "memory_page_save", text=text)
    assert (saved["changed"], saved["ended"], saved["kept"]) == ({}, [], [])
    assert len(saved["added"]) == 1
    assert await strict.listed(strict.bo) == [old, "The quay has 12 berths."]
    edited = text.replace("canteen", "pub")
    with pytest.raises(Unprocessable) if policy == "refuse" else nullcontext():
        await strict.call(strict.bo, "memory_page_save", text=edited)
    is_hidden = "Refunds of the pub go to [iban]." in await strict.listed(strict.bo)
    assert is_hidden is (policy == "redact")


async def test_a_number_within_a_wrapped_line_begins_no_list(memories: Memories) -> None:
    await memories.remember(memories.bo, CRANE)
    wrapped = "- The quay was built in\n  2019. It has\n12 berths.\n3. The pilot is Ole.\n"
    saved = await memories.call(
        memories.bo, "memory_page_save", text=await page_of(memories) + wrapped
    )
    assert len(saved["added"]) == 2
    built = "The quay was built in 2019. It has 12 berths."
    assert await memories.listed(memories.bo) == [CRANE, "The pilot is Ole.", built]

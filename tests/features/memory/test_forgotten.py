"""Forgetting ends what was named and nothing beside it; no search finds what no longer holds."""

from typing import Any

import pytest

from pecia.features.memory.core.utterance import read_utterance
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

NEIGHBOURS = [
    (
        "The band plays on Mondays at 8.",
        "The band plays on Thursdays at 8.",
        "Forget that the band plays on Mondays at 8.",
    ),
    (
        "Die Kantine öffnet montags um 11 Uhr.",
        "Die Kantine öffnet freitags um 11 Uhr.",
        "Vergiss, dass die Kantine montags um 11 Uhr öffnet.",
    ),
    (
        "La reunión de equipo es los lunes a las 10.",
        "La reunión de equipo es los martes a las 10.",
        "Olvida que la reunión de equipo es los lunes a las 10.",
    ),
    (
        "The gate code of the depot ends in 17.",
        "The gate code of the office ends in 17.",
        "Forget that the gate code of the depot ends in 17.",
    ),
]


async def search_everything(memories: Memories, word: str) -> list[str]:
    """What the search over everything gives with this word: not the memory tools' own."""
    found = await memories.call(memories.ana, "lake.search_content", query=word, limit=10)
    hits: list[dict[str, Any]] = found["hits"]
    return [it["text"] for it in hits if word in it["text"]]


@pytest.mark.parametrize(("named", "beside", "command"), NEIGHBOURS)
async def test_forgetting_a_fact_keeps_its_neighbour(
    memories: Memories, named: str, beside: str, command: str
) -> None:
    await memories.remember(memories.ana, named, beside)
    await memories.call(memories.ana, "ask_cipher", message=command)
    assert await memories.listed(memories.ana) == [beside]


@pytest.mark.parametrize(
    ("beside", "command"),
    [
        ("Tom's brother moved to Ghent.", "Forget that Tom lives in Ghent."),
        ("Tom no longer lives in Ghent.", "Forget that Tom lives in Ghent."),
        (
            "I live in Oslo and my sister lives in Bergen.",
            "Forget that my sister lives in Bergen.",
        ),
        (
            "Hanna's badge number is 4472. The limit of uploads is 20 MB.",
            "Forget the badge number of Hanna.",
        ),
        ("Léa n'habite plus à Metz.", "Oublie que Léa habite à Metz."),
    ],
)
async def test_what_says_something_else_or_more_is_not_forgotten(
    memories: Memories, beside: str, command: str
) -> None:
    await memories.remember(memories.ana, beside)
    asked = await memories.call(memories.ana, "ask_cipher", message=command)
    assert await memories.listed(memories.ana) == [beside]
    assert "Forgotten" not in asked["response"]


async def test_everything_about_somebody_is_forgotten_with_what_else_it_says(
    memories: Memories,
) -> None:
    await memories.remember(memories.ana, "Clara lives in Porto. She paints boats.")
    await memories.call(memories.ana, "ask_cipher", message="Forget everything about Clara.")
    assert await memories.listed(memories.ana) == []


async def test_other_words_for_a_fact_still_forget_it(memories: Memories) -> None:
    await memories.remember(memories.ana, "The spare key is under the blue pot in the cellar.")
    message = "Forget that in the cellar the spare key is under the blue pot."
    await memories.call(memories.ana, "ask_cipher", message=message)
    assert await memories.listed(memories.ana) == []


async def test_what_was_forgotten_or_corrected_is_found_by_no_search(memories: Memories) -> None:
    await memories.remember(memories.ana, "The wolfram bins are emptied on Mondays.")
    assert await search_everything(memories, "wolfram bins")
    changed = "Actually the wolfram bins are emptied on Tuesdays now."
    await memories.remember(memories.ana, changed)
    assert await search_everything(memories, "wolfram bins") == [changed]
    message = "Forget that the wolfram bins are emptied on Tuesdays now."
    await memories.call(memories.ana, "ask_cipher", message=message)
    assert await search_everything(memories, "wolfram bins") == []


async def test_what_is_brought_back_is_found_again(memories: Memories) -> None:
    await memories.remember(memories.ana, "The osmium lamp hangs in the hall.")
    asked = await memories.call(
        memories.ana, "ask_cipher", message="Forget that the osmium lamp hangs in the hall."
    )
    (ended,) = [it["id"] for it in asked["memories"]]
    assert await search_everything(memories, "osmium lamp") == []
    await memories.call(memories.ana, "memory_undo", id=ended)
    found = await search_everything(memories, "osmium lamp")
    assert found == ["The osmium lamp hangs in the hall."]


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("Забудь, что Ана работает в Москве.", "Ана работает в Москве."),
        ("Esqueça que o portão é azul.", "o portão é azul."),
        ("Dimentica che il cancello è blu.", "il cancello è blu."),
        ("Vergeet dat het hek blauw is.", "het hek blauw is."),
    ],
)
def test_forget_is_understood_in_more_languages(said: str, what: str) -> None:
    assert read_utterance(said).forgotten == what


async def test_a_request_to_forget_that_finds_nothing_says_so(memories: Memories) -> None:
    await memories.remember(memories.ana, "Lena lives in Kassel and works in Bonn.")
    said = "Forget that Lena lives in Kassel."
    asked = await memories.call(memories.ana, "ask_cipher", message=said)
    assert "Nothing forgotten, no memory of yours says just that" in asked["outcome"]
    assert "Not kept" not in asked["outcome"]


async def test_undo_is_told_which_tool_does_it(memories: Memories) -> None:
    asked = await memories.call(memories.ana, "ask_cipher", message="Undo that.")
    assert "memory_undo" in asked["outcome"]


@pytest.mark.parametrize(
    "said",
    ["Never mind the last thing.", "Never heard of it.", "Always a pleasure!", "Nie gehört."],
)
async def test_small_talk_with_always_and_never_is_no_standing_instruction(
    memories: Memories, said: str
) -> None:
    await memories.call(memories.ana, "ask_cipher", message=said)
    found = await memories.call(memories.ana, "cipher_memory_search", query="anything")
    assert found["standing"] == []


@pytest.mark.parametrize(
    "said",
    ["Never deploy on Fridays.", "Always answer in bullet points.", "Antworte nie auf Englisch."],
)
async def test_a_command_with_always_and_never_stands(memories: Memories, said: str) -> None:
    await memories.call(memories.ana, "ask_cipher", message=said)
    found = await memories.call(memories.ana, "cipher_memory_search", query="anything")
    assert [it["text"] for it in found["standing"]] == [said]

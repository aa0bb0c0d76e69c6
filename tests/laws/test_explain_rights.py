"""What a caller may not see changes nothing in what an explanation says, nor in how likely a hit
answers, nor in what `ask` says.

A member searches, hidden files come, and the member searches again, for one word and for several.
Texts are equally long: how long they are on average is all that hidden files add to a score, as
docs/security.md says. Every number an answer shows must stay.
"""

from random import Random
from typing import Any, cast

import pytest

from pecia.kernel.errors import Json
from tests.conftest import VISIT
from tests.features.lake.conftest import Lake, lake
from tests.soak import FIRST, SOAK

__all__ = ["lake"]

pytestmark = pytest.mark.anyio

WORDS = ("heron", "reed", "otter", "mill", "sluice")
TITLE = "page"
LENGTH = 12
# The keyword index gives five digits of a score.
DIGITS = 1e-3
# More than are ranked against each other, so that what follows by words alone is looked at too.
SEEN = 180
WORLDS = 20 if SOAK else 2
HIDING = 3


def text(chance: Random, n: int) -> str:
    """So many words, some of them asked for, each as often as chance has it."""
    said = chance.choices(WORDS, k=chance.randint(3, 9))
    rest = (f"x{n}y{at}" for at in range(LENGTH - len(said)))
    return f"{TITLE}\n\n{' '.join([*said, *rest])}"


def hidden_name(chance: Random, n: int) -> str:
    """A word that is asked for may be in the name of a hidden file."""
    return f"{chance.choice((*WORDS, 'note'))}{n}.txt"


async def answers(lake: Lake, question: str, mode: str) -> list[dict[str, Any]]:
    """Every hit on every page."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await lake.search(
            question, who=lake.house.bo, mode=mode, limit=50, explain=True, **cursor
        )
        found += page["hits"]
        if not page["has_more"]:
            return found
        cursor = {"cursor": page["next_cursor"]}


def shown(hits: list[dict[str, Any]]) -> list[Any]:
    """The keys in their order, and every number that is said of each."""
    return [(it["key"], _near(it["rank"]), _near(it["explain"])) for it in hits]


async def lean_answers(lake: Lake, question: str) -> list[Any]:
    """What agents are shown: how likely each passage answers, what it is, and what `ask` says."""
    house = lake.house
    lean = house.app.full_view.for_agents()
    asked: dict[str, Json] = {"query": question, "mode": "lexical", "limit": 20}
    found: Any = (await house.app.call(house.bo, "search_content", asked, VISIT, lean)).structured
    said: Any = (await house.app.call(house.bo, "ask", {"question": question}, VISIT)).structured
    hits = [
        (it["uri"], it["spans"], it["kind"], it.get("repeats"), _near(it["match"]))
        for it in found["hits"]
    ]
    quoted = [(it["uri"], it["start"], it["end"], it["text"]) for it in said["quotations"]]
    nearest = [(it["uri"], _near(it["match"])) for it in said["nearest"]]
    return [hits, found.get("unlikely"), said["outcome"], quoted, nearest]


def _near(said: Any) -> Any:
    if isinstance(said, dict):
        named = cast(dict[str, Any], said)
        return {name: _near(value) for name, value in named.items()}
    return pytest.approx(said, rel=DIGITS, abs=DIGITS) if isinstance(said, float) else said


def check_scale(hits: list[dict[str, Any]]) -> None:
    """Every explanation adds up, and what the words gave is a share of the best."""
    for it in hits:
        why = it["explain"]
        assert sum(why["parts"].values()) == pytest.approx(why["score"])
        assert 0 <= why["found_by_words"] <= 1
    assert max(it["explain"]["found_by_words"] for it in hits) == 1


@pytest.mark.timeout(0 if SOAK else 300)
async def test_hidden_files_change_nothing_in_an_explanation(lake: Lake) -> None:
    house = lake.house
    secret = lake.folder.with_name("secret")
    secret.mkdir()
    await house.call(
        house.ana, "add_source", source_id="secret", folder=str(secret), trim_mode="per_file"
    )
    for seed in range(FIRST, FIRST + WORLDS):
        chance = Random(seed)
        lake.write({f"{n}.txt": text(chance, n) for n in range(SEEN)})
        await lake.crawl()
        several = " ".join(chance.sample(WORDS, k=2))
        for turn in range(HIDING):
            word = chance.choice(WORDS)
            one = await answers(lake, word, "lexical")
            two = await answers(lake, several, "lexical")
            lean = await lean_answers(lake, several)
            count = chance.randint(1, 60)
            for n in range(count):
                name = hidden_name(chance, 1000 * turn + n)
                (secret / name).write_text(text(chance, 5000 + 1000 * turn + n))
            await lake.crawl("secret")
            why = f"seed {seed}, {count} hidden files more, asked for {word}, {several}"
            assert shown(await answers(lake, word, "lexical")) == shown(one), why
            again = await answers(lake, several, "lexical")
            assert shown(again) == shown(two), why
            assert await lean_answers(lake, several) == lean, why
            check_scale(one)
            check_scale(again)

"""What a caller may not see changes nothing in what an explanation says, nor in how likely a hit
answers, nor in what `ask` says.

A member searches, hidden files come, change and go, and the member searches again, for one word
and for several, lexical and hybrid. Texts, headings and names are as long as chance has it. Every
number that an answer shows must stay, and so must the order.
"""

from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from pecia.kernel.errors import Json
from tests.conftest import CONTEXT
from tests.features.lake.conftest import Lake, lake
from tests.features.lake.test_semantic_search import embed
from tests.soak import FIRST, SOAK

__all__ = ["lake"]

pytestmark = pytest.mark.anyio

WORDS = ("heron", "reed", "otter", "mill", "sluice")
# The keyword index gives five digits of a score.
DIGITS = 2e-4
# More than are ranked against each other, so that what follows by words alone is looked at too.
SEEN = 180
SEEN_WITH_VECTORS = 40
WORLDS = 20 if SOAK else 2
HIDING = 3


def text(chance: Random, n: int, most: int) -> str:
    """Up to so many words, some of them asked for, below a heading that may have some as well."""
    said = chance.choices(WORDS, k=chance.randint(3, 9))
    rest = [f"x{n}y{at}" for at in range(chance.randint(0, most))]
    title = " ".join(chance.choices((*WORDS, "page", "note", "part"), k=chance.randint(1, 6)))
    return f"# {title}\n\n{' '.join(chance.sample([*said, *rest], k=len(said) + len(rest)))}"


def hidden_name(chance: Random, n: int) -> str:
    """Words that are asked for may be in the name of a hidden file."""
    words = chance.choices((*WORDS, "note"), k=chance.randint(1, 5))
    return f"{'-'.join(words)}-{n}.md"


def change_hidden(chance: Random, secret: Path, turn: int, most: int) -> int:
    """Hidden files come, and some of those before change or go: what is deleted stays in the engine
    for a while, and counts there."""
    for known in sorted(secret.iterdir()):
        if chance.random() < 0.3:
            known.unlink()
        elif chance.random() < 0.3:
            known.write_text(text(chance, 9000, most))
    count = chance.randint(1, 40)
    for n in range(count):
        name = hidden_name(chance, 1000 * turn + n)
        (secret / name).write_text(text(chance, 5000 + 1000 * turn + n, most))
    return count


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
    found: Any = (await house.app.call(house.bo, "search_content", asked, CONTEXT, lean)).structured
    said: Any = (await house.app.call(house.bo, "ask", {"question": question}, CONTEXT)).structured
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


async def add_secret(lake: Lake) -> Path:
    """A source of which the member sees nothing."""
    secret = lake.folder.with_name("secret")
    secret.mkdir()
    await lake.house.call(
        lake.house.ana, "add_source", source_id="secret", folder=str(secret), trim_mode="per_file"
    )
    return secret


@pytest.mark.timeout(0 if SOAK else 300)
async def test_hidden_files_change_nothing_in_an_explanation(lake: Lake) -> None:
    secret = await add_secret(lake)
    for seed in range(FIRST, FIRST + WORLDS):
        chance = Random(seed)
        lake.write({f"{n}.md": text(chance, n, 60) for n in range(SEEN)})
        await lake.crawl()
        several = " ".join(chance.sample(WORDS, k=2))
        for turn in range(HIDING):
            word = chance.choice(WORDS)
            one = await answers(lake, word, "lexical")
            two = await answers(lake, several, "lexical")
            lean = await lean_answers(lake, several)
            count = change_hidden(chance, secret, turn, most=chance.choice((5, 60, 900)))
            await lake.crawl("secret")
            why = f"seed {seed}, {count} hidden files more, asked for {word}, {several}"
            assert shown(await answers(lake, word, "lexical")) == shown(one), why
            again = await answers(lake, several, "lexical")
            assert shown(again) == shown(two), why
            assert await lean_answers(lake, several) == lean, why
            check_scale(one)
            check_scale(again)


@pytest.mark.timeout(0 if SOAK else 300)
async def test_hidden_files_change_nothing_in_a_hybrid_explanation(lake: Lake) -> None:
    secret = await add_secret(lake)
    chance = Random(FIRST)
    lake.write({f"{n}.md": text(chance, n, 30) for n in range(SEEN_WITH_VECTORS)})
    await lake.crawl()
    await embed(lake.house)
    several = " ".join(chance.sample(WORDS, k=3))
    for turn in range(HIDING):
        before = await answers(lake, several, "hybrid")
        assert all(it["explain"]["cosine"] is not None for it in before)
        count = change_hidden(chance, secret, turn, most=chance.choice((5, 90)))
        await lake.crawl("secret")
        await embed(lake.house)
        again = await answers(lake, several, "hybrid")
        assert shown(again) == shown(before), f"seed {FIRST}, turn {turn}, {count} hidden files"

"""Whatever is remembered is there in the next call, word for word, and found by its words."""

import random
from pathlib import Path

import pytest

from pecia.features.memory.store import to_canonical_text
from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import open_memories
from tests.soak import SOAK

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(0 if SOAK else 120)]

COUNT = 2_000 if SOAK else 24
PIECES = (
    "naïve café",
    "日本語の文",
    "שלום עולם",
    "😀🚀",
    "```py\nx = {1: '2'}\n```",
    "# Heading",
    "- [ ] item",
    "a\tb",
    "line\r\nbreak",
    "\x00\x0c",
    "<script>alert(1)</script>",
    "'; DROP TABLE memory.item; --",
    'path:x source:y "quoted',
    "%s {0} $1 \\",
    "C++ >= C",
    "null",
    "word " * 300,
)


def text_of(dice: random.Random, number: int) -> str:
    """Pieces that something may stumble over, and a number that makes them a text of its own."""
    pieces: list[str] = [*dice.choices(PIECES, k=dice.randint(1, 4))]
    pieces.insert(dice.randint(0, len(pieces)), f"n{number}")
    return dice.choice((" ", "\n", "\n\n")).join(pieces)


async def test_any_text_is_kept_word_for_word_and_found_by_its_words(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    dice = random.Random(7)
    async with open_memories(database, tmp_path / "home") as memories:
        for number in range(COUNT):
            text = text_of(dice, number)
            made = await memories.remember(memories.bo, text, options={"force": True})
            [told] = made["memory"]
            assert told["event"] == "ADD", (text, made["summary"])
            got = await memories.call(memories.bo, "memory_get", id=told["id"])
            assert got["memory"]["text"] == to_canonical_text(text).strip() == told["text"]
            asked = {"query": text.strip()[:1000], "similarity_threshold": 0.3}
            found = await memories.call(memories.bo, "cipher_memory_search", **asked)
            assert told["id"] in [it["id"] for it in found["results"]], text
            words = await memories.recall(memories.bo, f"n{number}", similarity_threshold=0.3)
            assert told["text"] in words, text

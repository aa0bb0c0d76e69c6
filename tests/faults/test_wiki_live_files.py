"""People, agents and programs write one document; servers die under them; no word is lost or twice.

Two servers have the document open. Programs write its file in every way that they know, one after
the other. The servers are killed at named points, and started again.
"""

import random
import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx
import pytest
from anyio.to_thread import run_sync
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from pecia.interfaces.http.server import serve_http
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.faults.test_wiki_live import victim
from tests.faults.wiki_live_victim import POINTS as OURS
from tests.faults.wiki_live_victim import PROGRAM_POINTS, open_here
from tests.faults.wiki_programs import write
from tests.features.wiki.live_editor import PATIENCE_S, LiveEditor, at
from tests.soak import SOAK, record

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 300)]

ROUNDS_A_POINT = 1
POINTS = (*OURS, *PROGRAM_POINTS)
HITS = (3, 20) if SOAK else (2, 6)
BEGIN = "# Words\n\nEND\n"
WORD = re.compile(r"[a-z]\d+")


@dataclass
class Words:
    """What was written so far. Those of `surely` must be there in the end, all at most once."""

    count: Counter[str] = field(default_factory=Counter[str])
    surely: set[str] = field(default_factory=set[str])
    ways: Counter[str] = field(default_factory=Counter[str])

    def new(self, who: str) -> str:
        self.count[who] += 1
        return f"{who}{self.count[who]}"


async def type_until_it_dies(hand: LiveEditor, url: str, words: Words, who: str) -> None:
    """What an editor typed it brings again when it comes back: every word of it must be there."""
    dice = random.Random(f"{who}{words.count[who]}")
    while True:
        try:
            async with at(url, "words", "notes", hand=hand):
                await _type(hand, words, who, dice)
        except (ConnectionClosed, ExceptionGroup):
            pass
        except (InvalidHandshake, TimeoutError):
            await anyio.sleep(0.05)
        except OSError:
            # Nobody is there any more.
            return
        assert hand.closed is None or hand.closed[0] != 4409, hand.refusals


async def _type(hand: LiveEditor, words: Words, who: str, dice: random.Random) -> None:
    while hand.closed is None:
        for _ in range(dice.randint(1, 6)):
            ends = [place + 1 for place, it in enumerate(hand.text) if it in ";\n"]
            words.surely.add(word := words.new(who))
            hand.type(dice.choice(ends), f"{word};")
            await hand.flush()
        await hand.until(lambda: hand.stored >= hand.sent or hand.closed is not None)


async def edit_until_it_dies(url: str, words: Words) -> None:
    # A call that is not answered in time fails the test.
    with suppress(httpx.NetworkError, httpx.RemoteProtocolError):
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
            while True:
                word = words.new("a")
                asked = {"docName": "words", "space": "notes", "find": "END"}
                asked["replace"] = f"{word};END"
                answer = await http.post("/api/v1/wiki/edit_document", json=asked)
                if answer.status_code == 200:
                    words.surely.add(word)


async def write_until(over: anyio.Event, file: Path, words: Words, dice: random.Random) -> None:
    while not over.is_set():
        word = words.new("p")
        words.ways[await run_sync(write, file, word, dice)] += 1
        words.surely.add(word)
        # Programs that never rest would be a test of speed.
        await anyio.sleep(dice.choice((0, 0.1, 0.3)))


@asynccontextmanager
async def people_at(
    urls: tuple[str, str], hands: tuple[LiveEditor, LiveEditor], words: Words
) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as tasks:
        for url, hand, who in zip(urls, hands, ("t", "u"), strict=True):
            tasks.start_soon(type_until_it_dies, hand, url, words, who)
            tasks.start_soon(edit_until_it_dies, url, words)
        yield


async def test_no_word_of_anybody_is_lost_or_doubled_whatever_dies(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    homes, folder = (tmp_path / "one", tmp_path / "two"), tmp_path / "notes"
    folder.mkdir()
    file = folder / "words.md"
    file.write_text(BEGIN, encoding="utf-8")
    words, hands, hits = Words(), (LiveEditor(), LiveEditor()), Counter[str]()
    await _make_live(database, homes[0], folder, hands[0])
    for point in POINTS * ROUNDS_A_POINT:
        async with (
            anyio.create_task_group() as tasks,
            victim(database, homes[0], point, dice.randint(*HITS)) as one,
            victim(database, homes[1], dice.choice(POINTS), dice.randint(*HITS)) as two,
        ):
            over = anyio.Event()
            tasks.start_soon(write_until, over, file, words, dice)
            async with people_at((_url(one), _url(two)), hands, words):
                pass
            over.set()
            hits.update(it.split()[1] for it in (*one, *two) if it.startswith("hit "))
    text = await _quiet(database, homes[0], file, hands)
    found = Counter(WORD.findall(text))
    lost = sorted(words.surely - set(found))
    doubled = sorted(it for it, count in found.items() if count > 1)
    figures = {"rounds": sum(hits.values()), "hits": dict(hits), "ways": dict(words.ways)}
    figures |= {"typed": words.count["t"] + words.count["u"], "by_programs": words.count["p"]}
    figures |= {"by_an_agent": words.count["a"], "lost": len(lost), "doubled": len(doubled)}
    assert (lost, doubled) == ([], []), (seed, lost, doubled)
    assert set(hits) == set(POINTS)
    record("wiki-live-files", figures)


async def _make_live(database: DatabaseLogins, home: Path, folder: Path, hand: LiveEditor) -> None:
    """Somebody edits the document before programs write it. Before that, a program that writes
    what it read a while ago overwrites what was written since, which is only in history then."""
    async with (
        open_here(database, home) as app,
        serve_http(app, port=0, instance="before") as where,
    ):
        ana = await app.authenticate(None, CONTEXT)
        await app.call(ana, "add_space", {"folder": str(folder)}, CONTEXT)
        async with at(where.url, "words", "notes", hand=hand):
            await hand.until_text(lambda text: text == BEGIN)


async def _quiet(
    database: DatabaseLogins, home: Path, file: Path, hands: tuple[LiveEditor, LiveEditor]
) -> str:
    """Everybody is back and nobody writes: the text that all have, and the file."""
    async with (
        open_here(database, home) as app,
        serve_http(app, port=0, instance="after") as where,
        at(where.url, "words", "notes", hand=hands[0]) as one,
        at(where.url, "words", "notes", hand=hands[1]) as two,
    ):
        ana = await app.authenticate(None, CONTEXT)
        with anyio.fail_after(PATIENCE_S):
            while True:
                await app.call(ana, "wiki.read_document", {"path": "words.md"}, CONTEXT)
                body = await anyio.Path(file).read_bytes()
                if {one.text, two.text} == {body.decode()} and not _copies(file):
                    return one.text
                await anyio.sleep(0.05)


def _copies(file: Path) -> list[Path]:
    """Files that were replaced and are still looked at."""
    return [*(file.parent / ".pecia" / "cache" / "live").glob("*")]


def _url(said: list[str]) -> str:
    return f"http://127.0.0.1:{said[0].split()[1]}"

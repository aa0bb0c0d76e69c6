"""Killed at any named point, a live document keeps every word that was said to be stored, once."""

import os
import random
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
import pytest
from anyio.abc import ByteReceiveStream
from anyio.streams.text import TextReceiveStream
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from pecia.app.app import App
from pecia.interfaces.http.server import serve_http
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.faults.wiki_live_victim import POINTS, open_here
from tests.features.wiki.live_editor import LiveEditor, at
from tests.soak import SOAK, record
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 180)]

ROUNDS_A_POINT = 30 if SOAK else 1
TITLE, END = "# Words\n", "END\n"


@asynccontextmanager
async def victim(
    logins: DatabaseLogins, home: Path, point: str, hit: int, port: int = 0
) -> AsyncGenerator[list[str]]:
    """What it says, the port first. It is dead at the end."""
    given: dict[str, Any] = {"owner": logins.owner, "app": logins.app, "system": logins.system}
    given |= {"home": str(home), "port": port}
    command = warm.module("tests.faults.wiki_live_victim", point, hit)
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdin
        assert process.stdout
        await process.stdin.send(orjson.dumps(given))
        await process.stdin.aclose()
        said: list[str] = []
        async with anyio.create_task_group() as tasks:
            listening = anyio.Event()
            tasks.start_soon(hear, process.stdout, said, listening)
            with anyio.fail_after(60):
                await listening.wait()
            try:
                yield said
            except BaseException:
                # Whoever fails leaves a server that nobody kills; its end would be waited for.
                kill(int(said[0].split()[2]))
                raise
            with anyio.fail_after(60):
                assert await process.wait() == -9, said


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def hear(stream: ByteReceiveStream, said: list[str], listening: anyio.Event) -> None:
    rest = ""
    async for text in TextReceiveStream(stream):
        *lines, rest = (rest + text).split("\n")
        said.extend(lines)
        if said:
            listening.set()
    listening.set()


@dataclass
class WriteLog:
    """What was written so far, by a person and by an agent, and what of it is surely stored."""

    typed: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])
    stored: set[str] = field(default_factory=set[str])


async def write_until_it_dies(
    hand: LiveEditor, port: str, written: WriteLog, dice: random.Random
) -> None:
    """A person types and an agent edits, until there is nobody to listen."""
    url = f"http://127.0.0.1:{port}"
    # It may die before anybody is let in: it flushes what the last one left.
    with suppress(ConnectionClosed, InvalidHandshake, ExceptionGroup, httpx.TransportError):
        async with (
            httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http,
            at(url, "words", "notes", hand=hand),
        ):
            while hand.closed is None:
                await _type(hand, written, dice)
                await _edit(http, written)


async def _type(hand: LiveEditor, written: WriteLog, dice: random.Random) -> None:
    for _ in range(dice.randint(1, 3)):
        ends = [place + 1 for place, it in enumerate(hand.text) if it in ";\n"][:-1]
        written.typed.append(f"w{len(written.typed)};")
        hand.type(dice.choice(ends), written.typed[-1])
        await hand.flush()
    await hand.until(lambda: hand.stored >= hand.sent or hand.closed is not None)
    if hand.stored >= hand.sent:
        written.stored |= set(written.typed)


async def _edit(http: httpx.AsyncClient, written: WriteLog) -> None:
    word = f"a{len(written.asked)};"
    written.asked.append(word)
    asked = {"docName": "words", "space": "notes", "find": "END", "replace": f"{word}END"}
    answer = await http.post("/api/v1/wiki/edit_document", json=asked)
    assert answer.status_code == 200, answer.text
    written.stored.add(word)


def counted(text: str) -> Counter[str]:
    """How often each word is there."""
    assert text.startswith(TITLE), text
    assert text.endswith(END), text
    words = text.removeprefix(TITLE).removesuffix(END).split(";")
    return Counter(f"{it};" for it in words if it)


async def come_back(app: App, url: str, hand: LiveEditor) -> None:
    """Connect again, as editors do until they are let in: a server that was killed may have left
    the history locked for a few seconds."""
    ana = await app.authenticate(None, CONTEXT)
    with anyio.fail_after(60):
        while True:
            try:
                async with at(url, "words", "notes", hand=hand):
                    await app.call(ana, "wiki.read_document", {"path": "words.md"}, CONTEXT)
            except InvalidHandshake:
                await anyio.sleep(0.1)
            except ExceptionGroup as group:
                if group.split(InvalidHandshake)[1] is not None:
                    raise
                await anyio.sleep(0.1)
            else:
                return


async def test_who_fails_beside_a_server_does_not_wait_for_it(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with anyio.fail_after(120), pytest.raises(ExceptionGroup) as failed:
        async with victim(database, tmp_path / "home", "never", 1):
            raise LookupError("not there")
    assert failed.group_contains(LookupError, match="not there")


async def test_every_word_that_was_stored_survives_a_kill_and_none_is_doubled(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    home, folder = tmp_path / "home", tmp_path / "notes"
    folder.mkdir()
    file = folder / "words.md"
    file.write_text(TITLE + END, encoding="utf-8")
    async with open_here(database, home) as app:
        ana = await app.authenticate(None, CONTEXT)
        await app.call(ana, "add_space", {"folder": str(folder)}, CONTEXT)
    hits: Counter[str] = Counter()
    hand, written = LiveEditor(), WriteLog()
    for point in POINTS * ROUNDS_A_POINT:
        async with victim(database, home, point, dice.randint(2, 5)) as said:
            await write_until_it_dies(hand, said[0].split()[1], written, dice)
        hits.update(line.split()[1] for line in said if line.startswith("hit "))
        async with open_here(database, home) as app:
            ana = await app.authenticate(None, CONTEXT)
            read = await app.call(ana, "wiki.read_document", {"path": "words.md"}, CONTEXT)
        assert isinstance(read.structured, dict)
        found = counted(str(read.structured["content"]))
        assert written.stored <= set(found), (seed, point)
        assert set(found.values()) <= {1}, (seed, point)
    async with (
        open_here(database, home) as app,
        serve_http(app, port=0, instance="after") as where,
    ):
        await come_back(app, where.url, hand)
    # What was not stored the editor brought again: all is there, and everywhere the same.
    found = counted(hand.text)
    assert set(written.typed) <= set(found) <= {*written.typed, *written.asked}, seed
    assert set(found.values()) <= {1}, seed
    assert file.read_text(encoding="utf-8") == hand.text
    assert set(hits) == set(POINTS)
    words = {"typed": len(written.typed), "by_an_agent": len(written.asked)}
    record("wiki-live-kill", {"rounds": sum(hits.values()), "hits": dict(hits), **words})

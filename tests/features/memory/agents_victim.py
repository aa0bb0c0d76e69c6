"""Fifty agents of one project in a Pecia that is about to be killed.

Run as `python -m tests.features.memory.agents_victim`, with the three logins, the home and what
each agent has still to say on stdin. It says `acked TEXT` after each answer, and ends when all is
said. An agent says nothing new before the last was acknowledged, as a client of a tool does.
"""

import os
import sys
from pathlib import Path

import anyio
import orjson

from pecia.app.app import SETTINGS, open_app
from pecia.kernel.errors import PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, house_flags, no_fetch
from tests.features.memory.conftest import Memories

PROJECT = "harbour"


async def speak(memories: Memories, texts: list[str]) -> None:
    for text in texts:
        while not await was_stored(memories, text):
            await anyio.lowlevel.checkpoint()
        # At once: a dead process flushes nothing.
        os.write(1, f"acked {text}\n".encode())


async def was_stored(memories: Memories, text: str) -> bool:
    try:
        await memories.remember(memories.ana, text)
    except PeciaError as error:
        if not error.payload()["retryable"]:
            raise
        return False
    return True


async def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    flags = house_flags(logins, Path(given["home"]))
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        memories = Memories(app, ana, ana, ana).within(project_name=PROJECT)
        async with anyio.create_task_group() as agents:
            for texts in given["agents"]:
                agents.start_soon(speak, memories, texts)


if __name__ == "__main__":
    anyio.run(main)

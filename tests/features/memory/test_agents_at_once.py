"""Fifty agents remember in one project while the server is killed: what was acknowledged is there,
once, and in the order in which each agent said it."""

from collections import Counter
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from pecia.app.app import SETTINGS, open_app
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, house_flags, no_fetch
from tests.features.memory.agents_victim import PROJECT
from tests.features.memory.conftest import Memories
from tests.features.memory.victim_process import open_victim

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(300)]

AGENTS = 50
FACTS = 4
# Acknowledgements after which the server is killed; the last run ends by itself.
KILLS = (45, 60)


def texts_of(agent: int) -> list[str]:
    return [
        f"Agent {agent} moored ship {agent * 100 + number} at berth {number}."
        for number in range(FACTS)
    ]


def run_agents(
    logins: DatabaseLogins, home: Path, left: list[list[str]], most: int | None
) -> list[str]:
    """What was acknowledged in one run, which is killed after so many."""
    acked: list[str] = []
    with open_victim("agents_victim", logins, home, agents=left) as (victim, texts):
        for text in texts:
            acked.append(text)
            if len(acked) == most:
                victim.kill()
    return acked


async def test_every_acknowledged_memory_is_there_once_and_in_order(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    left: list[list[str]] = [texts_of(agent) for agent in range(AGENTS)]
    acked: list[str] = []
    for most in (*KILLS, None):
        acked += await anyio.to_thread.run_sync(run_agents, database, home, left, most)
        # An agent whose call was cut off says the same again.
        left = [[it for it in texts if it not in acked] for texts in left]
    assert sorted(acked) == sorted(it for agent in range(AGENTS) for it in texts_of(agent))
    kept = await listed(database, home)
    texts = [it["text"] for it in kept]
    assert Counter(texts) == Counter(acked)
    assert not any(it["superseded_by"] or it["same_as"] for it in kept)
    # Ids are UUIDv7: by the time they were made.
    by_time = [it["text"] for it in sorted(kept, key=lambda it: it["id"])]
    for agent in range(AGENTS):
        mine = texts_of(agent)
        assert [it for it in by_time if it in mine] == mine


async def listed(database: DatabaseLogins, home: Path) -> list[dict[str, Any]]:
    """All memories of the project, whatever became of them."""
    flags = house_flags(database, home)
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    found: list[dict[str, Any]] = []
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        memories = Memories(app, ana, ana, ana).within(project_name=PROJECT)
        cursor = None
        while True:
            asked = {"limit": 200, "cursor": cursor, "include": ["superseded"]}
            page = await memories.call(ana, "memory_list", **asked)
            found += page["memories"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

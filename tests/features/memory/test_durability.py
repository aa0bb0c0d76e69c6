"""What was acknowledged survives a kill, and is found by the next call."""

from pathlib import Path

import anyio.to_thread
import pytest

from pecia.app.app import SETTINGS, open_app
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, house_flags, no_fetch
from tests.features.memory.conftest import Memories
from tests.features.memory.victim_process import open_victim

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(120)]

ACKNOWLEDGED = 8


def killed(logins: DatabaseLogins, home: Path) -> list[str]:
    """The texts that were acknowledged before the kill."""
    acked: list[str] = []
    with open_victim("victim", logins, home) as (victim, texts):
        for text in texts:
            acked.append(text)
            if len(acked) == ACKNOWLEDGED:
                # In the midst of the next one, as likely as not.
                victim.kill()
                break
    return acked


async def test_every_acknowledged_memory_survives_and_is_found_at_once(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    acked = await anyio.to_thread.run_sync(killed, database, home)
    assert len(acked) == ACKNOWLEDGED
    flags = house_flags(database, home)
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        memories = Memories(app, ana, ana, ana)
        for text in acked:
            assert (await memories.recall(ana, text, top_k=1)) == [text]
        assert {*acked} <= {*await memories.listed(ana)}
        # Files and what is known of them are never torn apart.
        async with app.store.system() as tx:
            torn = await tx.fetch_all(
                "SELECT 1 FROM kernel.file f LEFT JOIN memory.item i ON i.tenant_id = f.tenant_id"
                " AND i.file_id = f.id WHERE f.source_id = 'memory' AND i.id IS NULL"
            )
        assert torn == []

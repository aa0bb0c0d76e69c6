"""What was acknowledged survives a kill, and is found by the next call."""

import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import orjson
import pytest

from pecia.app.app import SETTINGS, open_app
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import VISIT, house_flags, no_fetch
from tests.features.memory.conftest import Memories

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(120)]

ACKNOWLEDGED = 8


def killed(logins: DatabaseLogins, home: Path) -> list[str]:
    """The texts that were acknowledged before the kill."""
    given = {"owner": logins.owner, "app": logins.app, "system": logins.system, "home": str(home)}
    command = [sys.executable, "-m", "tests.features.memory.victim"]
    acked: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
        assert victim.stdin
        assert victim.stdout
        victim.stdin.write(orjson.dumps(given))
        victim.stdin.close()
        for line in victim.stdout:
            acked.append(line.decode().removeprefix("acked ").rstrip("\n"))
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
        ana = await app.authenticate(None, VISIT)
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

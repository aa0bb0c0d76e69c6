"""Killed at any named point, Pecia keeps every acknowledged write and one audit row a call."""

import random
import subprocess
from collections import Counter
from pathlib import Path

import orjson
import psycopg
import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import OpenHouse
from tests.faults.victim import POINTS
from tests.soak import SOAK, record
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 120)]

ROUNDS_A_POINT = 50 if SOAK else 1


def kill_once(logins: DatabaseLogins, home: Path, point: str, hit: int, start: int) -> list[str]:
    """What the victim said before it died."""
    given = {
        "owner": logins.owner,
        "app": logins.app,
        "system": logins.system,
        "home": str(home),
        "start": start,
    }
    done = subprocess.run(
        warm.module("tests.faults.victim", point, hit),
        input=orjson.dumps(given),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -9, done.stderr.decode()[-2000:]
    return done.stdout.decode().splitlines()


def named(said: list[str], word: str) -> set[str]:
    return {line.split()[1] for line in said if line.startswith(f"{word} ")}


async def test_every_acknowledged_write_and_every_call_survives_a_kill(
    database: DatabaseLogins, tmp_path: Path, open_house: OpenHouse
) -> None:
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    hits: Counter[str] = Counter()
    begun: set[str] = set()
    acked: set[str] = set()
    start = 0
    for point in POINTS * ROUNDS_A_POINT:
        said = kill_once(database, tmp_path / "home", point, dice.randint(1, 6), start)
        hits.update(line.split()[1] for line in said if line.startswith("hit "))
        begun |= named(said, "begun")
        acked |= named(said, "acked")
        start += 10_000
    async with open_house(database, tmp_path / "home"):
        pass
    with psycopg.connect(database.system) as connection:
        rows = connection.execute("SELECT name FROM kernel.user_group").fetchall()
        trail = connection.execute(
            "SELECT arguments ->> 'name', status FROM kernel.audit WHERE tool = 'admin.add_group'"
        ).fetchall()
    kept = {row[0] for row in rows}
    assert acked <= kept <= begun, f"seed {seed}"
    audited = Counter(name for name, _ in trail)
    assert max(audited.values()) == 1, f"seed {seed}"
    # A call that dies before its beginning is on record was never begun, and did nothing.
    assert begun - set(audited) <= begun - kept, f"seed {seed}"
    assert kept == {name for name, status in trail if status == "ok"}, f"seed {seed}"
    assert set(hits) == set(POINTS)
    assert list((tmp_path / "home" / "spool").iterdir()) == []
    record("kill", {"rounds": sum(hits.values()), "hits": dict(hits), "acknowledged": len(acked)})

"""`pecia index` from a shell: what it says of an index, and what it makes good."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.corpus.changelog import load_position
from pecia.kernel.corpus.keyword.directory import IndexDirectory, list_directories
from pecia.kernel.corpus.keyword.index import parse_query
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.unit.kernel.corpus.corpus_fixture import open_ground
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]


def environ(database: DatabaseLogins, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PECIA_HOME": str(home / "pecia"),
        "PECIA_DATABASE_URL": database.app,
        "PECIA_DATABASE_OWNER_URL": database.owner,
        "PECIA_DATABASE_SYSTEM_URL": database.system,
    }


def pecia(database: DatabaseLogins, home: Path, *words: str) -> tuple[int, Any]:
    """The exit code and the document of a command on that database, in that home."""
    done = subprocess.run(
        warm.pecia("index", *words, "--json"),
        env=environ(database, home),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or "null")


def started(database: DatabaseLogins, home: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """A worker that lives until its stdin ends."""
    command = [sys.executable, "-m", "pecia", "worker", *words]
    # The child of a local server, whose tenant is there.
    env = {**environ(database, home), "PECIA_LOCAL_TENANT": "home"}
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE)


async def test_an_index_is_built_looked_at_compared_and_mended(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    store = Store(database)
    await store.open()
    async with open_ground(store) as ground:
        await ground.put("a.md", "herons nest in reeds")
        await ground.put("b.md", "otters swim at night")
    await store.close()
    code, absent = pecia(database, tmp_path, "status")
    assert (code, absent["indexes"][0]["state"]) == (0, "absent")
    assert pecia(database, tmp_path, "verify")[0] == 1
    code, built = pecia(database, tmp_path, "rebuild", "home")
    assert (code, built["indexes"][0]["state"], built["indexes"][0]["lag"]) == (0, "ready", 0)
    assert built["indexes"][0]["chunks"] > 0
    assert pecia(database, tmp_path, "verify")[0] == 0
    ((tenant_id, place),) = list_directories(tmp_path / "pecia" / "index")
    generation = place.current_generation()
    assert generation is not None
    next(generation.glob("*.term")).write_bytes(b"torn")
    code, torn = pecia(database, tmp_path, "verify", "home")
    assert (code, len(torn["indexes"][0]["torn"])) == (1, 1)
    code, mended = pecia(database, tmp_path, "repair")
    assert (code, mended["indexes"][0]["mended"]) == (0, True)
    assert pecia(database, tmp_path, "verify")[0] == 0
    for damage in (b"\xff\x00", b"", b"../../etc", b"v3-nothing"):
        place.pointer.write_bytes(damage)
        assert ReaderCache(tmp_path / "pecia" / "index").last_commit(tenant_id) == 0
        assert pecia(database, tmp_path, "status")[1]["indexes"][0]["state"] == "absent"
        assert pecia(database, tmp_path, "repair")[0] == 0
        assert pecia(database, tmp_path, "verify")[0] == 0
    for damage in (_pointer_is_a_folder, _folder_is_a_file):
        damage(place)
        assert ReaderCache(tmp_path / "pecia" / "index").last_commit(tenant_id) == 0
        assert pecia(database, tmp_path, "status")[1]["indexes"][0]["state"] == "absent"
        assert pecia(database, tmp_path, "repair")[0] == 0
        assert pecia(database, tmp_path, "verify")[0] == 0
    code, missing = pecia(database, tmp_path, "rebuild", "nobody")
    assert (code, missing["error"]["code"]) == (1, "NOT_FOUND")


def _pointer_is_a_folder(place: IndexDirectory) -> None:
    place.pointer.unlink()
    place.pointer.mkdir()


def _folder_is_a_file(place: IndexDirectory) -> None:
    shutil.rmtree(place.folder)
    place.folder.write_text("no folder")


@pytest.mark.parametrize("words", [["--child"], ["--child", "--indexer"]])
async def test_the_child_of_a_server_keeps_its_indexes_until_it_is_told_to_stop(
    database: DatabaseLogins, tmp_path: Path, words: list[str]
) -> None:
    store = Store(database)
    await store.open()
    readers = ReaderCache(tmp_path / "pecia" / "index")
    child = started(database, tmp_path, words)
    try:
        async with open_ground(store) as ground:
            for key, text in (("a.md", "herons nest in reeds"), ("b.md", "a heron in flight")):
                await ground.put(key, text)
                async with store.system() as tx:
                    n = (await load_position(tx, ground.tenant_id)).n
                # A child that could not start is no slow one: it imports the code as it is now.
                assert await readers.wait_for_commit(ground.tenant_id, n, timeout_s=50), (
                    child.poll()
                )
            query = parse_query("heron")
            hits = await readers.submit(ground.tenant_id, lambda it: it.search(query))
            assert len({it.group for it in hits}) == 2
        child.terminate()
        assert child.wait(30) == 0
    finally:
        child.kill()
        child.communicate()
        await store.close()

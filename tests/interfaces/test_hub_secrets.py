"""Secrets in the address of a server: they reach the server, and stand nowhere in clear."""

import json
import zipfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pecia.kernel.errors import ConfirmationRequired, Json
from pecia.kernel.store.backup.export import export_tenant
from pecia.kernel.tool.null_channel import NULL_CHANNEL
from tests.conftest import House
from tests.unit.features.hub.hub_server import PROGRAM, HubServer, grounded, site

pytestmark = pytest.mark.anyio

SECRET = "hunter2isShort"


@pytest.fixture
async def ground(house: House) -> AsyncGenerator[HubServer]:
    async with grounded(house) as it:
        yield it


async def asked(ground: HubServer, ask: dict[str, Json]) -> tuple[str, str]:
    """The id and the question that a person is to answer."""
    with pytest.raises(ConfirmationRequired) as refused:
        await ground.call_on(NULL_CHANNEL, ground.ana, "add_server", ask)
    waits = str(refused.value.fields["confirmation"])
    pending = await ground.app.confirmations.list_pending(ground.ana)
    return waits, next(it.question for it in pending if it.id == waits)


def quiet(table: str, done: int, total: int) -> None:
    pass


async def exported(house: House, file: Path) -> bytes:
    await export_tenant(house.app.store.logins.system, "local", file, quiet)
    with zipfile.ZipFile(file) as found:
        return b"".join(found.read(it) for it in found.namelist())


@pytest.mark.parametrize(
    "query",
    [
        f"api_key={SECRET}",
        f"region=eu&tavilyApiKey={SECRET}#x",
        f"api%5Fkey={SECRET}",
        "k=8fk2jd9s0a8fk2jd9s0a",
    ],
)
async def test_a_key_in_a_url_reaches_the_server_and_is_shown_to_nobody(
    ground: HubServer, house: House, tmp_path: Path, query: str
) -> None:
    key = query.partition("#")[0].rpartition("=")[2]
    async with site(house) as (url, there):
        ask: dict[str, Json] = {"server": "there", "url": f"{url}/mcp?{query}"}
        waits, question = await asked(ground, ask)
        assert f"It is at: {url}/mcp?" in question
        assert key not in question
        assert key.encode() not in await exported(house, tmp_path / "asked.zip")
        await ground.app.confirmations.confirm(ground.ana, waits)
        made = await ground.call_on(NULL_CHANNEL, ground.ana, "add_server", ask)
        assert made["state"] == "up"
        assert {*there.queries} == {query.partition("#")[0]}
        assert key not in json.dumps(await ground.call(ground.ana, "list_servers"))
        assert key.encode() not in await exported(house, tmp_path / "added.zip")
        # Another key is another server: the confirmation of one is not of the other.
        await ground.call(ground.ana, "remove_server", server="there")
        waits, _ = await asked(ground, ask)
        await ground.app.confirmations.confirm(ground.ana, waits)
        await asked(ground, {**ask, "url": f"{url}/mcp?{query.replace(key, key + '1')}"})


async def test_a_key_among_arguments_reaches_the_program_and_is_not_listed(
    ground: HubServer, house: House, tmp_path: Path
) -> None:
    made = await ground.add_program("files", "--api-key", SECRET)
    assert made["state"] == "up"
    assert made["command"][1:] == [PROGRAM, "--api-key", "[redacted]"]
    assert SECRET.encode() not in await exported(house, tmp_path / "e.zip")
    # A command is confirmed to the letter.
    await asked(ground, {"server": "x", "command": f"run --api-key {SECRET}"})
    (pending,) = await ground.app.confirmations.list_pending(ground.ana)
    assert f"run --api-key {SECRET}" in pending.question
    assert SECRET.encode() not in await exported(house, tmp_path / "e.zip")


async def test_variables_that_choose_the_code_are_confirmed_with_their_values(
    ground: HubServer,
) -> None:
    env: dict[str, Json] = {
        "LD_PRELOAD": "/tmp/a.so",
        "PATH": "/tmp/bin:/bin",
        "PYTHONPATH": "/tmp/lib",
        "NODE_OPTIONS": "--require ./x.js",
        "BASH_ENV": "/tmp/rc",
        "GIT_SSH_COMMAND": "sh -c id",
        "https_proxy": f"http://me:{SECRET}@proxy.example:3128",
        "NPM_TOKEN": SECRET,
        "SSH_PRIVATE_KEY": SECRET,
        "FAVOURITE": SECRET,
    }
    _, question = await asked(ground, {"server": "x", "command": "run", "env": env})
    for name in ("LD_PRELOAD", "PATH", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "GIT_SSH_COMMAND"):
        assert f"{name}={env[name]}" in question
    assert "https_proxy=http://[redacted]@proxy.example:3128" in question
    assert all(name in question for name in env)
    assert SECRET not in question

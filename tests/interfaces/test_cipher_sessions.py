"""Servers of an agent file are in the hub while a session uses them, and gone when none does."""

from collections.abc import AsyncGenerator
from pathlib import Path
from threading import Event
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest

from pecia.interfaces.cli.cipher.agent import read_agent
from pecia.interfaces.cli.cipher.lease import lease_servers
from pecia.interfaces.cli.server.client import ServerClient
from pecia.kernel.identity import owner_token
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.yaml.writer import dump_yaml
from tests.conftest import CONTEXT
from tests.interfaces.cipher_server import PYTHON, CipherServer, grounded, tools_of
from tests.provider import LoopbackProvider
from tests.unit.features.hub.hub_server import PROGRAM
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

MCP = ["--mode", "mcp"]
AGGREGATOR = {"MCP_SERVER_MODE": "aggregator"}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def ground(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[CipherServer]:
    root = tmp_path_factory.mktemp("root")
    with LoopbackProvider() as provider:
        async with grounded(module_database, root, provider) as found:
            yield found


@pytest.fixture
def args(tmp_path: Path) -> list[str]:
    """The words of a session with an agent file that names one server, and a secret of it."""
    file = tmp_path / "cipher.yml"
    server = {"type": "stdio", "command": PYTHON, "args": [PROGRAM], "env": {"AT": str(tmp_path)}}
    agent: Any = {"mcpServers": {"files": server}}
    file.write_text(dump_yaml(agent), encoding="utf-8")
    return [*MCP, "--agent", str(file)]


async def servers(ground: CipherServer) -> dict[str, str]:
    """Every server of the hub, and where each is from; no secret is left without its server."""
    async with ground.app.store.system() as tx:
        rows = await tx.fetch_all("SELECT name, origin FROM hub.server")
        sealed = await tx.fetch_all("SELECT name FROM kernel.secret WHERE purpose = 'upstream'")
    found = {it["name"]: it["origin"] for it in rows}
    assert {it["name"] for it in sealed} <= {f"hub/{it}" for it in found}
    return found


async def wait(ground: CipherServer, *, gone: bool) -> None:
    """Wait until a server of a session is there, or none is."""
    with anyio.fail_after(60):
        while ("session" in (await servers(ground)).values()) is gone:  # noqa: ASYNC110
            await anyio.sleep(0.1)


async def test_a_servers_last_session_takes_it_along_and_leaves_those_of_administrators(
    ground: CipherServer, args: list[str]
) -> None:
    ana = await ground.app.authenticate(None, CONTEXT)
    words = f"{PYTHON} {PROGRAM}"
    mine = {"server": "mine-agent-0123abcd", "command": words}
    await ground.app.call(cast(Any, ana), "hub.add_server", cast(Any, mine), CONTEXT)
    async with ground.session(args, AGGREGATOR) as first:
        assert "echo" in str(tools_of(await first.list_tools()))
        async with ground.session(args, AGGREGATOR) as second:
            assert len(await servers(ground)) == 2
            assert "echo" in str(tools_of(await second.list_tools()))
        # The other session ended, and this one has its server still.
        assert len(await servers(ground)) == 2
        assert "echo" in str(tools_of(await first.list_tools()))
    await wait(ground, gone=True)
    assert await servers(ground) == {"mine-agent-0123abcd": "caller"}


async def test_a_session_that_is_killed_leaves_nothing_once_its_time_is_over(
    ground: CipherServer, args: list[str]
) -> None:
    command = warm.pecia("cipher", *args)
    env = ground.environ(AGGREGATOR)
    async with await anyio.open_process(command, cwd=ground.root, env=env) as front:
        await wait(ground, gone=False)
        front.kill()
    assert "session" in (await servers(ground)).values()
    async with ground.app.store.system() as tx:
        await tx.execute("UPDATE hub.hold SET until = now() - interval '1 second'")
    await wait(ground, gone=True)


async def test_what_the_hub_forgot_is_brought_again_by_a_session_that_lasts(
    ground: CipherServer, args: list[str]
) -> None:
    own = read_agent(Path(args[-1]), {}).servers
    assert own is not None
    over = Event()

    shown = owner_token.read(ground.app.settings.kernel.home)

    def session() -> None:
        with lease_servers(ServerClient(ground.url, shown), own, "me", renew_s=0.1):
            over.wait()

    # In a thread of its own: this one is the server's.
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, session)
        try:
            for _ in range(2):
                await wait(ground, gone=False)
                async with ground.app.store.system() as tx:
                    await tx.execute("DELETE FROM hub.server WHERE origin = 'session'")
                    await tx.execute("DELETE FROM kernel.secret WHERE purpose = 'upstream'")
            await wait(ground, gone=False)
        finally:
            # The group waits for the thread, also where this failed.
            over.set()
    await wait(ground, gone=True)

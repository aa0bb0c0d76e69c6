"""How `pecia mcp` finds its server, waits for one that starts, and what it takes along."""

import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from socket import gethostname
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from pecia.features.ckf.settings import CkfSettings
from pecia.features.hub.settings import HubSettings
from pecia.features.memory.settings import MemorySettings
from pecia.features.wiki.settings import WikiSettings
from pecia.interfaces.cli.cipher.environment import SESSION_SETTINGS, UNUSED_SETTINGS
from pecia.interfaces.cli.commands.init import TOOLSETS
from pecia.interfaces.cli.server.lock import (
    ServerLock,
    claim_home,
    folder_lock_path,
    home_lock_path,
    read_lock,
    write_folder_lock,
    write_lock,
)
from pecia.interfaces.cli.stdio.project_server import find_project
from pecia.interfaces.cli.stdio.session_headers import FORWARDED_VARIABLES, strip_session_variables
from pecia.interfaces.mcp.views.endpoints import list_endpoints
from pecia.kernel.identity import owner_token
from pecia.kernel.settings.catalog import build_catalog
from tests.conftest import CONTEXT
from tests.mcp.conftest import INSTANCE, Serve, Served
from tests.mcp.test_stdio import HELLO, LIST, READY, at, heard, pecia
from tests.unit.features.hub.hub_server import listening_site
from tests.unit.features.hub.upstream import Site
from tests.warm import start as warm

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

OFF = {"OK_MCP_AUTOSTART": "0"}
GONE = ServerLock(
    "http://127.0.0.1:9", 9, 999_999, "0", "/nowhere", "gone", "2026-01-01", gethostname()
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".pecia").mkdir(parents=True)
    return tmp_path / "project"


def lock_at(served: Served, home: Path) -> ServerLock:
    """What the server under test would say in the lock of that home."""
    facts = ("0", str(home), INSTANCE, "2026-01-01", gethostname())
    return ServerLock(served.url, served.port, os.getpid(), *facts)


@contextmanager
def starting(served: Served, home: Path) -> Generator[ServerLock]:
    """A server that has claimed its home and has no port yet."""
    home.mkdir()
    lock = lock_at(served, home)
    with claim_home(home) as ours:
        assert ours
        write_lock(home_lock_path(home), replace(lock, url="http://127.0.0.1:0", port=0))
        yield lock


@asynccontextmanager
async def shim(served: Served, toolset: str, **env: str) -> AsyncGenerator[Client]:
    """A stock client at a shim of its own."""
    words = ["-m", "pecia", "mcp", *at(served), "--toolset", toolset]
    where = StdioServerParameters(command=sys.executable, args=words, env=env)
    with anyio.fail_after(50):
        async with Client(stdio_client(where), mode="legacy", cache=None) as client:
            yield client


async def names(client: Client) -> set[str]:
    return {it.name for it in (await client.list_tools()).tools}


@pytest.mark.requirement("wiki.lock.dead_pid_cleaned")
async def test_a_lock_whose_process_is_gone_is_removed_when_it_is_read(project: Path) -> None:
    write_folder_lock(project, GONE)
    done = await pecia("mcp", frames=[HELLO], cwd=project, env=OFF)
    assert done.returncode == 1
    assert not folder_lock_path(project).exists()


@pytest.mark.requirement("wiki.lock.corrupt_cleaned")
async def test_a_lock_that_is_no_json_is_removed_when_it_is_read(project: Path) -> None:
    folder_lock_path(project).write_text('{"url": ')
    done = await pecia("mcp", frames=[HELLO], cwd=project, env=OFF)
    assert done.returncode == 1
    assert not folder_lock_path(project).exists()


async def test_a_lock_of_another_machine_is_neither_used_nor_removed(
    served: Served, project: Path
) -> None:
    theirs = replace(lock_at(served, project / "home"), hostname="elsewhere.example")
    write_folder_lock(project, theirs)
    done = await pecia("mcp", frames=[HELLO], cwd=project, env=OFF)
    assert done.returncode == 1
    assert read_lock(folder_lock_path(project)) == theirs


@pytest.mark.requirement("wiki.endpoint.lock_port_zero")
async def test_a_server_without_a_port_yet_is_waited_for(served: Served, project: Path) -> None:
    with starting(served, project / "home") as lock:
        write_folder_lock(project, replace(lock, url="http://127.0.0.1:0", port=0))
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(project / "ana"),
            "PECIA_HOME": str(project / "home"),
            "OK_MCP_SPAWN_TIMEOUT_MS": "50000",
        }
        frames = "".join(json.dumps(it) + "\n" for it in (HELLO, READY, LIST)).encode()
        command = warm.pecia("mcp")
        with anyio.fail_after(50):
            async with await anyio.open_process(command, cwd=project, env=env) as process:
                assert process.stdin is not None
                assert process.stderr is not None
                assert process.stdout is not None
                await process.stdin.send(frames)
                await process.stdin.aclose()
                said = b""
                while b"waiting for a server that is starting" not in said:
                    said += await process.stderr.receive()
                write_lock(home_lock_path(project / "home"), lock)
                out = b"".join([it async for it in process.stdout])
    first, second = (json.loads(it) for it in out.splitlines())
    assert first["result"]["serverInfo"]["name"] == "pecia"
    assert second["id"] == LIST["id"]


@pytest.mark.requirement("wiki.spawn.five_second_deadline")
async def test_a_server_that_gets_no_port_in_time_is_given_up(
    served: Served, project: Path
) -> None:
    with starting(served, project / "home"):
        soon = {"OK_MCP_SPAWN_TIMEOUT_MS": "200"}
        done = await pecia("mcp", frames=[HELLO], cwd=project, env=soon)
    assert done.returncode == 1
    assert heard(done)[0]["error"]["data"]["code"] == "TIMEOUT"
    assert b"the server has no port after 0.2 s" in done.stderr
    assert WikiSettings().mcp_spawn_timeout_s == 5


async def test_a_project_beside_a_running_server_becomes_one_of_its_spaces(
    served: Served, project: Path
) -> None:
    home = project.parent / "home"
    home.mkdir()
    write_lock(home_lock_path(home), lock_at(served, home))
    # That a project becomes a space takes the owner's yes, and so the owner's token.
    shutil.copy(served.app.settings.kernel.home / owner_token.FILE, home)
    env = {"PECIA_HOME": str(home)}
    with claim_home(home):
        done = await pecia("mcp", frames=[HELLO], cwd=project, env=env)
    assert heard(done)[0]["result"]
    assert read_lock(folder_lock_path(project)) == lock_at(served, home)
    listed = await served.app.call(served.owner, "admin.list_spaces", {}, CONTEXT)
    assert str(project) in json.dumps(listed.structured)


def test_what_lies_in_the_home_of_a_user_makes_it_no_project(tmp_path: Path) -> None:
    (tmp_path / ".pecia").mkdir()
    (tmp_path / "work" / "deep").mkdir(parents=True)
    assert find_project(tmp_path / "work" / "deep", home=tmp_path) is None
    (tmp_path / "work" / ".pecia").mkdir()
    assert find_project(tmp_path / "work" / "deep", home=tmp_path) == tmp_path / "work"


@pytest.mark.requirement("wiki.shim.registers_no_tools")
async def test_a_tool_that_came_later_is_listed_by_a_shim_that_was_there_before(
    serve: Serve,
) -> None:
    async with (
        serve(hub__trusted_hosts="127.0.0.0/8") as served,
        listening_site(Site(["tools=echo"]), served.app.settings.kernel) as url,
        shim(served, "hub") as client,
    ):
        assert "echo" not in await names(client)
        server: dict[str, Any] = {"server": "late", "url": f"{url}/mcp"}
        await served.app.call(served.owner, "hub.add_server", server, CONTEXT)
        assert "echo" in await names(client)
        await served.app.call(served.owner, "hub.remove_server", {"server": "late"}, CONTEXT)


@pytest.mark.requirement("memory.setup.block_env_reaches_session", "memory.instances.side_by_side")
async def test_two_shims_with_other_variables_each_keep_their_own(served: Served) -> None:
    async with (
        shim(served, "cipher", MCP_SERVER_MODE="aggregator") as many,
        shim(served, "cipher", MCP_SERVER_MODE="default") as one,
        shim(served, "cipher") as none,
    ):
        for _ in range(2):
            assert "cipher_memory_search" in await names(many)
            assert await names(one) == {"ask_cipher"}
            assert await names(none) == {"ask_cipher"}


def test_every_toolset_that_an_entry_may_name_is_served(served: Served) -> None:
    paths = {it.path for it in list_endpoints([it.name for it in served.app.features], "desk")}
    assert {f"/mcp/{it}" for it in TOOLSETS} <= paths


def test_every_variable_that_a_session_may_set_is_forwarded() -> None:
    known = build_catalog([CkfSettings, HubSettings, MemorySettings]).by_name
    theirs = {it for name in SESSION_SETTINGS - UNUSED_SETTINGS for it in known[name].env}
    assert {it for it in theirs if not it.startswith("PECIA_")} == FORWARDED_VARIABLES


def test_a_server_that_others_use_too_gets_no_setting_of_one_session() -> None:
    given = {
        "OPENAI_API_KEY": "sk-secret",
        "PECIA_TOKEN": "peciapat_secret",
        "PATH": "/bin",
        "PECIA_HOME": "/data",
    }
    assert strip_session_variables(given) == {"PATH": "/bin", "PECIA_HOME": "/data"}

"""`pecia cipher` where nothing runs: it starts a server, which is no session's in particular."""

from collections.abc import Iterator, Mapping

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.interfaces.shell import Shell, opened_shell
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with opened_shell() as made:
        yield made


async def listed(shell: Shell, env: Mapping[str, str]) -> set[str]:
    command, *words = warm.pecia("cipher", "--mode", "mcp")
    around = {"PATH": "/usr/bin:/bin", "HOME": str(shell.root), "PECIA_HOME": str(shell.home)}
    started = StdioServerParameters(
        command=command, args=words, env={**around, **env}, cwd=shell.root
    )
    async with Client(stdio_client(started), cache=None) as client:
        return {it.name for it in (await client.list_tools()).tools}


@pytest.mark.requirement("memory.setup.basic_block", "memory.env.vector_store_type")
async def test_from_nothing_a_block_connects_and_its_variables_stay_its_own(shell: Shell) -> None:
    store = {"VECTOR_STORE_TYPE": "qdrant"}
    first = await listed(shell, {**store, "MCP_SERVER_MODE": "aggregator"})
    assert "cipher_memory_search" in first
    # The server that the first session started knows nothing of what that session set.
    assert await listed(shell, {}) == {"ask_cipher"}
    assert shell.ok("status", "--json").document["running"] is True
    done = shell.run("doctor", "--json", env=store)
    told = [it["found"] for it in done.document["findings"]]
    assert "VECTOR_STORE_TYPE: accepted and ignored, memories are stored in PostgreSQL" in told

"""`pecia cipher` as its users have it: every JSON block of the reference, with a stock client."""

import json
import logging
import shutil
import signal
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from pecia.kernel.errors import Json
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.yaml.writer import dump_yaml
from tests.interfaces.cipher_server import PYTHON, CipherServer, grounded, tools_of
from tests.provider import LoopbackProvider, Says
from tests.unit.features.hub.hub_server import PROGRAM
from tests.warm import start as warm

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

MCP = ["--mode", "mcp"]
LINE = 1_000_000
KEY = {"OPENAI_API_KEY": "sk-your-openai-key-0123456789"}
BOTH_KEYS = {**KEY, "ANTHROPIC_API_KEY": "sk-ant-your-anthropic-key-0123456789"}
STORE = {
    "VECTOR_STORE_TYPE": "qdrant",
    "VECTOR_STORE_URL": "https://your-qdrant-endpoint.example",
    "VECTOR_STORE_API_KEY": "your-qdrant-key-0123456789",
}
AGGREGATOR = {"MCP_SERVER_MODE": "aggregator"}
MEMORY = {
    "cipher_memory_search",
    "cipher_extract_and_operate_memory",
    "cipher_store_reasoning_memory",
    "cipher_search_reasoning_patterns",
}


@pytest.fixture(scope="module")
def provider() -> Iterator[LoopbackProvider]:
    """A model that always says the same, in the place of every provider."""
    with LoopbackProvider(Says("The model says so.")) as made:
        yield made


@pytest.fixture(scope="module")
async def ground(
    module_database: DatabaseLogins,
    tmp_path_factory: pytest.TempPathFactory,
    provider: LoopbackProvider,
) -> AsyncGenerator[CipherServer]:
    root = tmp_path_factory.mktemp("user")
    async with grounded(module_database, root, provider) as made:
        yield made


async def answered(client: Client, message: str = "Which port has staging?") -> str:
    said = await client.call_tool("ask_cipher", {"message": message})
    return str(getattr(said.content[0], "text", ""))


@pytest.mark.requirement(
    "memory.setup.basic_block",
    "memory.transport.stdio_default",
    "memory.transport.stdio_block",
    "memory.mode.default_block",
)
@pytest.mark.parametrize(
    "env", [BOTH_KEYS, KEY, {**KEY, "MCP_SERVER_MODE": "default"}], ids=["basic", "stdio", "mode"]
)
async def test_a_block_without_a_mode_connects_and_has_one_tool(
    ground: CipherServer, env: dict[str, str]
) -> None:
    async with ground.session(MCP, env) as client:
        assert tools_of(await client.list_tools()) == {"ask_cipher"}
        assert (await answered(client)).startswith("The model says so.")


@pytest.mark.requirement("memory.mode.aggregator_block", "memory.client.claude_code_block")
@pytest.mark.parametrize(
    "more",
    [{}, {"AGGREGATOR_CONFLICT_RESOLUTION": "prefix", "AGGREGATOR_TIMEOUT": "60000"}],
    ids=["claude code", "aggregator"],
)
async def test_a_block_for_the_aggregator_has_the_memory_tools(
    ground: CipherServer, more: dict[str, str]
) -> None:
    async with ground.session(MCP, {**KEY, **AGGREGATOR, **more}) as client:
        listed = tools_of(await client.list_tools())
        assert listed > MEMORY
        assert "ask_cipher" not in listed
        asked = {"interaction": "The staging database listens on port 6543."}
        kept = await client.call_tool("cipher_extract_and_operate_memory", asked)
        assert not kept.is_error
        found = await client.call_tool("cipher_memory_search", {"query": "port of staging"})
    assert "6543" in str(found.structured_content)


@pytest.mark.requirement(
    "memory.client.claude_desktop_block",
    "memory.env.vector_store_type",
    "memory.env.vector_store_url",
    "memory.env.vector_store_api_key",
)
@pytest.mark.parametrize("kind", ["qdrant", "milvus", "in-memory"])
async def test_a_store_that_a_block_names_is_taken_and_the_one_in_use_is_told(
    ground: CipherServer, kind: str
) -> None:
    env = {**BOTH_KEYS, **STORE, "VECTOR_STORE_TYPE": kind}
    async with ground.session(MCP, env) as client:
        assert (await answered(client)).startswith("The model says so.")
    said = ground.said.read_text(encoding="utf-8")
    told = [it for it in said.splitlines() if "PostgreSQL" in it]
    assert told == [
        "warning: VECTOR_STORE_TYPE, VECTOR_STORE_URL, VECTOR_STORE_API_KEY: accepted and ignored, "
        "memories are stored in PostgreSQL"
    ]
    assert STORE["VECTOR_STORE_API_KEY"] not in said


@pytest.mark.requirement("memory.client.windsurf_block", "memory.workspace.block")
@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "WORKSPACE_VECTOR_STORE_COLLECTION": "team_project",
            "DISABLE_DEFAULT_MEMORY": "false",
        },
    ],
    ids=["windsurf", "workspace"],
)
async def test_a_block_with_workspace_memory_keeps_and_finds_for_the_team(
    ground: CipherServer, more: dict[str, str]
) -> None:
    team = {"USE_WORKSPACE_MEMORY": "true", **more}
    told = f"The deploy function of the api of {len(more)} teams is broken since May."
    async with ground.session(MCP, {**KEY, **team}) as client:
        await answered(client, told)
    async with ground.session(MCP, {**KEY, **team, **AGGREGATOR}) as client:
        found = await client.call_tool("cipher_workspace_search", {"query": "api deploy broken"})
    assert told in str(found.structured_content)


async def test_the_shim_of_every_toolset_serves_this_one_too(ground: CipherServer) -> None:
    command, *words = warm.pecia("mcp", "--toolset", "cipher", "--port", ground.url.split(":")[-1])
    env = ground.environ({**KEY, **AGGREGATOR, "USE_ASK_CIPHER": "true"})
    started = StdioServerParameters(command=command, args=words, env=env, cwd=ground.root)
    async with Client(stdio_client(started), cache=None) as client:
        assert tools_of(await client.list_tools()) > MEMORY
        assert (await answered(client)).startswith("The model says so.")


@pytest.mark.requirement("hub.timeout.heavy_block")
async def test_the_block_for_long_operations_connects(ground: CipherServer) -> None:
    args = [*MCP, "--timeout", "300000"]
    async with ground.session(args, {**KEY, "AGGREGATOR_TIMEOUT": "300000"}) as client:
        assert (await answered(client)).startswith("The model says so.")


@pytest.mark.requirement("hub.timeout.flag")
async def test_the_flag_says_how_long_the_calls_of_that_session_may_take(
    ground: CipherServer, agents: Path
) -> None:
    args = [*MCP, "--timeout", "300", "--agent", str(agents / "front.yml")]
    async with ground.session(args, AGGREGATOR) as client:
        said = await client.call_tool("slow", {})
    assert "Tool execution timed out after 300ms" in str(said.content)


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agent files: each has a server of the same name, and they are not the same."""
    folder = tmp_path_factory.mktemp("agents")
    for name in ("front", "back"):
        server = {"type": "stdio", "command": PYTHON, "args": [PROGRAM], "env": {"SIDE": name}}
        model = {"provider": "openai", "model": f"{name}-model", "maxIterations": 50}
        agent: Any = {"mcpServers": {"files": server}, "llm": model, "systemPrompt": "Hello."}
        (folder / f"{name}.yml").write_text(dump_yaml(agent), encoding="utf-8")
    return folder


@pytest.mark.requirement("memory.instances.agent_file")
async def test_each_agent_file_gives_its_session_its_own_servers_and_model(
    ground: CipherServer, provider: LoopbackProvider, agents: Path
) -> None:
    env = {**KEY, **AGGREGATOR, "USE_ASK_CIPHER": "true"}
    for name in ("front", "back"):
        args = [*MCP, "--agent", str(agents / f"{name}.yml")]
        async with ground.session(args, env) as client:
            assert tools_of(await client.list_tools()) > MEMORY | {"echo", "ask_cipher"}
            for tool in ("env", "files__env"):
                said = await client.call_tool(tool, {})
                assert f"'SIDE': '{name}'" in str(said.structured_content)
            await answered(client)
        assert provider.requests[-1].body["model"] == f"{name}-model"
        said = ground.said.read_text(encoding="utf-8")
        assert "not used here: systemPrompt, llm.maxIterations" in said
    async with ground.session(MCP, AGGREGATOR) as client:
        assert "echo" not in tools_of(await client.list_tools())


async def test_a_server_of_an_agent_file_that_is_down_is_told_and_with_strict_it_is_an_end(
    ground: CipherServer, tmp_path: Path
) -> None:
    file = tmp_path / "cipher.yml"
    gone: Json = {"type": "stdio", "command": str(tmp_path / "nowhere")}
    file.write_text(dump_yaml({"mcpServers": {"gone": gone}}), encoding="utf-8")
    code, said = await ground.run(*MCP, "--agent", file)
    assert (code, "the server gone is down" in said) == (0, True)
    code, said = await ground.run(*MCP, "--agent", file, "--strict")
    assert code == 1
    assert "Failed to connect to required strict servers: gone" in said


@pytest.mark.requirement(
    "memory.env.openai_key", "memory.env.anthropic_key", "memory.trouble.key_exported"
)
@pytest.mark.parametrize(
    ("name", "header"), [("OPENAI_API_KEY", "authorization"), ("ANTHROPIC_API_KEY", "x-api-key")]
)
async def test_a_key_that_was_exported_serves_its_provider_and_shows_up_nowhere(
    ground: CipherServer,
    provider: LoopbackProvider,
    caplog: pytest.LogCaptureFixture,
    name: str,
    header: str,
) -> None:
    key = BOTH_KEYS[name]
    caplog.set_level(logging.DEBUG)
    async with ground.session(MCP, {name: key, "MCP_LOG_LEVEL": "debug"}) as client:
        said = await client.call_tool("ask_cipher", {"message": "Which port has staging?"})
    assert said.structured_content is not None
    assert said.structured_content["usedModel"] is True
    assert provider.requests[-1].places_of(key) == [f"header {header}"]
    await ground.app.audit_log.drain()
    async with ground.app.store.system() as tx:
        rows = await tx.fetch_all("SELECT a::text AS said FROM kernel.audit a")
    told = (str(said), caplog.text, ground.said.read_text(encoding="utf-8"), str(rows))
    assert not [it for it in told if key in it]


async def test_another_server_that_speaks_as_openai_does_is_asked_where_it_is_named(
    ground: CipherServer, provider: LoopbackProvider
) -> None:
    key = KEY["OPENAI_API_KEY"]
    async with ground.session(
        MCP, {**KEY, "OPENAI_BASE_URL": f"{provider.url}/other/v1"}
    ) as client:
        assert (await answered(client)).startswith("The model says so.")
    asked = provider.requests[-1]
    assert asked.path == "/other/v1/chat/completions"
    assert asked.places_of(key) == ["header authorization"]


@pytest.mark.requirement("memory.trouble.key_not_found")
async def test_a_provider_without_its_key_is_told_when_it_is_used(
    ground: CipherServer, agents: Path
) -> None:
    only = {"MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT": "true"}
    args = [*MCP, "--agent", str(agents / "front.yml")]
    async with ground.session(args, only) as client:
        said = await client.call_tool("contact_ct_knowledge_management", {"message": "Hello?"})
    assert said.is_error
    assert "OPENAI_API_KEY not found" in str(said.content)


@pytest.mark.requirement("memory.debug.block")
async def test_the_debug_block_tells_of_every_frame_and_of_no_contents(
    ground: CipherServer,
) -> None:
    env = {**KEY, "DEBUG": "cipher:*", "MCP_LOG_LEVEL": "debug"}
    async with ground.session(MCP, env) as client:
        await answered(client, "A message that nobody else should read.")
    said = ground.said.read_text(encoding="utf-8")
    assert "debug: client → tools/call ask_cipher" in said
    assert "debug: server → result" in said
    assert "nobody else" not in said


@pytest.mark.requirement("memory.debug.manual_start", "memory.debug.inspector")
async def test_started_by_hand_it_waits_for_frames_and_answers_those_of_an_inspector(
    ground: CipherServer,
) -> None:
    about = {"name": "inspector-client", "version": "0.17.0"}
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}},
        "clientInfo": about,
    }
    asked: list[tuple[str, dict[str, Any]]] = [
        ("initialize", hello),
        ("logging/setLevel", {"level": "debug"}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/list", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "ask_cipher", "arguments": {"message": "Which port?"}}),
    ]
    async with started(ground, warm.pecia("cipher", *MCP), **KEY) as (process, out, err):
        said = await err.receive_until(b"\n", LINE)
        assert said == f"speaking MCP to {ground.url}/mcp/cipher".encode()
        assert process.returncode is None
        assert process.stdin is not None
        for at, (method, params) in enumerate(asked):
            frame = {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
            await process.stdin.send(json.dumps(frame).encode() + b"\n")
            answer: dict[str, Any] = {}
            while answer.get("id") != at:
                answer = json.loads(await out.receive_until(b"\n", LINE))
            assert "result" in answer, answer
            if method == "initialize":
                ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                await process.stdin.send(json.dumps(ready).encode() + b"\n")
        await process.stdin.aclose()
        assert await process.wait() == 0


@asynccontextmanager
async def started(
    ground: CipherServer, command: list[str], **env: str
) -> AsyncGenerator[tuple[Process, BufferedByteReceiveStream, BufferedByteReceiveStream]]:
    """The command as it runs, with its stdout and its stderr."""
    async with await anyio.open_process(
        command, env=ground.environ(env), cwd=ground.root
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        with anyio.fail_after(50):
            yield (
                process,
                BufferedByteReceiveStream(process.stdout),
                BufferedByteReceiveStream(process.stderr),
            )


@asynccontextmanager
async def fronted(ground: CipherServer, transport: str, **env: str) -> AsyncGenerator[str]:
    """The address that the command serves at, on a port that was free a moment ago."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [*MCP, "--mcp-transport-type", transport, "--mcp-port", str(port)]
    # A process of its own: it is ended by a signal.
    command = [PYTHON, "-m", "pecia", "cipher", *words]
    async with started(ground, command, **env) as (process, _, err):
        said = await err.receive_until(b"\n", LINE)
        assert f"http://127.0.0.1:{port}/".encode() in said
        yield f"http://localhost:{port}"
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0


@pytest.mark.requirement("memory.transport.sse_flags")
async def test_with_its_flags_it_serves_sse_on_that_port(ground: CipherServer) -> None:
    async with (
        fronted(ground, "sse", **AGGREGATOR) as url,
        Client(sse_client(f"{url}/sse"), cache=None) as client,
    ):
        assert tools_of(await client.list_tools()) > MEMORY
        found = await client.call_tool("cipher_memory_search", {"query": "x"})
    assert not found.is_error


@pytest.mark.requirement("memory.transport.http_flags")
async def test_with_its_flags_it_serves_streamable_http_on_that_port(ground: CipherServer) -> None:
    async with fronted(ground, "streamable-http", **AGGREGATOR) as url:
        async with (
            httpx2.AsyncClient(timeout=60) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), cache=None) as client,
        ):
            assert tools_of(await client.list_tools()) > MEMORY
            with pytest.raises(MCPError, match="disabled in this aggregator"):
                await client.call_tool("ask_cipher", {"message": "x"})
        async with httpx2.AsyncClient(timeout=60) as http:
            body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            for headers, status in (
                ({"host": "evil.example"}, 421),
                ({"origin": "https://evil.example"}, 403),
                ({"x-pecia-session": "bm9uZQ=="}, 200),
                ({"x-forwarded-for": "203.0.113.9"}, 401),
            ):
                said = await http.post(f"{url}/mcp", json=body, headers=headers)
                assert said.status_code == status, headers
            assert (await http.get(f"{url}/api/v1/tools")).status_code == 404


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--mode", "api"], "--mode takes mcp"),
        (["--mcp-transport-type", "udp"], "stdio, sse, streamable-http"),
        (["--mcp-host", "0.0.0.0"], "127.0.0.1, localhost, ::1"),
        (["--mcp-port", "70000"], "0 to 65535"),
        (["--timeout", "5s"], "--timeout must be a number of milliseconds"),
        (["--retries", "3"], "--retries"),
    ],
)
async def test_a_wrong_flag_is_named_with_what_may_be_said(
    ground: CipherServer, words: list[str], told: str
) -> None:
    code, said = await ground.run(*words)
    assert code == 2
    assert told in said


async def test_a_wrong_value_of_a_variable_is_named_with_what_may_be_said(
    ground: CipherServer,
) -> None:
    code, said = await ground.run(*MCP, AGGREGATOR_CONFLICT_RESOLUTION="last-wins")
    assert code == 1
    assert "AGGREGATOR_CONFLICT_RESOLUTION" in said
    assert "'prefix', 'first-wins' or 'error'" in said


async def test_a_file_of_variables_is_read_where_it_is_named_and_what_is_exported_wins(
    ground: CipherServer, tmp_path: Path
) -> None:
    file = tmp_path / "some.env"
    file.write_text('# mine\nexport MCP_SERVER_MODE="aggregator"\nUSE_ASK_CIPHER=true\n', "utf-8")
    args = [*MCP, "--env-file", str(file)]
    async with ground.session(args, {}) as client:
        assert tools_of(await client.list_tools()) > MEMORY | {"ask_cipher"}
    async with ground.session(args, {"MCP_SERVER_MODE": "default"}) as client:
        assert tools_of(await client.list_tools()) == {"ask_cipher"}
    file.write_text("just words\n", "utf-8")
    code, said = await ground.run(*args)
    assert (code, "line 1" in said) == (1, True)


async def test_an_agent_file_that_merely_lies_there_is_not_read(
    ground: CipherServer, agents: Path
) -> None:
    folder = ground.root / "memAgent"
    folder.mkdir()
    shutil.copy(agents / "front.yml", folder / "cipher.yml")
    async with ground.session(MCP, AGGREGATOR) as client:
        assert "echo" not in tools_of(await client.list_tools())
    assert "memAgent/cipher.yml is not read" in ground.said.read_text(encoding="utf-8")

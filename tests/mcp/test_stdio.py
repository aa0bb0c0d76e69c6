"""`pecia mcp` and `pecia smoke`, as processes, against a server on a socket."""

import json
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from pecia.interfaces.cli.server.lock import (
    ServerLock,
    claim_home,
    home_lock_path,
    write_folder_lock,
    write_lock,
)
from pecia.interfaces.cli.stdio.session_headers import session_headers
from pecia.interfaces.mcp.transport.stdio.relay import RelayTarget, StdioRelay
from tests.mcp.conftest import INSTANCE, Serve, Served
from tests.mcp.raw_mcp import META, MODERN
from tests.warm import start as warm

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


async def pecia(
    *words: str, frames: Sequence[Any] = (), cwd: Path, env: Mapping[str, str] | None = None
) -> CompletedProcess[bytes]:
    """One run of the program; its exit code is the test's to look at."""
    lines = b"".join(
        (it if isinstance(it, bytes) else json.dumps(it).encode()) + b"\n" for it in frames
    )
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(cwd / "ana"), "PECIA_HOME": str(cwd / "home")}
    with anyio.fail_after(40):
        return await anyio.run_process(
            warm.pecia(*words),
            input=lines,
            check=False,
            cwd=cwd,
            env={**clean, **(env or {})},
        )


def at(served: Served) -> list[str]:
    where = urlsplit(served.url)
    return ["--port", str(where.port), "--host", str(where.hostname)]


def heard(done: CompletedProcess[bytes]) -> list[dict[str, Any]]:
    """Every line of stdout, each of which must be a frame."""
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def locked(served: Served, folder: Path) -> Generator[None]:
    """A folder that says where the server is; its home, which is the same folder, confirms it."""
    folder.mkdir(exist_ok=True)
    port = urlsplit(served.url).port or 0
    lock = ServerLock(served.url, port, 1, "0", str(folder), INSTANCE, "2026-01-01")
    write_lock(home_lock_path(folder), lock)
    write_folder_lock(folder, lock)
    with claim_home(folder):
        yield


@pytest.mark.requirement(
    "wiki.endpoint.port_flag", "wiki.shim.stdout_is_protocol", "wiki.shim.stderr_is_diagnostics"
)
async def test_frames_go_to_the_port_and_only_frames_come_back(
    served: Served, tmp_path: Path
) -> None:
    done = await pecia("mcp", *at(served), frames=[HELLO, READY, LIST], cwd=tmp_path)
    first, second = heard(done)
    assert done.returncode == 0
    assert first["result"]["protocolVersion"] == "2025-11-25"
    assert second["result"]["tools"][0]["name"] == "find_tools"
    assert f"{served.url}/mcp" in done.stderr.decode()


@pytest.mark.requirement("memory.debug.stderr_only")
async def test_at_debug_level_stdout_carries_frames_only(served: Served, tmp_path: Path) -> None:
    env = {"MCP_LOG_LEVEL": "debug", "PECIA_LOG_LEVEL": "debug"}
    done = await pecia("--debug", "mcp", *at(served), frames=[HELLO, LIST], cwd=tmp_path, env=env)
    assert len(heard(done)) == 2


@pytest.mark.requirement(
    "wiki.shim.proxies_to_lock_port", "wiki.endpoint.port_flag_zero", "wiki.lock.read_at_startup"
)
async def test_the_lock_of_the_folder_says_where_the_server_is(
    served: Served, tmp_path: Path
) -> None:
    inside = tmp_path / "project" / "deep"
    inside.mkdir(parents=True)
    with locked(served, inside.parent):
        done = await pecia("mcp", "--port", "0", frames=[HELLO], cwd=inside)
    assert heard(done)[0]["result"]["serverInfo"]["name"] == "pecia"


@pytest.mark.requirement("wiki.endpoint.live_lock_beats_opt_out")
async def test_a_live_lock_is_used_although_autostart_is_off(
    served: Served, tmp_path: Path
) -> None:
    off = {"OK_MCP_AUTOSTART": "0"}
    with locked(served, tmp_path / "project"):
        done = await pecia("mcp", frames=[HELLO], cwd=tmp_path / "project", env=off)
    assert heard(done)[0]["result"]


@pytest.mark.requirement(
    "wiki.autostart.off_suppresses_both",
    "wiki.autostart.off_exits_with_diagnostic",
    "wiki.autostart.diagnostic_names_ways_out",
    "wiki.endpoint.opt_out_exits_one",
    "wiki.server.single_implementation",
)
async def test_without_a_server_and_autostart_it_exits_and_says_how_to_go_on(
    tmp_path: Path,
) -> None:
    (tmp_path / ".pecia").mkdir()
    off = {"OK_MCP_AUTOSTART": "0"}
    done = await pecia("mcp", frames=[HELLO, LIST], cwd=tmp_path, env=off)
    said = done.stderr.decode()
    assert done.returncode == 1
    # The handshake has its answer: an editor that gets none waits for ever.
    assert [it["id"] for it in heard(done)] == [HELLO["id"]]
    assert "the server is not running" in said
    assert "pecia start" in said
    assert "OK_MCP_AUTOSTART" in said
    assert not (tmp_path / "home").exists()
    assert not (tmp_path / ".git").exists()


@pytest.mark.requirement("memory.trouble.connection_refused")
@pytest.mark.parametrize("host", ["localhost", "::1"])
async def test_a_port_where_nobody_answers_is_told_on_stderr(tmp_path: Path, host: str) -> None:
    done = await pecia("mcp", "--port", "1", "--host", host, frames=[HELLO], cwd=tmp_path)
    assert done.returncode == 1
    assert heard(done)[0]["error"]["data"]["code"] == "UNAVAILABLE"
    assert b"Failed to connect to Pecia MCP server:" in done.stderr
    assert b"hint: pecia start" in done.stderr


async def test_a_port_that_no_server_can_have_is_refused(tmp_path: Path) -> None:
    done = await pecia("mcp", "--port", "99999", frames=[HELLO], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")


def test_keys_stay_on_this_machine() -> None:
    env = {"OPENAI_API_KEY": "sk-secret"}
    assert session_headers("http://127.0.0.1:7324", env, None)
    assert session_headers("http://example.com:7324", env, None) == {}


@pytest.mark.parametrize("odd", ["peciapat_se\ncret", "peciapat_secret…"])
async def test_what_can_be_no_token_is_refused_and_not_repeated(
    served: Served, tmp_path: Path, odd: str
) -> None:
    env = {"PECIA_TOKEN": odd}
    done = await pecia("mcp", *at(served), frames=[HELLO], cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert b"PECIA_TOKEN" in done.stderr
    assert b"peciapat_se" not in done.stderr + done.stdout


async def test_white_space_around_a_token_is_no_part_of_it(served: Served, tmp_path: Path) -> None:
    env = {"PECIA_TOKEN": f" {await served.token('bo')}\n"}
    done = await pecia("mcp", *at(served), frames=[HELLO], cwd=tmp_path, env=env)
    assert heard(done)[0]["result"]


@pytest.mark.requirement("wiki.git.through_the_shim")
async def test_outside_a_project_it_says_how_to_begin(tmp_path: Path) -> None:
    done = await pecia("mcp", frames=[HELLO], cwd=tmp_path)
    assert done.returncode == 1
    assert b"pecia start FOLDER" in done.stderr
    assert b"pecia init --space FOLDER" in done.stderr


@pytest.mark.requirement("wiki.shim.each_frame_forwarded")
async def test_notifications_and_streams_pass_through(served: Served, tmp_path: Path) -> None:
    level = {"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": {"level": "info"}}
    asked = {"name": "test_tool_with_logging"}
    call = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": asked}
    words = ("mcp", *at(served), "--toolset", "conformance")
    found = heard(await pecia(*words, frames=[HELLO, READY, level, call], cwd=tmp_path))
    logs = [it for it in found if it.get("method") == "notifications/message"]
    assert len(logs) == 3
    assert found[-1]["result"]["content"][0]["text"] == "logged"


async def test_what_is_no_json_is_answered_as_such(served: Served, tmp_path: Path) -> None:
    frames = [b"{bad", HELLO]
    first, second = heard(await pecia("mcp", *at(served), frames=frames, cwd=tmp_path))
    assert (first["id"], first["error"]["code"]) == (None, -32700)
    assert second["result"]


async def test_the_newer_era_passes_with_the_headers_it_needs(
    served: Served, tmp_path: Path
) -> None:
    meta: dict[str, Any] = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}}
    params = {"name": "test_mirrored_header", "arguments": {"region": "zürich"}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    words = ("mcp", *at(served), "--toolset", "conformance")
    found = heard(await pecia(*words, frames=[call], cwd=tmp_path))
    assert found[0]["result"]["content"][0]["text"] == "mirrored"


async def test_a_stream_that_never_ends_does_not_keep_the_shim_when_its_client_has_gone(
    served: Served, tmp_path: Path
) -> None:
    meta: dict[str, Any] = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}}
    wanted = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    listen = {"jsonrpc": "2.0", "method": "subscriptions/listen", "params": wanted}
    frames = [{**listen, "id": it} for it in (1, 2, 3)] + [
        {**LIST, "id": 4, "params": {"_meta": meta}}
    ]
    done = await pecia("mcp", *at(served), frames=frames, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert any(it.get("id") == 4 and "result" in it for it in heard(done))


def test_an_id_that_is_in_flight_is_refused() -> None:
    out = BytesIO()
    relay = StdioRelay(RelayTarget("http://127.0.0.1:9/mcp", {}), out)
    relay.in_flight[2] = HTTPConnection("127.0.0.1", 9)
    relay.run([json.dumps(LIST).encode()])
    said = json.loads(out.getvalue())
    assert (said["id"], said["error"]["data"]["code"]) == (2, "INVALID_REQUEST")


async def test_a_client_that_reads_no_more_is_left_in_silence(
    served: Served, tmp_path: Path
) -> None:
    ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    words = warm.pecia("mcp", *at(served))
    read, write = os.pipe()
    os.close(read)
    with anyio.fail_after(40):
        done = await anyio.run_process(
            words, input=json.dumps(ping).encode(), stdout=write, check=False, cwd=tmp_path
        )
    os.close(write)
    assert done.stderr.decode().splitlines() == [f"speaking MCP to {served.url}/mcp"]


async def test_readonly_is_the_readonly_endpoint(served: Served, tmp_path: Path) -> None:
    words = ("mcp", *at(served), "--toolset", "all", "--readonly")
    found = heard(await pecia(*words, frames=[HELLO, LIST], cwd=tmp_path))
    names = {it["name"] for it in found[1]["result"]["tools"]}
    assert "list_users" in names
    assert "add_user" not in names


@pytest.mark.requirement("wiki.shim.speaks_stdio")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_stock_client_lists_calls_and_cancels_over_stdio(
    served: Served, tmp_path: Path, mode: Any
) -> None:
    words = ["-m", "pecia", "mcp", *at(served), "--toolset", "conformance"]
    where = stdio_client(StdioServerParameters(command=sys.executable, args=words, cwd=tmp_path))
    with anyio.fail_after(40):
        async with Client(where, mode=mode) as client:
            assert len((await client.list_tools()).tools) > 20
            with anyio.move_on_after(0.5):
                await client.call_tool("slow_compute", {"seconds": 50})
            found: Any = await client.call_tool("greet", {"name": "Ana"})
    assert found.content[0].text == "Hello, Ana!"


@pytest.mark.requirement("lake.smoke.three_steps", "lake.smoke.options")
async def test_smoke_passes_three_steps(served: Served, tmp_path: Path) -> None:
    token = await served.token("bo")
    words = ("--json", "smoke", "--api-url", served.url)
    done = await pecia(*words, cwd=tmp_path, env={"PECIA_TOKEN": token})
    assert done.returncode == 0
    assert json.loads(done.stdout)["steps"]["tools/call"] == "find_tools"
    done = await pecia(*words, "--token-stdin", frames=[token.encode()], cwd=tmp_path)
    assert done.returncode == 0


async def test_smoke_goes_by_the_name_of_the_reference(served: Served, tmp_path: Path) -> None:
    words = ("--json", "mcp", "smoke", "--api-url", served.url)
    done = await pecia(*words, cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["steps"]["tools/call"] == "find_tools"


@pytest.mark.requirement("lake.audit.review")
async def test_mcp_audit_lists_the_calls_of_a_tool(served: Served, tmp_path: Path) -> None:
    await served.talk.begin("/mcp/all")
    for name, arguments in (("list_sources", {}), ("list_users", {"limit": 7})):
        await served.talk.ask("/mcp/all", "tools/call", {"name": name, "arguments": arguments})
    home = tmp_path / "at"
    home.mkdir()
    facts = ("0", str(home), INSTANCE, "2026-01-01")
    lock = ServerLock(served.url, urlsplit(served.url).port or 0, os.getpid(), *facts)
    write_lock(home_lock_path(home), lock)
    env = {"PECIA_HOME": str(home)}
    words = ("mcp", "audit", "--tool", "list_users")
    # A lock counts while a process of its home holds the claim.
    with claim_home(home):
        done = await pecia("--json", *words, cwd=tmp_path, env=env)
        shown = (await pecia(*words, cwd=tmp_path, env=env)).stdout.decode()
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {it["tool"] for it in rows} == {"admin.list_users"}
    assert {"limit": 7} in [it["arguments"] for it in rows]
    # Each fact that the reference names: who, what, with what, what came of it, from where, when.
    for column in ("at", "user", "tool", "arguments", "sources", "keys", "row_count", "status"):
        assert column in shown.lower()
    assert "127.0.0.1" in shown


@pytest.mark.requirement("lake.smoke.reports_failure")
async def test_smoke_names_the_step_that_failed(serve: Serve, tmp_path: Path) -> None:
    async with serve(mode="server") as served:
        done = await pecia("smoke", "--api-url", served.url, cwd=tmp_path)
    assert done.returncode == 1
    assert b"initialize failed" in done.stderr


async def test_a_toolset_that_is_not_served_is_told_at_the_start(
    served: Served, tmp_path: Path
) -> None:
    done = await pecia("mcp", *at(served), "--toolset", "bogus", frames=[LIST], cwd=tmp_path)
    assert done.returncode == 1
    assert heard(done)[0]["error"]["data"]["code"] == "NOT_FOUND"
    assert "no toolset at /mcp/bogus" in done.stderr.decode()


async def test_a_room_read_only_is_a_toolset(served: Served, tmp_path: Path) -> None:
    words = ["mcp", *at(served), "--toolset", "lake", "--readonly"]
    done = await pecia(*words, frames=[HELLO, READY, LIST], cwd=tmp_path)
    (listed,) = (it["result"]["tools"] for it in heard(done) if it.get("id") == LIST["id"])
    assert "list_files" in [it["name"] for it in listed]


@pytest.mark.parametrize(
    "odd",
    [
        b"[" * 5000,
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{"a":1},"method":{"b":2}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
        b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":"\\u00e9\\n"}}}',
    ],
)
async def test_an_odd_frame_does_not_end_the_shim(
    served: Served, tmp_path: Path, odd: bytes
) -> None:
    ping = {"jsonrpc": "2.0", "id": "still here", "method": "ping"}
    done = await pecia("mcp", *at(served), frames=[odd, ping], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = heard(done)
    assert {"jsonrpc": "2.0", "id": "still here", "result": {}} in answers
    assert all(it["jsonrpc"] == "2.0" for it in answers)

"""Programs of others: what they print, how they end, and what they leave behind."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil
import pytest

from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.upstream import stdio as programs
from pecia.adapters.upstream.connection import McpConnectionFactory
from pecia.adapters.upstream.streamable_http import HttpTransportOptions
from pecia.kernel.errors import UpstreamError

pytestmark = pytest.mark.anyio

HELLO = """
import json, os, subprocess, sys, time, signal
def answer(frame, result):
    print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("method") == "initialize":
        answer(frame, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "bare", "version": "1"}})
    elif frame.get("method") == "tools/list":
        %s
    elif "id" in frame:
        print(json.dumps({"jsonrpc": "2.0", "id": frame["id"],
                          "error": {"code": -32601, "message": "no"}}), flush=True)
%s
"""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    argv: tuple[str, ...]
    folder: str | None = None
    env: dict[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    is_sse: bool = False


def bare(on_list: str, at_end: str = "") -> ServerAddress:
    """A server in thirty lines, which knows no library and does something of its own."""
    return ServerAddress((sys.executable, "-c", HELLO % (on_list, at_end)))


def lines() -> McpConnectionFactory:
    return McpConnectionFactory(HttpTransportOptions(EgressGuard()), max_line_bytes=100_000)


def ignore(what: str) -> None: ...


async def test_what_a_program_prints_beside_its_frames_is_passed_over() -> None:
    noisy = bare('print("starting…\\n{not json", flush=True); answer(frame, {"tools": []})')
    async with lines().open(noisy, ignore) as line:
        assert await line.tools() == []
        assert line.about["revision"] == "2025-06-18"


async def test_a_line_without_end_ends_the_conversation() -> None:
    flood = bare('sys.stdout.write("x" * 1_000_000); sys.stdout.flush()')
    async with lines().open(flood, ignore) as line:
        with pytest.raises(UpstreamError, match=r"more than 100000 bytes \(hub.answer_bytes\)"):
            await line.tools()
        assert line.over.is_set()


async def test_a_list_that_is_none_is_refused_and_no_more() -> None:
    liar = bare('answer(frame, {"tools": "many"})')
    async with lines().open(liar, ignore) as line:
        with pytest.raises(UpstreamError, match="not valid MCP"):
            await line.tools()
        assert not line.over.is_set()


async def test_a_list_that_never_ends_is_cut() -> None:
    endless = bare(
        'answer(frame, {"nextCursor": "more", "tools": '
        '[{"name": f"t{it}", "inputSchema": {"type": "object"}} for it in range(300)]})'
    )
    async with McpConnectionFactory(HttpTransportOptions(EgressGuard()), max_items=1_000).open(
        endless, ignore
    ) as line:
        assert len(await line.tools()) == 1_000


async def test_a_list_that_is_too_large_is_refused() -> None:
    large = bare(
        'answer(frame, {"nextCursor": "more", "tools": '
        '[{"name": "t", "description": "x" * 9000, "inputSchema": {"type": "object"}}]})'
    )
    async with McpConnectionFactory(
        HttpTransportOptions(EgressGuard()), max_list_bytes=20_000
    ).open(large, ignore) as line:
        with pytest.raises(UpstreamError, match="more than 20000 bytes"):
            await line.tools()


async def test_one_that_will_not_end_is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(programs, "TERMINATE_TIMEOUT_S", 0.2)
    stubborn = bare(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f'child = subprocess.Popen(["sleep", "1000"]); open({str(tmp_path / "pids")!r}, "w")'
        '.write(f"{os.getpid()} {child.pid}"); answer(frame, {"tools": []})',
        at_end="time.sleep(1000)",
    )
    async with lines().open(stubborn, ignore) as line:
        await line.tools()
        pids = [int(it) for it in (tmp_path / "pids").read_text().split()]
        assert all(psutil.pid_exists(it) for it in pids)
    with anyio.fail_after(30):
        while any(_is_alive(it) for it in pids):  # noqa: ASYNC110 - nobody tells us.
            await anyio.sleep(0.01)


async def test_its_last_words_say_why_it_did_not_start() -> None:
    broken = ServerAddress((sys.executable, "-c", "raise SystemExit('no licence\\x1b[0m here')"))
    with pytest.raises(UpstreamError, match=r"no licence\[0m here"):
        async with lines().open(broken, ignore):
            pass


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

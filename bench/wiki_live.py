"""Live documents beside the stock pycrdt-websocket server, in one run: from one editor's key to
another editor's text, with 50 documents of four editors each, and memory for each open document.

The other server is no dependency: PECIA_BENCH_PEER_PYTHON names a Python that has
`pycrdt-websocket` and `uvicorn`. Both servers are processes of their own; the editors are the same,
in this process. Pecia stores an update before it sends it on; the other keeps it in memory.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pycrdt
from anyio.abc import Process
from websockets.asyncio.client import ClientConnection, connect

from bench import result
from bench.wiki import CONTEXT, no_fetch
from pecia.app.app import SETTINGS, open_app
from pecia.interfaces.http.server import serve_http
from pecia.kernel.settings.load import load_settings

PEER = "PECIA_BENCH_PEER_PYTHON"
DOCUMENTS = int(os.environ.get("PECIA_BENCH_LIVE_DOCUMENTS", "50"))
EDITORS = 4
ROUNDS = 20
JOINING = 5
"""How many documents are opened at a time."""
PERIOD_S = 1.0
"""Every document is typed into so often, one after another."""
TEXT = "The quick brown fox jumps over the lazy dog.\n" * 450
PATIENCE_S = 60.0
PEER_SERVER = """
import anyio, sys, uvicorn
from pycrdt.websocket import ASGIServer, WebsocketServer

async def main():
    rooms = WebsocketServer()
    app = ASGIServer(rooms)
    config = uvicorn.Config(app, port=int(sys.argv[1]), log_level="error", ws="websockets-sansio")
    async with rooms:
        await uvicorn.Server(config).serve()

anyio.run(main)
"""
_SYNC = 0
_STATE, _MISSING = 0, 1
"""Steps of a sync: what one has, and what it lacks."""


@dataclass(slots=True)
class BenchEditor:
    """A copy of a document and a socket."""

    socket: ClientConnection
    doc: "pycrdt.Doc[pycrdt.Text]" = field(default_factory=lambda: pycrdt.Doc[pycrdt.Text]())
    is_synced: bool = False
    _outgoing: list[bytes] = field(default_factory=list[bytes])
    _is_applying: bool = False
    _news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def text(self) -> pycrdt.Text:
        return self.doc.get("source", type=pycrdt.Text)

    async def listen(self) -> None:
        self.doc.observe(self._changed)
        await self.socket.send(bytes((_SYNC, 0)) + pycrdt.write_message(self.doc.get_state()))
        async for message in self.socket:
            assert isinstance(message, bytes)
            if message[0] == _SYNC:
                await self._take(message)

    async def type(self, words: str) -> None:
        text = self.text
        text.insert(len(str(text).encode()), words)
        waiting, self._outgoing = self._outgoing, []
        for update in waiting:
            await self.socket.send(pycrdt.create_update_message(update))

    async def until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not is_so():
                await self._news.wait()

    async def _take(self, message: bytes) -> None:
        step, body = message[1], pycrdt.read_message(message[2:])
        if step == _STATE:
            answer = pycrdt.write_message(self.doc.get_update(body))
            await self.socket.send(bytes((_SYNC, _MISSING)) + answer)
            return
        self._is_applying = True
        self.doc.apply_update(body)
        self._is_applying = False
        self.is_synced = self.is_synced or step == _MISSING
        self._news.set()
        self._news = anyio.Event()

    def _changed(self, event: Any) -> None:
        if not self._is_applying:
            self._outgoing.append(event.update)


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """A server under measurement. `address` gives the socket of a document."""

    process: Process
    address: Callable[[int], str]
    is_filled: bool
    """Whether its documents have their text already."""

    def resident_bytes(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


async def measure(target: LiveTarget) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)

        async def join(number: int) -> list[BenchEditor]:
            made: list[BenchEditor] = []
            for _ in range(EDITORS):
                socket = await stack.enter_async_context(
                    connect(target.address(number), proxy=None)
                )
                editor = BenchEditor(socket)
                tasks.start_soon(editor.listen)
                await editor.until(lambda it=editor: it.is_synced)
                made.append(editor)
            if not target.is_filled:
                await made[0].type(TEXT)
            for it in made:
                await it.until(lambda it=it: len(it.text) >= len(TEXT))
            return made

        # The first document loads what any needs.
        await join(DOCUMENTS)
        before = target.resident_bytes()
        documents = list[list[BenchEditor]]()

        async def join_some(first: int) -> None:
            for number in range(first, DOCUMENTS, JOINING):
                documents.append(await join(number))

        async with anyio.create_task_group() as joining:
            for first in range(JOINING):
                joining.start_soon(join_some, first)
        opened = target.resident_bytes()
        cpu = target.cpu_s()
        took = await _type_into(documents)
        cpu = target.cpu_s() - cpu
        ranked = sorted(took)
        return {
            "a_to_b_p50_ms": round(statistics.median(ranked) * 1000, 2),
            "a_to_b_p95_ms": round(ranked[len(ranked) * 95 // 100] * 1000, 2),
            "arrivals": len(ranked),
            "server_cpu_ms_per_update": round(cpu / (DOCUMENTS * ROUNDS) * 1000, 2),
            "kb_per_open_document": round((opened - before) / DOCUMENTS / 1000, 1),
            "server_mb": round(target.resident_bytes() / 1e6, 1),
        }


async def _type_into(documents: list[list[BenchEditor]]) -> list[float]:
    """Seconds from the key to each other editor's text."""
    took: list[float] = []

    async def arrive(editor: BenchEditor, words: str, began: float) -> None:
        await editor.until(lambda: str(editor.text).endswith(words))
        took.append(time.perf_counter() - began)

    async def write(number: int, editors: list[BenchEditor]) -> None:
        start = anyio.current_time() + PERIOD_S * number / len(documents)
        for round_number in range(ROUNDS):
            await anyio.sleep_until(start + PERIOD_S * round_number)
            words = f" w{round_number};"
            async with anyio.create_task_group() as readers:
                began = time.perf_counter()
                for it in editors[1:]:
                    readers.start_soon(arrive, it, words, began)
                await editors[0].type(words)

    async with anyio.create_task_group() as writers:
        for number, editors in enumerate(documents):
            writers.start_soon(write, number, editors)
    return took


@asynccontextmanager
async def pecia(home: Path) -> AsyncGenerator[LiveTarget]:
    command = [sys.executable, "-m", "bench.wiki_live", "serve", str(home)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        url = ""
        while "\n" not in url:
            url += (await process.stdout.receive()).decode()
        base = url.strip().replace("http", "ws", 1)
        yield LiveTarget(process, lambda it: f"{base}/collab/n{it}?space=notes", is_filled=True)
        assert process.stdin is not None
        await process.stdin.aclose()
        await process.wait()


@asynccontextmanager
async def peer(python: str) -> AsyncGenerator[LiveTarget]:
    port = 8765
    async with await anyio.open_process(
        [python, "-c", PEER_SERVER, str(port)], stderr=None
    ) as process:
        base = f"ws://127.0.0.1:{port}"
        with anyio.fail_after(PATIENCE_S):
            while True:
                try:
                    await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
                    break
                except OSError:
                    await anyio.sleep(0.1)
        yield LiveTarget(process, lambda it: f"{base}/n{it}", is_filled=False)
        process.terminate()


async def serve(home: Path) -> None:
    """Pecia, until standard input ends."""
    folder = home / "notes"
    folder.mkdir()
    for it in range(DOCUMENTS + 1):
        (folder / f"n{it}.md").write_text(TEXT, encoding="utf-8")
    flags = {"home": str(home / "pecia"), "wiki.user_file": str(home / "config.yml")}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        owner = await app.authenticate(None, CONTEXT)
        await app.call(owner, "add_space", {"folder": str(folder)}, CONTEXT)  # pyright: ignore[reportArgumentType] - the owner of a local install
        async with serve_http(app, port=0, mounts=(), instance="bench") as address:
            print(address.url, flush=True)
            await anyio.to_thread.run_sync(sys.stdin.read)


async def run(home: Path) -> dict[str, Any]:
    shape = {"documents": DOCUMENTS, "editors": EDITORS, "text_kb": len(TEXT) // 1000}
    figures: dict[str, Any] = {**shape, "updates_per_s": DOCUMENTS / PERIOD_S}
    async with pecia(home) as target:
        figures["pecia"] = await measure(target)
    python = os.environ.get(PEER)
    if python is None:
        return {**figures, "pycrdt-websocket": f"not measured: {PEER} names no Python"}
    async with peer(python) as target:
        figures["pycrdt-websocket"] = await measure(target)
    return figures


def main() -> Path:
    with tempfile.TemporaryDirectory(prefix="pecia-bench-") as home:
        # PostgreSQL runs as another user where we are root.
        Path(home).chmod(0o755)
        return result.write("wiki-live", anyio.run(run, Path(home)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        anyio.run(serve, Path(sys.argv[2]))
    else:
        print(main())

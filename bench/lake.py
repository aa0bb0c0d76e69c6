"""Search over MCP, by a client in a process of its own: both modes, idle and under writes.

`python -m bench.lake 1 [FOLDER]` searches a million chunks; they are those of `bench.search`.
"""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync

from bench import result
from bench.search import (
    BUSY,
    QUERIES,
    SQL,
    SearchBench,
    Sizes,
    Table,
    Times,
    ground,
    home_at,
    other_queries,
    queries,
    rounds,
    sizes_at,
    static,
    texts_folder,
    writing,
)
from pecia.app import app as app_module
from pecia.interfaces.http.server import LOOP_OPTIONS, freeze_gc, serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import UpstreamError
from pecia.kernel.identity import pat
from pecia.kernel.settings.load import load_settings

TARGETS = {"lexical_p50_ms": 8, "hybrid_p50_ms": 20, "p95_to_p50": 4, "busy_to_quiet": 2}


async def run(home: Path, texts: Path, sizes: Sizes) -> dict[str, Any]:
    async with ground(home, texts, sizes) as made:
        chunks = sizes.asked_files * sizes.chunks
        words, others = queries(texts, chunks), other_queries(texts, chunks)
        found: dict[str, Any] = {"chunks": chunks, "queries": len(words), "targets": TARGETS}
        table = Table(static(texts), [*words, *others])
        async with served(made, home, table) as port:
            with closing(ClientProcess()) as asker:
                tokens = {name: await token(made, name) for name in made.callers}
                await run_sync(asker.measured, port, tokens["100%"], others)
                for name in BUSY:
                    await run_sync(asker.measured, port, tokens[name], others[:QUERIES])
                found |= await in_turn(asker, port, tokens, words)
                with writing(home, made.asking) as rate:
                    busy = await in_turn(asker, port, tokens, words)
            found |= {f"{name}, while files are written": it for name, it in busy.items()}
            found["files_written_per_s"] = rate.pop()
        return found


async def in_turn(
    asker: "ClientProcess", port: int, tokens: Mapping[str, str], words: Sequence[str]
) -> dict[str, Any]:
    times = Times()
    for part in rounds(words):
        for name in BUSY:
            took = await run_sync(asker.measured, port, tokens[name], part)
            for mode, it in took.items():
                times.add(name, mode, it)
    return times.told()


@asynccontextmanager
async def served(made: SearchBench, home: Path, known: Table) -> AsyncGenerator[int]:
    """A server on that home, whose embedder is the table."""

    @asynccontextmanager
    async def table(*_: object) -> AsyncGenerator[Table]:
        yield known

    app_module.open_embedder = table
    flags = {
        "home": str(home),
        "mode": "server",
        "database_url": made.logins.app,
        "database_owner_url": made.logins.owner,
        "database_system_url": made.logins.system,
        "principal_rate_per_s": "100000",
        "principal_burst": "100000",
        "address_rate_per_s": "100000",
        "address_burst": "100000",
    }
    settings = load_settings(
        app_module.SETTINGS, flags=flags, environ={}, project_file=None, user_file=None
    )
    async with (
        app_module.open_app(settings, fetch=no_fetch, report=print) as app,
        serve_http(app, port=0, mounts=[mount_mcp], instance="bench") as where,
    ):
        freeze_gc()
        yield int(where.url.rpartition(":")[2])


async def no_fetch(url: str) -> bytes:
    raise UpstreamError(f"the bench has no way to {url}")


async def token(made: SearchBench, name: str) -> str:
    """A token of a caller who sees that fraction."""
    text = pat.mint()
    credential = made.callers[name].credential_id
    await made._ask(SQL["give_token"], id=credential, hash=pat.check(text))  # pyright: ignore[reportPrivateUsage] - the bench beside it.
    return text


class ClientProcess:
    """The client's process. It is waited for: call it in a thread."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "bench.serving.lake_client"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def measured(self, port: int, token: str, words: Sequence[str]) -> dict[str, list[float]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([port, token, words]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate("")


def main(scale: float = 0.1, kept: str | None = None) -> Path:
    with home_at(kept) as home:
        figures = anyio.run(
            run, home, texts_folder(), sizes_at(scale), backend_options=LOOP_OPTIONS
        )
    return result.write(f"lake-{figures['chunks']}", figures)


if __name__ == "__main__":
    print(main(float(sys.argv[1]), *sys.argv[2:3]) if len(sys.argv) > 1 else main())

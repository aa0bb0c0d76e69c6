"""The process that runs models for everybody in a home. Real processes and sockets."""

import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import numpy as np
import psutil
import pytest

from pecia.adapters.embedding.model_client import SharedEmbedder
from pecia.adapters.embedding.model_files import find_shipped_model, load_model_files
from pecia.adapters.embedding.model_listener import model_process
from pecia.adapters.embedding.model_wire import SOCKET
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.kernel.errors import Unavailable

pytestmark = pytest.mark.anyio

ODD = ["A bike is a vehicle.", "", "A lone surrogate: \ud800"]
TEXTS = [*ODD, *(f"number {it}" for it in range(40))]


def running() -> list[psutil.Process]:
    """The processes that run models, started by this one."""
    return [
        it
        for it in psutil.Process().children()
        if it.status() != psutil.STATUS_ZOMBIE and "model_process" in " ".join(it.cmdline())
    ]


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # The path of a socket is short.
    return tmp_path_factory.mktemp("h")


@asynccontextmanager
async def serving(home: Path) -> AsyncGenerator[SharedEmbedder]:
    async with model_process(home, {"PATH": os.defpath}):
        embedder = SharedEmbedder(find_shipped_model(), home, threads=1)
        yield embedder
        await embedder.close()


async def test_vectors_are_those_of_a_model_in_this_process(home: Path) -> None:
    own = OnnxEmbedder(find_shipped_model(), threads=1)
    async with serving(home) as embedder:
        assert running() == []
        assert np.array_equal(await embedder.embed(TEXTS), await own.embed(TEXTS))
        assert np.array_equal(await embedder.embed(TEXTS[:1]), await own.embed(TEXTS[:1]))
        assert (await embedder.embed([])).shape == (0, await own.dimension())
        assert await embedder.dimension() == await own.dimension()
        assert len(running()) == 1
    assert running() == []
    assert not (home / SOCKET).exists()


async def test_two_ask_one_process(home: Path) -> None:
    async with serving(home) as embedder:
        other = SharedEmbedder(find_shipped_model(), home, threads=1)
        async with anyio.create_task_group() as tasks:
            for it in (embedder, other, embedder):
                tasks.start_soon(it.embed, TEXTS)
        assert len(running()) == 1
        await other.close()


async def test_without_a_process_the_model_runs_here(home: Path) -> None:
    embedder = SharedEmbedder(find_shipped_model(), home, threads=1)
    assert (await embedder.embed(["a"])).shape == (1, 384)
    # One that was killed leaves its socket behind.
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(home / SOCKET))
    left.close()
    assert (await embedder.embed(["a"])).shape == (1, 384)
    async with serving(home) as shared:
        assert (await shared.embed(["a"])).shape == (1, 384)
        assert len(running()) == 1


SILENT = """
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
taken = [listener.accept()] if sys.argv[2] == "accepts" else []
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["accepts", "does not accept"])
async def test_a_process_that_never_answers_is_given_up(home: Path, how: str) -> None:
    command = [sys.executable, "-c", SILENT, str(home / SOCKET), how]
    async with await anyio.open_process(command) as silent:
        try:
            assert silent.stdout is not None
            assert (await silent.stdout.receive()).startswith(b"listening")
            embedder = SharedEmbedder(
                find_shipped_model(), home, threads=1, answer_s=0.1, text_s=0.0
            )
            with pytest.raises(Unavailable, match="has not answered for"):
                await embedder.embed(TEXTS)
            await embedder.close()
        finally:
            silent.kill()


async def test_a_path_too_long_for_a_socket_is_no_failure(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 40)
    home.mkdir()
    async with serving(home) as embedder:
        assert (await embedder.embed(["a"])).shape == (1, 384)
        assert running() == []


async def test_a_killed_process_is_started_again(home: Path) -> None:
    async with serving(home) as embedder:
        before = await embedder.embed(["a"])
        [first] = running()
        first.kill()
        first.wait(10)
        assert np.array_equal(await embedder.embed(["a"]), before)
        [second] = running()
        assert second.pid != first.pid


async def test_it_ends_when_nobody_is_connected_and_comes_back(home: Path) -> None:
    async with serving(home) as embedder:
        await embedder.embed(["a"])
        [first] = running()
        await embedder.close()
        await anyio.to_thread.run_sync(first.wait, 30)
        assert (await embedder.embed(["a"])).shape == (1, 384)


async def test_a_cancelled_call_leaves_the_next_its_own_answer(home: Path) -> None:
    async with serving(home) as embedder:
        expected = await embedder.embed(["the next"])
        with anyio.move_on_after(0.001):
            await embedder.embed(TEXTS * 4)
        assert np.array_equal(await embedder.embed(["the next"]), expected)


async def test_a_file_that_is_no_model_fails_as_it_does_here(home: Path, tmp_path: Path) -> None:
    shipped = find_shipped_model()
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    files = load_model_files(broken, shipped.tokenizer, max_tokens=8, language="")
    async with model_process(home, {"PATH": os.defpath}):
        told: list[Unavailable] = []
        shared = SharedEmbedder(files, home)
        for it in (shared, OnnxEmbedder(files)):
            with pytest.raises(Unavailable) as failed:
                await it.embed(["a"])
            told.append(failed.value)
        await shared.close()
    assert told[0].payload() == told[1].payload()

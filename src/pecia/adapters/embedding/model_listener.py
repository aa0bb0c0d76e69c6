"""Starts the process that runs models whenever somebody connects: the server's part.

The socket is bound here and stays open here, so nobody who connects is ever lost: not while the
process starts, not when it ends by itself, not when it is killed.
"""

import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from pecia.adapters.embedding.model_wire import SOCKET
from pecia.kernel.logs import Log

log = Log(__name__)

_MODULE = "pecia.adapters.embedding.model_process"
# A process that cannot start is not started again at once, for the same connection.
PAUSE_S = 1.0
BACKLOG = 16


@asynccontextmanager
async def model_process(home: Path, env: Mapping[str, str]) -> AsyncGenerator[None]:
    """While the block runs, whoever connects to the socket of this home reaches the models.

    Where there can be no such socket, everybody runs models of their own.
    """
    path = home / SOCKET
    listener = _bind(path)
    if listener is None:
        yield
        return
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run_on_demand, listener, env)
            yield
            tasks.cancel_scope.cancel()
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def _bind(path: Path) -> socket.socket | None:
    if not hasattr(socket, "AF_UNIX"):
        return None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The server holds this home: what is there is from one that was killed.
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError as error:
        # A path that is too long, or a file system without sockets.
        log.info("no model process", reason=str(error))
        listener.close()
        return None
    return listener


async def _run_on_demand(listener: socket.socket, env: Mapping[str, str]) -> None:
    while True:
        await anyio.wait_readable(listener)
        try:
            code = await _wait(await _start(listener, env))
        except OSError as error:
            # No memory or no process left: the server goes on, and tries again.
            log.warning("model process", reason=str(error))
            await anyio.sleep(PAUSE_S)
            continue
        if code:
            log.error("model process", exit_code=code)
            await anyio.sleep(PAUSE_S)


async def _start(listener: socket.socket, env: Mapping[str, str]) -> Process:
    return await anyio.open_process(
        # -P: a package of our name in the current folder is not ours.
        [sys.executable, "-P", "-m", _MODULE],
        stdin=listener.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**env, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"},
        # Ctrl-C in the terminal is for the server.
        start_new_session=True,
    )


async def _wait(process: Process) -> int:
    try:
        return await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            # It holds nothing that a kill could lose.
            with suppress(ProcessLookupError):
                process.kill()
            await process.aclose()

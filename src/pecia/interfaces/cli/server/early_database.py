"""Starts the embedded PostgreSQL in a process of its own, while this one is still importing."""

import os
import resource
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from pecia.kernel.settings.kernel import KernelSettings


@contextmanager
def database_started_early(
    settings: KernelSettings, report: Callable[[str], None]
) -> Generator[None]:
    """While the block runs, another process holds the database of this home, so that it need not
    be waited for. What fails there is done again, and reported, by whoever opens it.

    Does nothing for an operator's own PostgreSQL, and where forking is not safe.
    """
    is_safe = sys.platform == "linux" and threading.active_count() == 1
    if settings.database_url is not None or not is_safe:
        yield
        return
    waits, release = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    # Twice: the holder is nobody's child, and leaves nothing to reap.
    first = os.fork()
    if first == 0:
        if os.fork() == 0:
            os.close(release)
            _hold_database(settings.home, settings.keeper_grace_s, waits, report)
        os._exit(0)
    os.close(waits)
    os.waitpid(first, 0)
    try:
        yield
    finally:
        os.close(release)


def _hold_database(
    home: Path, grace_s: float, waits: int, report: Callable[[str], None]
) -> NoReturn:
    """Everything that the holder does; it ends when the other end of the pipe is closed."""
    try:
        # Ctrl-C in the terminal is for the server; its end closes the pipe.
        os.setsid()
        os.dup2(waits, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        import anyio

        from pecia.kernel.store.cluster import ClusterOptions, open_cluster

        async def hold() -> None:
            options = ClusterOptions(grace_s=grace_s)
            async with await open_cluster(home, report=report, options=options):
                os.read(0, 1)

        anyio.run(hold)
    except BaseException:  # noqa: BLE001 - the server opens it again, and reports.
        pass
    finally:
        os._exit(0)

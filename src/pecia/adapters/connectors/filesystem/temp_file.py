"""A file for as long as an original is needed on this machine. Made and removed off the event loop.

One file, not a folder with a file in it: on a busy disk a folder costs milliseconds to remove.
"""

import os
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync


@asynccontextmanager
async def temp_file(fill: Callable[[Path], None] | None = None) -> AsyncGenerator[Path]:
    """A new file, filled in a thread by `fill` where it is given, and gone afterwards."""
    path = await run_sync(_create, fill)
    try:
        yield path
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(partial(path.unlink, missing_ok=True))


def _create(fill: Callable[[Path], None] | None) -> Path:
    handle, name = tempfile.mkstemp(prefix="pecia-original-")
    os.close(handle)
    path = Path(name)
    if fill is not None:
        try:
            fill(path)
        except BaseException:
            path.unlink()
            raise
    return path

"""A parent with a worker child that only lives, and says so in a file. Run by test_worker_child.py.

`worker_parent.py parent FOLDER HOW` keeps a child: a plain `child`, a `signalled` one without a
pipe to its parent, a `piped` one on a system without death signals, or a `stubborn` one that does
not end when asked.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from pecia.kernel.jobs.worker_process import become_child, supervise_worker


def live(how: str, folder: Path) -> None:
    if how == "signalled":
        os.dup2(os.pipe()[0], 0)
    if how == "piped":
        sys.platform = "elsewhere"
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    become_child()
    write(folder / "alive", f"{os.getpid()} {os.nice(0)}")
    signal.pause()


def write(path: Path, text: str) -> None:
    """Whole or not at all, since somebody waits for it."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").rename(path)


async def keep(how: str, folder: str) -> None:
    command = [sys.executable, __file__, how, folder]
    await supervise_worker(command, dict(os.environ), lambda said: None)


if __name__ == "__main__":
    if sys.argv[1] == "parent":
        anyio.run(keep, sys.argv[3], sys.argv[2])
    else:
        live(sys.argv[1], Path(sys.argv[2]))

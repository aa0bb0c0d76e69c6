"""A parent with a worker child that only lives, and says so in a file. Run by test_worker_child.py.

`worker_parent.py parent FOLDER HOW` keeps a child: a plain `child`, a `signalled` one without a
pipe to its parent, a `piped` one on a system without death signals, or a `stubborn` one that does
not end when asked. `worker_parent.py forked FOLDER` forks its first child, `worker_parent.py
waiting FOLDER` forks one that never has its turn.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from pecia.kernel.jobs.worker_process import (
    ForkedWorker,
    become_child,
    fork_worker,
    supervise_worker,
)


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


def say_alive(folder: Path) -> None:
    """The work of a child that was forked."""
    facts = f"{os.getpid()} {os.nice(0)}"
    write(folder / "descriptors", " ".join(sorted(os.listdir("/proc/self/fd"))))  # noqa: PTH208
    write(folder / "alive", facts)
    signal.pause()


async def keep_forked(first: ForkedWorker, folder: str) -> None:
    command = [sys.executable, __file__, "child", folder]
    await supervise_worker(command, dict(os.environ), lambda said: None, first=first)


def fork(folder: Path, *, begins: bool) -> None:
    first = fork_worker(lambda: say_alive(folder))
    assert first is not None
    if begins:
        anyio.run(keep_forked, first, str(folder))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    write(folder / "waiting", children)
    first.discard()
    write(folder / "left", Path(f"/proc/self/task/{os.getpid()}/children").read_text() or "none")


if __name__ == "__main__":
    if sys.argv[1] == "parent":
        anyio.run(keep, sys.argv[3], sys.argv[2])
    elif sys.argv[1] in ("forked", "waiting"):
        fork(Path(sys.argv[2]), begins=sys.argv[1] == "forked")
    else:
        live(sys.argv[1], Path(sys.argv[2]))

"""The worker child of local mode: started again when it crashes, gone when its parent is."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from pecia.kernel.jobs.worker_process import (
    NICENESS,
    RestartBackoff,
    supervise_worker,
    worker_command,
)
from tests.faults import worker_parent

pytestmark = [pytest.mark.anyio, pytest.mark.fault]

SCRIPT = str(Path(worker_parent.__file__))
BRIEF = RestartBackoff(first_s=0.01, max_s=0.04, reset_after_s=60, grace_s=0.2)


async def child_in(folder: Path) -> psutil.Process:
    """The child, once it has said that it lives."""
    with anyio.fail_after(30):
        while True:
            if (folder / "alive").exists():
                break
            await anyio.sleep(0.02)
    pid, niceness = (folder / "alive").read_text(encoding="utf-8").split()
    # 19 is as nice as a process can be, and the tests may be run nicely too.
    assert int(niceness) == min(os.nice(0) + NICENESS, 19)
    return psutil.Process(int(pid))


async def gone(process: psutil.Process) -> None:
    with anyio.fail_after(30):
        await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has death signals")


@pytest.mark.parametrize("how", [pytest.param("signalled", marks=only_linux), "piped"])
async def test_a_child_dies_with_its_parent(tmp_path: Path, how: str) -> None:
    parent = await anyio.open_process([sys.executable, SCRIPT, "parent", str(tmp_path), how])
    async with parent:
        child = await child_in(tmp_path)
        parent.kill()
        try:
            await gone(child)
        finally:
            with suppress(psutil.NoSuchProcess):
                child.kill()


@pytest.mark.parametrize("how", ["child", "stubborn"])
async def test_a_child_is_stopped_with_its_supervision(tmp_path: Path, how: str) -> None:
    command = [sys.executable, SCRIPT, how, str(tmp_path)]

    async def keep() -> None:
        await supervise_worker(command, dict(os.environ), lambda said: None, pauses=BRIEF)

    children: list[psutil.Process] = []
    async with anyio.create_task_group() as group:
        group.start_soon(keep)
        children.append(await child_in(tmp_path))
        group.cancel_scope.cancel()
    assert [it.is_running() for it in children] == [False]


async def test_a_child_that_crashes_is_started_again_after_longer_and_longer_pauses() -> None:
    said: list[str] = []
    enough = anyio.Event()

    def hear(line: str) -> None:
        said.append(line)
        if len(said) == 4:
            enough.set()

    async def keep() -> None:
        command = [sys.executable, "-c", "raise SystemExit(3)"]
        await supervise_worker(command, dict(os.environ), hear, pauses=BRIEF)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(keep)
            await enough.wait()
            group.cancel_scope.cancel()
    assert said == [
        f"The worker ended with 3; it restarts in {pause} s."
        for pause in ("0.01", "0.02", "0.04", "0.04")
    ]


async def test_a_child_that_is_killed_is_followed_by_another(tmp_path: Path) -> None:
    command = [sys.executable, SCRIPT, "child", str(tmp_path)]

    async def keep() -> None:
        await supervise_worker(command, dict(os.environ), lambda said: None, pauses=BRIEF)

    async with anyio.create_task_group() as group:
        group.start_soon(keep)
        first = await child_in(tmp_path)
        (tmp_path / "alive").unlink()
        first.kill()
        second = await child_in(tmp_path)
        assert second.pid != first.pid
        group.cancel_scope.cancel()


@only_linux
async def test_a_forked_child_keeps_nothing_of_its_parent_and_dies_with_it(tmp_path: Path) -> None:
    parent = await anyio.open_process([sys.executable, SCRIPT, "forked", str(tmp_path)])
    async with parent:
        child = await child_in(tmp_path)
        # Its own three, and the one by which it looked.
        assert (tmp_path / "descriptors").read_text() == "0 1 2 3"
        assert child.ppid() == parent.pid
        parent.kill()
        await gone(child)


@only_linux
async def test_a_forked_child_that_is_killed_is_followed_by_a_program(tmp_path: Path) -> None:
    parent = await anyio.open_process([sys.executable, SCRIPT, "forked", str(tmp_path)])
    async with parent:
        first = await child_in(tmp_path)
        (tmp_path / "alive").unlink()
        first.kill()
        second = await child_in(tmp_path)
        assert second.cmdline()[-2:] == ["child", str(tmp_path)]
        parent.kill()
        await gone(second)


@only_linux
async def test_a_forked_child_whose_turn_never_comes_ends_with_nothing_done(tmp_path: Path) -> None:
    done = await anyio.run_process([sys.executable, SCRIPT, "waiting", str(tmp_path)])
    assert done.returncode == 0
    assert (tmp_path / "waiting").read_text().split()
    assert (tmp_path / "left").read_text() == "none"
    assert not (tmp_path / "alive").exists()


def test_the_command_is_the_worker_of_this_python() -> None:
    assert worker_command("/usr/bin/python3") == [
        "/usr/bin/python3",
        "-P",
        "-m",
        "pecia",
        "worker",
        "--child",
    ]

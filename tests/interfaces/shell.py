"""A shell with a home of its own: runs `pecia` as people do, in a process."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio

from pecia.interfaces.cli.server.lock import ServerLock, home_lock_path, read_lock
from pecia.kernel.store.cluster import cluster_status, open_cluster
from tests.database import scratch
from tests.warm.start import pecia

LIMIT_S = 50


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Everything on stdout, which must be exactly one JSON document."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Shell:
    """Where commands run, and with which environment."""

    root: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    is_warm: bool = True
    """Whether commands are forked from a process that has the program. A new process finds what is
    installed on the path of its environment."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def lock(self) -> ServerLock:
        """What the home says of its server."""
        found = read_lock(home_lock_path(self.home))
        assert found is not None
        return found

    def folder(self, name: str) -> Path:
        """A folder to serve."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def run(self, *words: object, stdin: str = "", env: Mapping[str, str] | None = None) -> Done:
        """One command, until it ends."""
        done = subprocess.run(
            pecia(*words) if self.is_warm else [sys.executable, "-m", "pecia", *map(str, words)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env=self._environment(env),
            cwd=self.root,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: object, stdin: str = "", env: Mapping[str, str] | None = None) -> Done:
        """One command that must succeed."""
        done = self.run(*words, stdin=stdin, env=env)
        assert done.code == 0, done.err
        return done

    @contextmanager
    def foreground(self, *words: object) -> Generator["subprocess.Popen[str]"]:
        """A command that goes on running. Killed at the end, should it still be there."""
        with self._popen("-m", "pecia", *words) as process:
            yield process

    @contextmanager
    def program(self, source: str, *words: object) -> Generator["subprocess.Popen[str]"]:
        """The same for a program that is given as its source."""
        with self._popen("-c", source, *words) as process:
            yield process

    @contextmanager
    def _popen(self, *words: object) -> Generator["subprocess.Popen[str]"]:
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment(),
            cwd=self.root,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def _environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "PECIA_HOME": str(self.home),
            "PECIA_KEEPER_GRACE_S": "0.5",
        }
        return {**own, **self.env, **(env or {})}


@contextmanager
def opened_shell(env: Mapping[str, str] | None = None, *, is_warm: bool = True) -> Generator[Shell]:
    """A shell whose server and whose cluster are gone afterwards."""
    root = scratch() / f"pecia-cli-{uuid4().hex[:12]}"
    root.mkdir(mode=0o755)
    shell = Shell(root, env or {}, is_warm)
    try:
        yield shell
    finally:
        if lock := read_lock(home_lock_path(shell.home)):
            shell.run("stop")
            end_process(lock.pid)
        if shell.home.exists():
            anyio.run(_remove_cluster, shell.home)
        shutil.rmtree(root)


def pecia_at(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """One command in a folder that is all it knows: its home lies below."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PECIA_HOME": str(home / "pecia")}
    return subprocess.run(
        pecia(*words),
        env=environ,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def end_process(pid: int) -> None:
    """Kill, if it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


async def _remove_cluster(home: Path) -> None:
    """Root's clusters lie outside the home."""
    if (await cluster_status(home)).state == "absent":
        return
    cluster = await open_cluster(home, report=lambda _: None)
    await cluster.stop()
    shutil.rmtree(cluster.root)

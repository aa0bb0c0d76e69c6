"""`pecia` for tests that run many commands: started by a process that has read the program already.

Reading the program takes more than a second of a processor, a fork of it nearly none. What runs is
a process all the same, with the environment, folder, streams and exit code of whoever started it.
Tests of how a process begins or is killed start one of their own.
"""

import atexit
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

RELAY = Path(__file__).parent / "relay.py"
ROOT = Path(__file__).parents[2]


def pecia(*words: object) -> list[str]:
    """The command that does what `python -m pecia` with these words does."""
    return module("pecia", *words)


def module(name: str, *words: object) -> list[str]:
    """The same for any module that can be run."""
    return relayed(_door(), name, *words)


def relayed(door: Path, name: str, *words: object) -> list[str]:
    """The command that asks whoever listens there to run a module."""
    return [sys.executable, "-I", "-S", str(RELAY), str(door), name, *map(str, words)]


@cache
def _door() -> Path:
    """Where the process of this run of the tests listens. It ends when this one does."""
    folder = Path(tempfile.mkdtemp(prefix="pecia-warm-"))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm.process", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        # As bare as tests make it: the encoding of the streams is decided at the start.
        env={"PATH": os.environ["PATH"]},
    )
    atexit.register(process.communicate)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return folder / "door"

"""Programs of others that the tests drive us with, as far as they are installed in `.tools/`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import pytest

from scripts.node import EVERY_TOOL, TOOLS, is_there, node

PROGRAMS = Path(__file__).parent / "programs"
LIMIT_S = 110


def needs(*names: str) -> pytest.MarkDecorator:
    """Leave a test out, and say so, where a tool could not be installed."""
    missing = [it.name for it in EVERY_TOOL if it.name in names and not is_there(it)]
    return pytest.mark.skipif(bool(missing), reason=f"`make tools` has no {', '.join(missing)}")


async def run(words: Sequence[str | Path], cwd: Path) -> CompletedProcess[str]:
    """Run a program to its end, within the limit."""
    with anyio.fail_after(LIMIT_S):
        done = await anyio.run_process([str(it) for it in words], check=False, cwd=cwd)
    return CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


async def script(name: str, *words: str, cwd: Path) -> CompletedProcess[str]:
    """Run one of our small programs with somebody's JavaScript client."""
    # Modules are looked for beside the program, so it is put beside them.
    place = TOOLS / "clients" / name
    place.write_text((PROGRAMS / name).read_text("utf-8"), "utf-8")
    return await run([node(), place, *words], cwd)


async def python(venv: str, name: str, *words: str, cwd: Path) -> CompletedProcess[str]:
    """Run one of our small programs with somebody's Python client."""
    return await run([TOOLS / venv / "venv" / "bin" / "python", PROGRAMS / name, *words], cwd)


def shim() -> list[str]:
    """The command of our own shim."""
    return [sys.executable, "-m", "pecia", "mcp"]

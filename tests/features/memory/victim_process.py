"""A process of this folder that is about to be killed, and what it acknowledges."""

import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from pecia.kernel.store.cluster import DatabaseLogins


@contextmanager
def open_victim(
    module: str, logins: DatabaseLogins, home: Path, **more: Any
) -> Generator[tuple[subprocess.Popen[bytes], Iterator[str]]]:
    """The process and its acknowledged texts, as they come; `more` is sent to it as well."""
    given = {
        "owner": logins.owner,
        "app": logins.app,
        "system": logins.system,
        "home": str(home),
        **more,
    }
    command = [sys.executable, "-m", f"tests.features.memory.{module}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
        assert victim.stdin
        assert victim.stdout
        victim.stdin.write(orjson.dumps(given))
        victim.stdin.close()
        yield victim, (it.decode().removeprefix("acked ").rstrip("\n") for it in victim.stdout)

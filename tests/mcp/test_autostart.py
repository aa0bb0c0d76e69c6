"""`pecia mcp` where no server runs: it starts one, which outlives it."""

import json
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from pecia.doors.cli.lock import ServerLock, read_lock, write_folder_lock
from tests.mcp.test_stdio import HELLO, LIST, READY, heard, pecia

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
def place() -> Generator[Path]:
    """A folder that the user of the database may enter, with a project in it."""
    folder = Path(tempfile.mkdtemp(prefix="pecia-shim-"))
    folder.chmod(0o711)
    (folder / "project" / ".pecia").mkdir(parents=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def project(place: Path) -> AsyncGenerator[Path]:
    """The project; a server that was started for it is stopped in the end."""
    yield place / "project"
    await pecia("stop", cwd=place / "project", env=around(place))


def around(place: Path) -> dict[str, str]:
    return {"HOME": str(place), "PECIA_HOME": str(place / "home"), "PECIA_PORT": "0"}


@pytest.mark.requirement(
    "wiki.spawn.absent_lock",
    "wiki.spawn.stale_lock",
    "wiki.spawn.first_call_answers",
    "wiki.spawn.server_outlives_shim",
)
async def test_the_first_call_of_an_editor_is_answered_and_the_server_stays(project: Path) -> None:
    gone = ServerLock("http://127.0.0.1:9", 9, 999_999, "0", "", "nobody", "2026-01-01")
    write_folder_lock(project, gone)
    free = around(project.parent)
    call = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "find_tools", "arguments": {"query": "token"}},
    }
    first = await pecia("mcp", frames=[HELLO, READY, call], cwd=project, env=free)
    assert "make_token" in json.dumps(heard(first))
    lock = read_lock(project / ".pecia" / "server.lock")
    assert lock is not None
    assert lock.instance != "nobody"
    again = await pecia("mcp", frames=[HELLO, READY, LIST], cwd=project, env=free)
    assert lock.url.encode() in again.stderr
    assert heard(again)[1]["result"]["tools"]

"""`pecia mcp` where no server runs: it starts one, which outlives it."""

import json
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from pecia.interfaces.cli.server.lock import ServerLock, read_lock, write_folder_lock
from pecia.interfaces.cli.stdio.project_server import SPAWN_LOG as LOG
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
    return {
        "HOME": str(place),
        "PECIA_HOME": str(place / "home"),
        "PECIA_PORT": "0",
        # However slow the machine of this test is.
        "OK_MCP_SPAWN_TIMEOUT_MS": "100000",
    }


@pytest.mark.requirement(
    "wiki.spawn.absent_lock",
    "wiki.spawn.stale_lock",
    "wiki.spawn.first_call_answers",
    "wiki.spawn.server_outlives_shim",
    "wiki.spawn.stderr_to_log",
    "wiki.spawn.proxies_when_port_known",
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
    assert [it["id"] for it in heard(first)] == [HELLO["id"], call["id"]]
    assert "make_token" in json.dumps(heard(first))
    assert "starting the database" in (project / ".pecia" / LOG).read_text(encoding="utf-8")
    ignored = (project / ".pecia" / ".gitignore").read_text(encoding="utf-8")
    assert {LOG, "server.lock"} <= {*ignored.splitlines()}
    lock = read_lock(project / ".pecia" / "server.lock")
    assert lock is not None
    assert lock.instance != "nobody"
    again = await pecia("mcp", frames=[HELLO, READY, LIST], cwd=project, env=free)
    assert lock.url.encode() in again.stderr
    assert heard(again)[1]["result"]["tools"]


async def test_a_wrong_variable_of_a_session_is_refused_at_the_handshake(project: Path) -> None:
    free = around(project.parent)
    await pecia("mcp", frames=[HELLO], cwd=project, env=free)
    for name, wrong, allowed in (
        ("CIPHER_WORKSPACE_MODE", "sideways", ("'isolated'", "'shared'")),
        ("AGGREGATOR_CONFLICT_RESOLUTION", "explode", ("'prefix'", "'first-wins'", "'error'")),
        ("WORKSPACE_SEARCH_THRESHOLD", "much", ("number",)),
    ):
        env = {**free, name: wrong}
        done = await pecia("mcp", frames=[HELLO, READY, LIST], cwd=project, env=env)
        first = heard(done)[0]
        assert first["id"] == HELLO["id"]
        message = first["error"]["message"]
        assert all(it in message for it in (name, wrong, *allowed)), message
        assert all("error" in it for it in heard(done))


@pytest.mark.requirement(
    "wiki.git.auto_init",
    "wiki.git.default_branch_main",
    "wiki.git.through_the_shim",
    "wiki.git.disclosure_line",
)
async def test_outside_of_projects_the_home_space_is_served_and_gets_the_repository_it_asks_for(
    project: Path,
) -> None:
    (project / ".pecia" / "config.yml").write_text("git:\n  autoInit: true\n", encoding="utf-8")
    # A server that is started knows the file, too, that this command was given.
    config = project.parent / "mine.yml"
    config.write_text(f"port: 0\nmcp_root: wiki\nwiki:\n  home_space: {project}\n", "utf-8")
    env = {name: value for name, value in around(project.parent).items() if name != "PECIA_PORT"}
    words = ("--config", "mine.yml", "mcp")
    done = await pecia(*words, frames=[HELLO, READY, LIST], cwd=project.parent, env=env)
    # Among notifications, which may come before it.
    (listed,) = (it for it in heard(done) if it.get("id") == LIST["id"])
    assert "result" in listed, (listed, done.stderr)
    assert "read_document" in [it["name"] for it in listed["result"]["tools"]], done.stderr
    assert (project / ".git" / "HEAD").read_text(encoding="utf-8") == "ref: refs/heads/main\n"
    told = f"made a git repository in {project}, branch main, since git.autoInit is on\n"
    assert told in (project / ".pecia" / LOG).read_text(encoding="utf-8")


@pytest.mark.requirement("wiki.spawn.failure_shows_stderr")
async def test_a_start_that_failed_is_the_answer_to_the_first_request(project: Path) -> None:
    nobody = {"PECIA_DATABASE_URL": "postgresql://ana@127.0.0.1:9/none?connect_timeout=2"}
    env = {**around(project.parent), **nobody}
    done = await pecia("mcp", frames=[READY, HELLO, LIST], cwd=project, env=env)
    assert done.returncode == 1
    (answer,) = heard(done)
    assert (answer["id"], answer["error"]["data"]["code"]) == (HELLO["id"], "UNAVAILABLE")
    captured = (project / ".pecia" / LOG).read_text(encoding="utf-8").strip()
    assert captured
    assert captured[-200:] in answer["error"]["message"]
    assert "connection to server at" in answer["error"]["message"]
    assert captured[-200:] in done.stderr.decode()

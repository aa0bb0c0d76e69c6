"""The life of a local server, as processes: start, join, status, call, stop, and being killed."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pecia import __version__
from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.server.discover import probe_health
from pecia.interfaces.cli.server.lock import (
    ServerLock,
    folder_lock_path,
    home_lock_path,
    read_lock,
    write_lock,
)
from tests.interfaces.shell import Shell, end_process, opened_shell

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """One home, with a cluster of its own, for all tests of this file."""
    with opened_shell() as made:
        yield made


@pytest.fixture
def notes(shell: Shell) -> Path:
    """A folder that is served, by a server that runs."""
    folder = shell.folder("notes")
    shell.ok("start", folder, "--detach", "--port", 0)
    return folder


def test_start_says_where_the_server_is_and_how_to_wire_a_client(shell: Shell, notes: Path) -> None:
    done = shell.ok("start", notes)
    url = shell.lock.url
    assert done.out.startswith(f"Pecia {__version__} is at {url}\n")
    assert f"claude mcp add --transport http pecia {url}/mcp" in done.out
    assert '{"command": "pecia", "args": ["mcp"]}' in done.out
    assert f"curl {url}/api/v1/lake/list_sources" in done.out


def test_what_start_tells_to_try_works(shell: Shell, notes: Path) -> None:
    assert shell.ok("call", "admin.whoami", "--json").document["tenant"] == "local"
    sources = shell.ok("call", "lake.list_sources", "--json").document["sources"]
    assert "wiki:notes" in [it["source_id"] for it in sources]
    listed = (
        ServerClient(shell.lock.url).request("GET", "/api/v1/lake/list_sources").json()["sources"]
    )
    # Meanwhile the worker may have indexed one of them.
    when = {"last_indexed_at": None, "condition": None, "unread": None}
    assert [it | when for it in listed] == [it | when for it in sources]


def test_the_lock_of_the_folder_points_to_the_server_of_the_home(shell: Shell, notes: Path) -> None:
    lock = read_lock(folder_lock_path(notes))
    assert lock == shell.lock
    assert lock is not None
    assert lock.home == str(shell.home)
    assert probe_health(lock)


def test_a_second_folder_is_added_to_the_server_that_runs(shell: Shell, notes: Path) -> None:
    before = shell.lock
    second = shell.folder("second")
    document = shell.ok("start", second, "--json").document
    assert document["instance"] == before.instance
    assert document["space"]["source_id"] == "wiki:second"
    assert read_lock(folder_lock_path(second)) == before == shell.lock


def test_the_same_folder_is_one_space_however_often_it_is_started(
    shell: Shell, notes: Path
) -> None:
    first = shell.ok("start", notes, "--json").document["space"]
    again = shell.ok("start", notes, "--json").document["space"]
    assert first == again
    assert again["added"] is False


def test_folders_of_one_name_are_spaces_of_two_names(shell: Shell, notes: Path) -> None:
    other = shell.ok("start", shell.folder("elsewhere/notes"), "--json").document["space"]
    assert other["source_id"] == "wiki:notes-2"


def test_a_port_asked_of_a_server_that_runs_already_is_said_to_have_no_effect(
    shell: Shell, notes: Path
) -> None:
    done = shell.ok("start", notes, "--port", 1)
    assert "--port has no effect" in done.err


def test_status_tells_of_the_server_the_database_and_the_worker(shell: Shell, notes: Path) -> None:
    document = shell.ok("status", "--json").document
    assert document["running"] is True
    assert (document["url"], document["pid"]) == (shell.lock.url, shell.lock.pid)
    assert document["version"] == __version__
    assert document["database"] == {"kind": "embedded", "state": "running"}
    assert document["checks"]["database"]["ok"] is True
    assert set(document["queue"]) == {"waiting", "running", "failed"}
    assert "alive" in document["worker"]
    assert "bytes" in document["spool"]


def test_a_token_in_the_environment_is_who_asks(shell: Shell, notes: Path) -> None:
    made = shell.ok("token", "make", "from the shell", "--scopes", "pecia.read", "--json").document
    env = {"PECIA_TOKEN": made["token"]}
    me = shell.ok("call", "whoami", "--json", env=env).document
    assert me["credential"] == "pat"
    assert me["scopes"] == ["pecia.read"]
    refused = shell.run("user", "add", "bo", env=env)
    assert refused.code == 1
    assert "[FORBIDDEN] add_user needs the scope pecia.admin" in refused.err
    shell.ok("token", "revoke", made["id"], "--yes")
    gone = shell.run("call", "whoami", "--json", env=env)
    assert gone.code == 1
    assert gone.document["error"]["code"] == "AUTH_REQUIRED"
    assert "PECIA_TOKEN" in gone.err


def test_a_server_of_another_version_is_told_of(shell: Shell, notes: Path) -> None:
    """The answer of a server is stood in for: it is one of the next release."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        lock = ServerLock(
            url=f"http://127.0.0.1:{port}",
            port=port,
            pid=os.getpid(),
            version="9.9.9",
            home=str(shell.home),
            instance="next",
            started_at="2026-01-01T00:00:00+00:00",
        )
        own = shell.lock
        write_lock(home_lock_path(shell.home), lock)
        try:
            with shell.foreground("status", "--json") as asking:
                body = json.dumps({"version": "9.9.9", "instance": "next", "mode": "local"})
                answer = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
                # Health, readiness, and what it says of its database.
                for _ in range(3):
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(answer)
                out, err = asking.communicate(timeout=30)
        finally:
            write_lock(home_lock_path(shell.home), own)
    assert json.loads(out)["version"] == "9.9.9"
    assert f"is Pecia 9.9.9, this is {__version__}" in err


def test_stop_ends_the_server_and_takes_every_lock_away(shell: Shell, notes: Path) -> None:
    second = shell.folder("second")
    shell.ok("start", second)
    lock = shell.lock
    done = shell.ok("stop", "--json")
    assert done.document["stopped"] is True
    assert probe_health(lock, limit_s=1) is None
    for path in (home_lock_path(shell.home), folder_lock_path(notes), folder_lock_path(second)):
        assert not path.exists()
    assert shell.ok("stop", "--json").document == {"stopped": False}
    assert shell.run("status", "--json").code == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_in_the_foreground_cleanly(
    shell: Shell, number: signal.Signals
) -> None:
    shell.run("stop")
    folder = shell.folder("notes")
    with shell.foreground("start", folder, "--port", 0, "--json") as server:
        document = _first_document(server)
        assert document["pid"] == server.pid
        server.send_signal(number)
        out, err = server.communicate(timeout=30)
    assert server.returncode == 0
    assert out == ""
    assert "Traceback" not in err
    assert not home_lock_path(shell.home).exists()
    assert not folder_lock_path(folder).exists()


def test_without_a_server_a_call_opens_the_database_itself(shell: Shell, notes: Path) -> None:
    served = _listed_sources(shell)
    shell.ok("stop")
    assert _listed_sources(shell) == served
    assert not home_lock_path(shell.home).exists()


@pytest.mark.fault
def test_a_server_that_was_killed_leaves_nothing_in_the_way(shell: Shell, notes: Path) -> None:
    killed = shell.lock
    end_process(killed.pid)
    _gone(killed)
    status = shell.run("status", "--json")
    assert (status.code, status.document["running"]) == (1, False)
    assert not home_lock_path(shell.home).exists()
    document = shell.ok("start", notes, "--detach", "--port", 0, "--json").document
    assert document["instance"] != killed.instance
    assert document["space"]["source_id"] == "wiki:notes"
    assert read_lock(folder_lock_path(notes)) == shell.lock


@pytest.mark.fault
def test_a_lock_whose_pid_belongs_to_another_process_stops_nobody(shell: Shell) -> None:
    shell.run("stop")
    stale = ServerLock(
        url="http://127.0.0.1:9",
        port=9,
        pid=os.getpid(),
        version=__version__,
        home=str(shell.home),
        instance="gone",
        started_at="2026-01-01T00:00:00+00:00",
    )
    write_lock(home_lock_path(shell.home), stale)
    assert shell.ok("stop", "--json").document == {"stopped": False}
    assert not home_lock_path(shell.home).exists()


def test_an_explicit_port_that_is_taken_is_refused_with_its_holder(shell: Shell) -> None:
    shell.run("stop")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = shell.run("start", shell.folder("notes"), "--port", port, "--json")
    assert done.code == 1
    assert done.document["error"]["code"] == "CONFLICT"
    assert f"pid {os.getpid()}" in done.document["error"]["message"]
    assert not home_lock_path(shell.home).exists()


def test_a_default_port_that_is_taken_gives_way_to_the_next(shell: Shell) -> None:
    shell.run("stop")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        busy = Shell(shell.root, {"PECIA_PORT": str(port)})
        with busy.foreground("start", shell.folder("notes"), "--json") as server:
            document = _first_document(server)
            server.send_signal(signal.SIGTERM)
            _, err = server.communicate(timeout=30)
    assert document["port"] != port
    assert f"port {port} is taken by" in err


@pytest.mark.parametrize("folder", ["/", "missing"])
def test_what_is_no_folder_to_serve_is_refused(shell: Shell, folder: str) -> None:
    done = shell.run("start", folder, "--json")
    assert done.code == 1
    assert done.document["error"]["field"] == "folder"


def test_two_starts_at_once_give_one_server(shell: Shell) -> None:
    shell.run("stop")
    folders = [shell.folder("left"), shell.folder("right")]
    with (
        shell.foreground("start", folders[0], "--port", 0, "--detach", "--json") as left,
        shell.foreground("start", folders[1], "--port", 0, "--detach", "--json") as right,
    ):
        outs = [json.loads(it.communicate(timeout=50)[0]) for it in (left, right)]
    assert outs[0]["instance"] == outs[1]["instance"]
    listed = shell.ok("space", "list", "--json").document["spaces"]
    assert {"wiki:left", "wiki:right"} <= {it["source_id"] for it in listed}


def _first_document(process: "subprocess.Popen[str]") -> dict[str, object]:
    """What a server says when it is ready; it ends with a brace in the first column."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] != "}\n":
        line = process.stdout.readline()
        assert line, "it ended before it was ready"
        lines.append(line)
    return json.loads("".join(lines))


def _gone(lock: ServerLock) -> None:
    deadline = time.monotonic() + 10
    while probe_health(lock, limit_s=1) is not None:
        assert time.monotonic() < deadline


def _listed_sources(shell: Shell) -> list[str]:
    document = shell.ok("call", "lake.list_sources", "--json").document
    # When each was last indexed moves on by itself.
    return [it["source_id"] for it in document["sources"]]

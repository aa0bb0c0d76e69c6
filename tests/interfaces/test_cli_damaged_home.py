"""What is damaged or foreign in the home: it stops nobody who can do without it, and the doctor
says where it is and what to do."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from pecia.interfaces.cli.server.lock import home_lock_path
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as opened:
        yield opened


def finding(shell: Shell, check: str) -> dict[str, Any]:
    """What the doctor says of it, once."""
    [found] = [
        it for it in shell.run("doctor", "--json").document["findings"] if it["check"] == check
    ]
    return found


def test_what_only_has_the_name_of_an_audit_file_stops_no_start(shell: Shell) -> None:
    shell.ok("call", "whoami")
    folder = shell.home / "spool" / "7777-cccc.audit"
    folder.mkdir()
    shell.ok("call", "whoami")
    assert folder.is_dir()
    found = finding(shell, "audit spool")
    assert (found["state"], found["advice"]) == ("warn", f"move it away: {folder}")


def test_the_doctor_names_damaged_lines_of_the_audit(shell: Shell) -> None:
    shell.ok("call", "whoami")
    spool = shell.home / "spool"
    (spool / "7777-dddd.audit").write_bytes(b"no line of ours\nnor this\n")
    shell.ok("call", "whoami")
    found = finding(shell, "audit spool")
    assert found["state"] == "warn"
    damaged = f"damaged lines in {spool / 'damaged'}, which are not in the audit log: 2"
    assert found["found"] == damaged
    assert str(spool / "damaged") in found["advice"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 1, "purposes": []}', None])
def test_the_doctor_says_what_to_do_about_a_damaged_key_file(
    shell: Shell, content: bytes | None
) -> None:
    shell.ok("call", "whoami")
    keys = shell.home / "keys.json"
    if content is None:
        keys.unlink()
        keys.mkdir(mode=0o700)
    else:
        keys.write_bytes(content)
    found = finding(shell, "keys")
    assert found["state"] == "fail"
    assert str(keys) in found["found"]
    assert "pecia backup --keys" in found["advice"]
    started = shell.run("call", "whoami")
    assert started.code == 1
    assert str(keys) in started.err
    assert "INTERNAL_ERROR" not in started.err
    assert "pecia doctor" in started.err


needs_unshare = pytest.mark.skipif(
    shutil.which("unshare") is None, reason="read-only mounts need unshare"
)
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "editor", "version": "1"},
        },
    }
)


def on_read_only(shell: Shell, words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """One command that sees the home as a disk that takes nothing."""
    home, here = shell.home, f"{sys.executable} -m pecia {words}"
    script = f"mount --bind {home} {home} && mount -o remount,bind,ro {home} || exit 99; {here}"
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script],
        env={**os.environ, **shell.env, "PECIA_HOME": str(home), "HOME": str(shell.root)},
        cwd=shell.root,
        input=f"{stdin}\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip("a read-only mount is root's to make")
    return done


@needs_unshare
def test_a_home_on_a_disk_that_takes_nothing_is_named_with_the_way_on(shell: Shell) -> None:
    shell.ok("call", "whoami")
    done = on_read_only(shell, "call whoami")
    assert f"{shell.home}/" in done.stderr
    assert "cannot be written: read-only file system" in done.stderr
    assert "PECIA_HOME=/PATH" in done.stderr


@needs_unshare
def test_an_editor_is_told_which_file_of_the_home_cannot_be_written(shell: Shell) -> None:
    shell.ok("call", "whoami")
    shell.folder("notes/.pecia")
    done = on_read_only(shell, "mcp --space notes/", INITIALIZE)
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["data"]["code"] == "UNAVAILABLE", error
    assert f"{shell.home}/" in error["message"]
    assert "cannot be written: read-only file system" in error["message"]
    assert "PECIA_HOME=/PATH" in error["message"]
    assert "cannot be written: read-only file system" in done.stderr


@needs_unshare
def test_a_server_is_found_and_asked_on_a_disk_that_takes_nothing(shell: Shell) -> None:
    shell.ok("start", shell.folder("notes"), "--port", 0, "--detach", "--no-ask")
    status = json.loads(on_read_only(shell, "status --json").stdout)
    assert (status["running"], status["url"]) == (True, shell.lock.url)
    assert on_read_only(shell, "call whoami").returncode == 0
    indexes = on_read_only(shell, "index status --json")
    assert indexes.returncode == 0, indexes.stderr
    assert "indexes" in json.loads(indexes.stdout)
    answer = on_read_only(shell, "mcp", INITIALIZE)
    assert json.loads(answer.stdout)["result"]["serverInfo"]["name"] == "pecia"
    report = on_read_only(shell, "doctor --json")
    findings = {it["check"]: it for it in json.loads(report.stdout)["findings"]}
    assert findings["home"]["state"] == "fail"
    assert "ead-only file system" in findings["home"]["found"]
    assert findings["server"]["state"] == "ok"


@needs_unshare
def test_without_a_server_the_same_disk_is_looked_at_and_left(shell: Shell) -> None:
    shell.ok("start", shell.folder("notes"), "--port", 0, "--detach", "--no-ask")
    lock = home_lock_path(shell.home)
    told = lock.read_bytes()
    shell.ok("stop")
    lock.write_bytes(told)
    done = on_read_only(shell, "status --json")
    assert json.loads(done.stdout)["running"] is False
    assert lock.read_bytes() == told

"""Other users of the same machine: a server that runs as one of them, and calls that others make.

Needs root, which alone can be everybody. The calls are made by a bare Python with sockets: whoever
attacks brings no client of ours.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

OWNER, NEIGHBOUR = pwd.getpwnam("daemon").pw_uid, pwd.getpwnam("nobody").pw_uid
"""Two users that every machine has."""

PATH = "/usr/local/bin:/usr/bin:/bin"

CALLS = r"""
import json, socket, sys
host, port, calls = json.loads(sys.stdin.read())
told = []
for call in calls:
    there = socket.create_connection((host, port), timeout=60)
    body = call.get("body", "").encode()
    name = f"[{host}]" if ":" in host else host
    headers = {"host": f"{name}:{port}", **call.get("headers", {})}
    lines = [f"{call['method']} {call['path']} HTTP/1.1"]
    lines += [f"{key}: {value}" for key, value in headers.items()]
    lines += [f"content-length: {len(body)}"] if body else []
    there.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    if call.get("hangs_up"):
        there.shutdown(socket.SHUT_WR)
    answer = b""
    while b"\r\n\r\n" not in answer and (more := there.recv(65536)):
        answer += more
    head, _, rest = answer.partition(b"\r\n\r\n")
    length = [it for it in head.lower().split(b"\r\n") if it.startswith(b"content-length:")]
    while length and len(rest) < int(length[0].split(b":")[1]) and (more := there.recv(65536)):
        rest += more
    told.append([int(head.split()[1]) if head else 0, rest.decode("utf-8", "replace")])
    there.close()
print(json.dumps(told))
"""


@cache
def others_python() -> str:
    """A Python of our version that other users may run too: ours may lie in root's own folder."""
    named = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for it in (sys.executable, shutil.which(named, path=PATH)):
        with suppress(OSError):
            if it and not subprocess.run([it, "-I", "-c", ""], user=OWNER, check=False).returncode:
                return it
    return ""


def _own_path() -> list[str]:
    """Where our packages are, without what every Python brings itself."""
    return [it for it in sys.path if it and not Path(it).is_relative_to(sys.base_prefix)]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call was answered."""

    status: int
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


def calls_of(
    uid: int, port: int, calls: Sequence[Mapping[str, Any]], host: str = "127.0.0.1"
) -> list[Reply]:
    """The answers to these calls, each over a connection of its own, made as that user."""
    done = subprocess.run(
        [others_python(), "-I", "-S", "-c", CALLS],
        input=json.dumps([host, port, [*calls]]),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        user=uid,
        group=uid,
        extra_groups=[],
        env={},
    )
    assert done.returncode == 0, done.stderr
    return [Reply(*it) for it in json.loads(done.stdout)]


@contextmanager
def served_by(uid: int, root: Path, flags: Mapping[str, str]) -> Generator[int]:
    """The port of a local server that runs as that user."""
    home = Path(flags["home"])
    home.mkdir(parents=True, mode=0o700)
    os.chown(home, uid, uid)
    with (root / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [others_python(), "-m", "tests.interfaces.other_user_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=Path(__file__).parents[2],
            user=uid,
            group=uid,
            extra_groups=[],
            env={"PATH": PATH, "HOME": str(home), "PYTHONPATH": ":".join(_own_path())},
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(dict(flags)).encode() + b"\n")
        process.stdin.flush()
        port = process.stdout.readline()
        assert port, (root / "server.log").read_text()
        yield int(port)
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()

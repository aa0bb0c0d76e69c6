"""A program for a machine with no network: a model, a Pecia and the chat of the guide.

Run with a folder for its own use. It says what the chat answered and what the model was shown.
"""

import fcntl
import json
import socket
import struct
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.interfaces.shell import Shell
from tests.provider import Calls, LoopbackProvider, Says

PROJECT = Path(__file__).parents[2]
QUESTION = "How high is the deposit for a Wherry?"
SEARCH = Calls({"query": "deposit Wherry", "mode": "lexical"}, "search_content")
ANSWER = Says("€500 <see pecia://file/handbook/products/price-list-2026.md>")
_FLAGS_OF, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def main(root: Path) -> None:
    bring_up_loopback()
    shell = Shell(root)
    shell.ok("start", PROJECT / "examples" / "handbook", "--port", "0", "--detach")
    try:
        wait_until_found(shell)
        with LoopbackProvider(SEARCH, ANSWER, SEARCH, ANSWER) as model:
            words = ["--model", "any", "--endpoint", f"{model.url}/v1/"]
            words += ["--pecia", f"{shell.lock.url}/mcp/lake"]
            said = {"terminal": asked(words), "page": asked_on_page(words)}
            shown = [it.body["messages"][-1] for it in model.requests]
    finally:
        shell.ok("stop")
    sys.stdout.write(json.dumps({"said": said, "shown": shown, "interfaces": interfaces()}))


def wait_until_found(shell: Shell) -> None:
    while "price-list" not in shell.ok("call", "search_content", "--query", "Wherry", "--json").out:
        continue


def asked(words: list[str]) -> str:
    command = [sys.executable, PROJECT / "examples" / "chat.py", *words, QUESTION]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def asked_on_page(words: list[str]) -> str:
    with served_page(words) as url:
        form = urllib.parse.urlencode({"question": QUESTION}).encode()
        with urllib.request.urlopen(url, form) as answer:
            return answer.read().decode()


@contextmanager
def served_page(words: list[str]) -> Generator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, PROJECT / "examples" / "chat.py", *words, "--page", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            # It says so when it listens.
            next(line for line in process.stderr if "running on" in line)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.kill()


def bring_up_loopback() -> None:
    """A new namespace has one, and it is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH14s", b"lo", 0, b"")
        flags: int = struct.unpack("16sH14s", fcntl.ioctl(any_socket, _FLAGS_OF, asked))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14s", b"lo", flags | _UP, b""))


def interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

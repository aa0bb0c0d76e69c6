"""Draws docs/pictures/terminal.svg from what the commands really print, beside a running server.

pecia start examples/handbook --detach && python -m scripts.recording
"""

import os
import pty
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "terminal.svg"
WIDTH = 88
COMMANDS = (
    "pecia search stolen bike --limit 1",
    "pecia read runbooks/stolen-bike.md | head -12",
    'pecia remember "Loan bikes are checked on Mondays."',
    "pecia recall when are bikes checked",
)


def main() -> None:
    console = Console(record=True, width=WIDTH, file=StringIO())
    for command in COMMANDS:
        console.print(Text(f"$ {command}", style="bold green"))
        console.print(Text.from_ansi(on_a_terminal(command).rstrip()))
        console.print()
    # Its web fonts would be fetched from elsewhere; any fixed-width one does.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="pecia"), flags=re.DOTALL)
    PICTURE.write_text(drawn, encoding="utf-8")


def on_a_terminal(command: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    shell = shutil.which("sh") or "/bin/sh"
    with subprocess.Popen([shell, "-c", command], stdout=theirs, stderr=theirs, env=env):
        os.close(theirs)
        parts: list[bytes] = []
        while part := _read(ours):
            parts.append(part)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:
        # Linux reports the end of a terminal so.
        return b""


if __name__ == "__main__":
    main()

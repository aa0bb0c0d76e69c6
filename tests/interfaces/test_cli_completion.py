"""Completion as somebody has it who presses the tab key: in bash, zsh and fish, on a terminal."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interfaces.shell import Shell, opened_shell
from tests.warm.start import pecia

pytestmark = pytest.mark.slow

LIMIT_S = 45
BEGIN_OF_LINE, END_OF_LINE = "\x01", "\x05"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(pecia completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -U compinit; compinit -u -D; eval "$(pecia completion zsh)"',
    ),
    "fish": (["fish", "--no-config", "-i"], "pecia completion fish | source"),
}
# A shell that reads a terminal must own it.
AT_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
# What is typed before the tab key, and the words of the line after it.
TYPED = {
    "a command": ("sea", ["search"]),
    "a group's command": ("source cra", ["source", "crawl"]),
    "a flag": ("search --lim", ["search", "--limit"]),
    "a flag of a command that Typer parses": ("start --det", ["start", "--detach"]),
    "a tool": ("call lake.list_s", ["call", "lake.list_sources"]),
    "a tool's flag": ("call lake.search_content --que", ["call", "lake.search_content", "--query"]),
    "a value": ("search --mode lex", ["search", "--mode", "lexical"]),
    "a source": ("source crawl wik", ["source", "crawl", "wiki:notes"]),
    "a source, behind its colon": ("source crawl wiki:no", ["source", "crawl", "wiki:notes"]),
    "a source after a flag": ("search --source wiki:n", ["search", "--source", "wiki:notes"]),
    "an author": ("search --author walt", ["search", "--author", "walter"]),
    "a space": ("space set no", ["space", "set", "notes"]),
    "a user": ("user set walte", ["user", "set", "walter"]),
    "a file, where we know nothing": ("ckf compile wheel", ["ckf", "compile", "wheels.md"]),
}


@pytest.fixture(scope="module")
def served() -> Iterator[Shell]:
    with opened_shell() as shell:
        folder = shell.folder("notes")
        (folder / "wheels.md").write_text("# Wheels\n")
        program = shell.folder("bin") / "pecia"
        program.write_text(f'#!/bin/sh\nexec {" ".join(pecia())} "$@"\n')
        program.chmod(0o755)
        shell.ok("start", folder, "--port", 0, "--detach", "--no-ask")
        shell.ok("user", "add", "walter")
        yield shell


@dataclass(frozen=True, slots=True)
class Keyboard:
    """A shell on a terminal, and what it wrote."""

    terminal: int

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def wait_for(self, wanted: str) -> re.Match[str]:
        """Read until this is there."""
        said, end = "", time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            ready, _, _ = select.select([self.terminal], [], [], 1)
            if ready:
                said += os.read(self.terminal, 65536).decode(errors="replace")
            if found := re.search(wanted, said):
                return found
        raise AssertionError(f"{wanted} did not come: {said!r}")


@contextmanager
def opened(name: str, served: Shell) -> Generator[Keyboard]:
    command, setup = SHELLS[name]
    ours, theirs = pty.openpty()
    env = {
        "PATH": f"{served.root / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(served.root),
        "PECIA_HOME": str(served.home),
        "TERM": "dumb",
        "COLUMNS": "200",
        "LC_ALL": "C.UTF-8",
    }
    with subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, *command],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=served.root / "notes",
    ) as process:
        os.close(theirs)
        keyboard = Keyboard(ours)
        try:
            keyboard.type(f"{setup}; printf '<%s>' ready; echo\n")
            keyboard.wait_for("<ready>")
            yield keyboard
        finally:
            process.kill()
    os.close(ours)


def completed(keyboard: Keyboard, typed: str) -> list[str]:
    """The words of the line after the tab key: printed by the shell itself."""
    keyboard.type(f"pecia {typed}\t{BEGIN_OF_LINE}printf '<%s>' begin {END_OF_LINE} end\n")
    found = keyboard.wait_for(r"<begin><pecia>((?:<[^<>]*>)*?)<end>")
    return re.findall("<([^<>]*)>", found[1])


@pytest.mark.parametrize("name", SHELLS)
def test_the_tab_key_completes_commands_flags_tools_and_names(name: str, served: Shell) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed: make shells")
    with opened(name, served) as keyboard:
        found = {it: completed(keyboard, typed) for it, (typed, _) in TYPED.items()}
    assert found == {it: words for it, (_, words) in TYPED.items()}


def test_each_script_is_one_that_its_shell_can_read(served: Shell, tmp_path: Path) -> None:
    for name in SHELLS:
        script = tmp_path / f"completion.{name}"
        script.write_text(served.ok("completion", name).out)
        if shutil.which(name) is not None:
            done = subprocess.run([name, "-n", str(script)], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, ""), name

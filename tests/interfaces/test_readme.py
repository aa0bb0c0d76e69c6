"""The README, run: every command that it prints for one machine, in its order, as printed."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pecia.app.settings import load_app_settings
from scripts.readme_walk import printed_commands
from tests.interfaces.shell import Shell, opened_shell
from tests.warm.start import pecia

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with opened_shell() as opened:
        handbook = opened.root / "examples" / "handbook"
        shutil.copytree(ROOT / "examples" / "handbook", handbook, ignore=_ours)
        editor = opened.root / "editor"
        editor.write_text('#!/bin/sh\necho "# The first day" > "$1"\n')
        editor.chmod(0o755)
        opened.ok("start", handbook, "--port", 0, "--detach", "--no-ask")
        yield opened


def _ours(folder: str, names: list[str]) -> list[str]:
    return [it for it in names if it == ".pecia"]


@pytest.mark.timeout(300)
def test_every_command_of_the_readme_works_in_the_order_printed(shell: Shell) -> None:
    # Installing is scripts/readme_walk.py's; a team's server is in test_cli_commands.py.
    commands = printed_commands(README)
    assert len(commands) > 15
    program = shell.root / "bin" / "pecia"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(pecia())} "$@"\n')
    program.chmod(0o755)
    for command in commands:
        done = subprocess.run(
            command.replace("http://127.0.0.1:7324", shell.lock.url),
            shell=True,
            env={
                "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(shell.root),
                "PECIA_HOME": str(shell.home),
                "EDITOR": str(shell.root / "editor"),
            },
            cwd=shell.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert done.stdout or command.startswith("mkdir"), command
    page = shell.root / "examples" / "handbook" / "first-day.md"
    assert page.read_text() == "# The first day\n"


def test_the_example_configuration_is_one() -> None:
    file = ROOT / "examples" / "pecia.yml"
    found = load_app_settings(
        flags={"mode": "server"}, environ={}, project_file=None, user_file=file
    )
    assert found.warnings == ()
    assert (found.kernel.port, str(found.kernel.home)) == (7324, "/var/lib/pecia")


def test_every_client_has_a_page_that_the_readme_links() -> None:
    pages = sorted(it.name for it in (ROOT / "docs" / "clients").glob("*.md"))
    assert len(pages) == 10
    assert all(f"(docs/clients/{it})" in README for it in pages)

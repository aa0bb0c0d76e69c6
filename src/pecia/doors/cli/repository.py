"""A git repository for a project that asks for one and is in none. Commits nothing."""

from pathlib import Path

from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import PeciaError

BRANCH = "main"


def ensure_repository(terminal: Terminal, folder: Path) -> None:
    """Make one where `git.autoInit` is on, and say so: nobody is to wonder where it came from."""
    if not _is_wanted(terminal, folder):
        return
    from pecia.adapters.git.making import is_in_repository, make_repository

    if not is_in_repository(folder):
        make_repository(folder, branch=BRANCH)
        terminal.say(
            f"made a git repository in {folder}, branch {BRANCH}, since git.autoInit is on"
        )


def _is_wanted(terminal: Terminal, folder: Path) -> bool:
    from pecia.rooms.wiki.config.files import read_project
    from pecia.rooms.wiki.config.merge import Files, effective
    from pecia.rooms.wiki.config.problem import BadConfig

    try:
        return effective(Files(read_project(folder))).config.git.autoInit
    except BadConfig as error:
        terminal.say(f"warning: git.autoInit is not known: {error.problem.message}")
    except PeciaError as error:
        terminal.say(f"warning: git.autoInit is not known: {error.message}")
    return False

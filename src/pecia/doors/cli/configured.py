"""The settings of one run of a command: flags, environment and the two files, read once."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.settings.account import home_folder

if TYPE_CHECKING:
    from pecia.kernel.settings.layers import Flag
    from pecia.kernel.settings.load import Settings

# Read by commands themselves: it says who asks, and not how the server behaves.
TOKEN = "PECIA_TOKEN"

# The same for the space that a session means.
SPACE = "PECIA_SPACE"


def settled(
    terminal: Terminal,
    flags: "Mapping[str, Flag] | None" = None,
    *,
    folder: Path | None = None,
    around: Mapping[str, str] | None = None,
) -> "Settings":
    """Every setting as it holds in that folder. A file named with --config is the user's file.

    `around` stands in for the environment of this process.
    """
    from pecia.app.settings import SETTINGS
    from pecia.kernel.settings.discover import find_project_file, find_user_file
    from pecia.kernel.settings.load import load

    return load(
        SETTINGS,
        flags=flags or {},
        environ={n: it for n, it in (around or environ()).items() if n not in (TOKEN, SPACE)},
        project_file=find_project_file(folder or Path.cwd(), home=home_folder()),
        user_file=terminal.config or find_user_file(),
    )


def environ() -> Mapping[str, str]:
    """The environment of this process."""
    from pecia.kernel.settings.environment import environment

    return environment()


def token() -> str | None:
    """The token of the person at the keyboard, if one is set."""
    given = environ().get(TOKEN, "").strip()
    if not (given.isascii() and given.isprintable()):
        # Said here, since whoever fails to send it would say what it is.
        raise InvalidFormat(f"{TOKEN} has characters in it that no token has", field=TOKEN)
    return given or None


def warn(terminal: Terminal, settings: "Settings") -> None:
    """Say what is odd about the settings."""
    for warning in settings.warnings:
        terminal.say(f"warning: {warning}")

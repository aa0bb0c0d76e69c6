"""The settings of one run of a command: flags, environment and the two files, read once."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.settings.account import home_folder

if TYPE_CHECKING:
    from pecia.kernel.settings.layers.values import FlagValue
    from pecia.kernel.settings.load import Settings

# Read by commands themselves: it says who asks, and not how the server behaves.
TOKEN_VARIABLE = "PECIA_TOKEN"

# The same for the space that a session means.
SPACE_VARIABLE = "PECIA_SPACE"


def load_settings(
    terminal: Terminal,
    flags: "Mapping[str, FlagValue] | None" = None,
    *,
    folder: Path | None = None,
    around: Mapping[str, str] | None = None,
) -> "Settings":
    """Every setting as it holds in that folder. A file named with --config is the user's file.

    `around` stands in for the environment of this process.
    """
    from pecia.app.settings import SETTINGS
    from pecia.kernel.settings.layers.paths import find_project_file, find_user_file
    from pecia.kernel.settings.load import load_settings

    return load_settings(
        SETTINGS,
        flags=flags or {},
        environ={
            n: it
            for n, it in (around or environ()).items()
            if n not in (TOKEN_VARIABLE, SPACE_VARIABLE)
        },
        project_file=find_project_file(folder or Path.cwd(), home=home_folder()),
        user_file=terminal.config or find_user_file(),
    )


def environ() -> Mapping[str, str]:
    """The environment of this process."""
    from pecia.kernel.settings.layers.environment import read_environment

    return read_environment()


def read_token() -> str | None:
    """The token of the person at the keyboard, if one is set."""
    given = environ().get(TOKEN_VARIABLE, "").strip()
    if not (given.isascii() and given.isprintable()):
        # Said here, since whoever fails to send it would say what it is.
        raise InvalidFormat(
            f"{TOKEN_VARIABLE} has characters in it that no token has", field=TOKEN_VARIABLE
        )
    return given or None


def print_warnings(terminal: Terminal, settings: "Settings") -> None:
    """Say what is odd about the settings."""
    for warning in settings.warnings:
        terminal.info(f"warning: {warning}")

"""The settings of one command: flags, environment and the two files, read once."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.settings.account import home_folder

if TYPE_CHECKING:
    from pecia.kernel.settings.layers.values import FlagValue
    from pecia.kernel.settings.load import Settings

# Read by commands themselves: it identifies the caller, and is no server setting.
TOKEN_VARIABLE = "PECIA_TOKEN"

# The same for the default space of a session.
SPACE_VARIABLE = "PECIA_SPACE"


def load_settings(
    terminal: Terminal,
    flags: "Mapping[str, FlagValue] | None" = None,
    *,
    folder: Path | None = None,
    around: Mapping[str, str] | None = None,
) -> "Settings":
    """Every setting as effective in that folder. A file named with --config is the user's file.

    `around` replaces the environment of this process.
    """
    from pecia.app.settings import load_app_settings
    from pecia.kernel.settings.layers.paths import find_project_file, find_user_file

    return load_app_settings(
        flags=flags or {},
        environ={
            n: it
            for n, it in (around or environ()).items()
            if n not in (TOKEN_VARIABLE, SPACE_VARIABLE)
        },
        project_file=find_project_file(folder or Path.cwd(), home=home_folder()),
        user_file=terminal.config or find_user_file(),
    )


def default_settings() -> "Settings":
    """The settings of nobody: no file, no variable, no flag."""
    from pecia.app.settings import load_app_settings

    return load_app_settings(flags={}, environ={}, project_file=None, user_file=None)


def environ() -> Mapping[str, str]:
    """The environment of this process."""
    from pecia.kernel.settings.layers.environment import read_environment

    return read_environment()


def read_token() -> str | None:
    """The token of the person at the keyboard, if one is set."""
    token = environ().get(TOKEN_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()):
        # Checked here, since the HTTP library's error would contain the token.
        raise InvalidFormat(
            f"{TOKEN_VARIABLE} contains characters that no token has", field=TOKEN_VARIABLE
        )
    return token or None


def print_warnings(terminal: Terminal, settings: "Settings") -> None:
    """Print the warnings of the settings."""
    for warning in settings.warnings:
        terminal.info(f"warning: {warning}")

"""The settings of one command: flags, environment and the two files, read once."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.settings.account import data_folder, home_folder

if TYPE_CHECKING:
    from pecia.kernel.settings.layers.values import FlagValue
    from pecia.kernel.settings.load import Settings

# Read by commands themselves: it identifies the caller, and is no server setting.
TOKEN_VARIABLE = "PECIA_TOKEN"

# The same for the default space of a session.
SPACE_VARIABLE = "PECIA_SPACE"

HOME_VARIABLE = "PECIA_HOME"
MAX_PLAIN_FILE_BYTES = 65536


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


def find_home(terminal: Terminal) -> Path:
    """The home alone. Where a variable or the default decides it, no other setting is read: those
    are the server's, and a command that asks a running server needs none of them."""
    return _find_plain_home(terminal) or load_settings(terminal).kernel.home


def _find_plain_home(terminal: Terminal) -> Path | None:
    """None where a file may set it, or the variable is not a plain absolute path."""
    from pecia.kernel.settings.layers.paths import find_project_file, find_user_file

    given = environ().get(HOME_VARIABLE)
    if given is not None and not given.startswith("/"):
        return None
    files = (
        terminal.config or find_user_file(),
        find_project_file(Path.cwd(), home=home_folder()),
    )
    if any(_may_set_home(it) for it in files if it is not None):
        return None
    return Path(given) if given is not None else data_folder()


def _may_set_home(file: Path) -> bool:
    """Whether a file has the word in it, or cannot be read as plain text: then it is parsed."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_PLAIN_FILE_BYTES + 1)
    except OSError:
        return True
    return len(data) > MAX_PLAIN_FILE_BYTES or b"home" in data or b"\\" in data


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

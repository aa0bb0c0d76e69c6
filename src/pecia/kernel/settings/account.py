"""The account of the operating system that this process runs as. In a container its number often
has no name and no home folder, and everything works all the same."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path

from platformdirs import user_config_path, user_data_path

from pecia.kernel.errors import InvalidFormat, Unavailable
from pecia.kernel.settings.layers.environment import read_environment


def account_name() -> str:
    """The name by the user database; `uid54321` where the number has none there."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid{os.getuid()}"


def login_name() -> str:
    """The name that the person logged in with, for the audit log."""
    # It brings a terminal's parts with it, which most processes never need.
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return account_name()


def account_home() -> Path:
    """The home folder by the user database, else HOME, else the root, as container engines do."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path(read_environment().get("HOME") or "/")


def home_folder() -> Path:
    """HOME, else the home folder of the account."""
    try:
        return Path.home()
    except RuntimeError:
        return account_home()


def config_folder() -> Path:
    """Where this system keeps the configuration of a user."""
    return _user_folder(user_config_path, ".config")


def data_folder() -> Path:
    """Where this system keeps the data of a user."""
    return _user_folder(user_data_path, ".local/share")


def _user_folder(find: Callable[..., Path], below_home: str) -> Path:
    try:
        return find("pecia", appauthor=False)
    except RuntimeError:
        # No HOME, and no home folder by the user database.
        return home_folder() / below_home / "pecia"


def expand_user(path: Path, field: str) -> Path:
    """The path with `~` and `~user` replaced."""
    if path.parts[:1] == ("~",):
        return home_folder().joinpath(*path.parts[1:])
    try:
        return path.expanduser()
    except RuntimeError:
        raise InvalidFormat(
            f"{path} begins with the home folder of a user that this machine does not know",
            field=field,
            got=str(path),
            expected="~/PATH, or /PATH",
        ) from None


def create_home(home: Path) -> None:
    """The folder of the data, made where it is not there yet, for this account alone."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Unavailable(
            f"the folder {home} cannot be made: {(error.strerror or str(error)).lower()}",
            retryable=False,
            hint="Name one that you may write: PECIA_HOME=/PATH",
        ) from None

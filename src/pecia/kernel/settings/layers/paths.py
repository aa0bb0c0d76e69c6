"""Where the two configuration files lie. Finds them; never reads them."""

import os
from pathlib import Path

from pecia.kernel.settings.account import config_folder

FILE_NAME = "config.yml"
PROJECT_FOLDER = ".pecia"


def find_user_file() -> Path | None:
    """`pecia/config.yml` in the user's configuration directory, if it is there."""
    path = config_folder() / FILE_NAME
    # Not `is_file`: it raises where the folder may not be entered, which is then nobody's file.
    return path if os.path.isfile(path) else None  # noqa: PTH113


def find_project_file(start: Path, *, home: Path) -> Path | None:
    """`.pecia/config.yml` of the nearest folder above, never beyond the user's home.

    The home itself is no project: what lies in its `.pecia` belongs to the user.
    """
    start, home = start.resolve(), home.resolve()
    for folder in (start, *start.parents):
        if folder == home:
            return None
        path = folder / PROJECT_FOLDER / FILE_NAME
        if path.is_file():
            return path
    return None

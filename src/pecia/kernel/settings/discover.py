"""Where the two configuration files lie. Finds them; never reads them."""

from pathlib import Path

from platformdirs import user_config_path

FILE_NAME = "config.yml"
PROJECT_FOLDER = ".pecia"


def find_user_file() -> Path | None:
    """`pecia/config.yml` in the user's configuration directory, if it is there."""
    path = user_config_path("pecia", appauthor=False) / FILE_NAME
    return path if path.is_file() else None


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

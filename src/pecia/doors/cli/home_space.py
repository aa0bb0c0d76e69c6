"""The folder for editors that start outside of every project, kept in the user's configuration."""

from pathlib import Path

from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import Json

HEADER = "# The settings of Pecia for this user. docs/reference/settings.md lists them.\n"


def keep_home_space(terminal: Terminal, folder: Path) -> Path:
    """Write it down, and leave everything else in the file as it is; the file."""
    from pecia.adapters.editors import files
    from pecia.kernel.text.yaml import YamlSource
    from pecia.kernel.text.yaml_edit import patch_yaml

    path = terminal.config or _user_file()
    before = files.read(path)
    wanted: dict[str, Json] = {"wiki": {"home_space": str(folder)}}
    after = patch_yaml(before or HEADER, wanted, YamlSource(str(path)))
    if after != before:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.replace(path, after, was=before)
    return path


def _user_file() -> Path:
    from pecia.kernel.settings.account import config_folder
    from pecia.kernel.settings.discover import FILE_NAME

    return config_folder() / FILE_NAME

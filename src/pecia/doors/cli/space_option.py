"""Which space a stdio session means: named by a flag or a variable, or found by the folder."""

import os
from dataclasses import dataclass
from pathlib import Path

from pecia.doors.cli.configured import SPACE, environ
from pecia.doors.cli.owner import token_at
from pecia.doors.cli.seeking import ProjectServer, is_served_by, server_for
from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.account import expanded


@dataclass(frozen=True, slots=True)
class WantedSpace:
    """A space by its name, or the folder that it is looked for by."""

    name: str | None
    folder: Path


def wanted_space(given: str | None) -> WantedSpace:
    """What the flag says, else the variable, else the folder that this process stands in."""
    said = given or environ().get(SPACE, "").strip() or None
    if said is None:
        return WantedSpace(None, Path.cwd())
    if os.sep not in said and not said.startswith("~"):
        return WantedSpace(said, Path.cwd())
    folder = expanded(Path(said), "--space" if given else SPACE)
    if not folder.is_dir():
        field = "--space" if given else SPACE
        raise InvalidInput(f"{field} names {said}, and there is no such folder", field=field)
    return WantedSpace(None, folder)


def reached_server(terminal: Terminal, wanted: WantedSpace, url: str | None) -> ProjectServer:
    """The server at that address, else the one of the folder; and the folder that it serves."""
    from pecia.doors.cli.configured import settled

    if url is None:
        return server_for(terminal, wanted.folder)
    home = settled(terminal, {"mode": "local"}).kernel.home
    return ProjectServer(url, token_at(home, url), is_served_by(wanted.folder, url))

"""Under which path an editor starts this program, so that it still leads here after an update."""

from collections.abc import Iterable
from pathlib import Path

from pecia.kernel.errors import NotFound

_CACHES = frozenset((".cache", "Caches", "archive-v0", "environments-v2"))


def find_command_path(script: Path, folders: Iterable[str]) -> Path:
    """A link in one of the folders that leads to the script; without one, the script itself.

    A link stays where it is when the installation moves. One that leads elsewhere is another
    installation's, whatever its name.
    """
    if not script.is_file():
        raise NotFound(
            f"there is no program at {script}",
            hint="install Pecia as a program: uv tool install pecia, or pipx install pecia",
        )
    own = script.resolve()
    for folder in folders:
        link = Path(folder) / script.name
        if link.is_absolute() and link.is_symlink() and link.resolve() == own:
            return link
    return script.absolute()


def is_temporary(command: Path) -> bool:
    """Whether a program lies where tools keep what they may throw away, as `uvx` does."""
    return not _CACHES.isdisjoint(command.parts)

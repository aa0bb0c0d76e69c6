"""A repository of this machine, copied file by file without leaving the folders that were given.

A repository can point elsewhere in many ways: a `.git` file, a common folder of worktrees,
alternates, an included configuration, links. The library follows them all. So only objects and
references are copied, each opened within the bounds, and the library reads the copy.
"""

from collections.abc import Iterator
from pathlib import Path

from pecia.adapters.connectors.filesystem.bounds import FolderBounds
from pecia.adapters.connectors.filesystem.scan import FileSelection, scan_folders
from pecia.adapters.connectors.folder import FolderConnector
from pecia.kernel.errors import Forbidden, NotFound, PayloadTooLarge, Unprocessable

SELECTION = FileSelection(
    include=("HEAD", "packed-refs", "shallow", "refs/**", "objects/**"),
    exclude=("objects/info/alternates", "objects/info/http-alternates"),
)
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
BLOCK = 1 << 20


def copy_repository(place: Path, into: Path, bounds: FolderBounds, max_bytes: int) -> None:
    """Copy what the repository at `place` holds by itself. Blocking."""
    bounds.require(place)
    folder = FolderConnector(_git_folder(place), SELECTION, bounds)
    left = max_bytes
    for key in _keys(folder):
        target = into / key
        target.parent.mkdir(parents=True, exist_ok=True)
        with folder.open_file(key) as source, target.open("wb") as copy:
            while block := source.read(BLOCK):
                left -= len(block)
                if left < 0:
                    raise PayloadTooLarge(
                        f"the repository is larger than {max_bytes} bytes",
                        field="url",
                        max=max_bytes,
                    )
                copy.write(block)
    for name in ("objects", "refs"):
        (into / name).mkdir(exist_ok=True)
    (into / "config").write_text(CONFIG)


def require_bare_repository(place: Path, bounds: FolderBounds) -> None:
    """Refuse to push to what is not a bare repository by itself, within the bounds. Blocking."""
    bounds.require(place)
    if not (place / "HEAD").is_file() or not (place / "objects").is_dir():
        raise Unprocessable(
            f"{place} is not a bare git repository, and only such a one can be pushed to",
            field="url",
            hint="git init --bare makes one; --mode pull reads any",
        )
    if bounds.folders is None:
        return
    # What the library would follow out of the bounds.
    for name in ("HEAD", "config", "objects", "refs", "packed-refs", "objects/pack"):
        if (place / name).is_symlink():
            raise Forbidden(f"refused: {name} of {place} is a symbolic link", field="url")
    for name in ("commondir", "objects/info/alternates"):
        if (place / name).exists():
            raise Forbidden(f"refused: {place} has a file {name}, which leads elsewhere")


def _keys(folder: FolderConnector) -> Iterator[str]:
    for found in scan_folders(folder.root, folder.selection):
        yield from sorted(found.files)


def _git_folder(place: Path) -> Path:
    """The bare repository itself, or the one in its work tree."""
    for it in (place, place / ".git"):
        if (it / "HEAD").is_file() and (it / "objects").is_dir():
            return it
    raise NotFound(f"there is no repository at {place}", path=str(place))

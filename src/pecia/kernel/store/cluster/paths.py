"""Where a cluster lies on disk. Makes our own folders; never changes the mode of anybody else's.

An ordinary user's cluster is in the home. Root's is below a system directory, because the user
that runs PostgreSQL for root may not be able to enter the home; the home keeps a pointer to it.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.atomic_file import read_json_object, write_atomic
from pecia.kernel.store.cluster.os_user import OsUser, server_user

FOLDER = "postgres"
POINTER = "postgres.json"
PORT = 5432

# The shortest limit there is, that of macOS. Linux would take four bytes more.
SOCKET_PATH_LIMIT = 103


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """Every path of one cluster."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def passwords(self) -> Path:
        return self.root / "passwords.json"

    @property
    def format(self) -> Path:
        return self.root / "format.json"

    @property
    def holders_lock(self) -> Path:
        return self.root / "holders.lock"

    @property
    def start_lock(self) -> Path:
        return self.root / "start.lock"

    @property
    def keeper_lock(self) -> Path:
        return self.root / "keeper.lock"

    @property
    def server_lock(self) -> Path:
        return self.root / "server.lock"

    @property
    def serving_lock(self) -> Path:
        return self.root / "serving.lock"

    @property
    def sockets(self) -> Path:
        """The folder of the unix socket: in here, or elsewhere when that path is too long."""
        record = self.root / "sockets.json"
        if record.exists():
            remedy = "Remove it: another folder for the socket is made at the next start."
            return Path(str(read_json_object(record, "folder", remedy=remedy)["folder"]))
        return self.root / "run"


def find_cluster_paths(home: Path, system: Path) -> ClusterPaths | None:
    """The cluster of a home, if it has one. Makes nothing."""
    home = home.resolve()
    pointer = home / POINTER
    if pointer.exists():
        return ClusterPaths(_read_pointer(pointer, system))
    root = _system_root(home, system) if os.geteuid() == 0 else home / FOLDER
    return ClusterPaths(root) if root.exists() else None


def create_cluster_paths(
    home: Path, system: Path, report: Callable[[str], None]
) -> tuple[ClusterPaths, OsUser]:
    """The folders of a home's cluster, made when missing, and the user that runs its server."""
    home.mkdir(parents=True, exist_ok=True)
    home = home.resolve()
    user = server_user(report)
    if os.geteuid() == 0:
        places = ClusterPaths(_make_system_root(home, system))
        return places, _owner(places.data) or user
    if (home / POINTER).exists():
        raise Unavailable(
            f"the database of {home} was made by root: run Pecia as root, or use another home"
        )
    root = home / FOLDER
    root.mkdir(mode=0o700, exist_ok=True)
    return ClusterPaths(root), user


def create_socket_folder(places: ClusterPaths, user: OsUser) -> None:
    """A folder for the socket that only the server's user can enter, short enough for the OS."""
    if _is_ours(places.sockets, user):
        return
    folder = places.root / "run"
    if is_socket_path_valid(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    else:
        folder = _short_folder()
        write_atomic(places.root / "sockets.json", json.dumps({"folder": str(folder)}))
    os.chown(folder, user.uid, user.gid)


def is_socket_path_valid(folder: Path) -> bool:
    """Whether a socket in this folder has a path that every OS takes."""
    return len(os.fsencode(folder / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_LIMIT


def _short_folder() -> Path:
    """A new folder of ours in the first temporary place with a short enough name."""
    for parent in (Path(tempfile.gettempdir()), Path("/tmp")):
        if is_socket_path_valid(parent / "pecia-xxxxxxxx"):
            return Path(tempfile.mkdtemp(prefix="pecia-", dir=parent))
    raise Unavailable("no folder for the database socket has a short enough path: set TMPDIR")


def _is_ours(folder: Path, user: OsUser) -> bool:
    """Whether it is a real folder, the server user's own and closed to others.

    A temporary folder may have been swept away, and made again by a stranger.
    """
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    return (found.st_mode, found.st_uid) == (0o040700, user.uid)


def _owner(data: Path) -> OsUser | None:
    """Whose a data directory is, and hence who must run it: on a volume that outlives its
    container, the user `pecia` may have had another number."""
    if not data.exists():
        return None
    found = data.stat()
    return OsUser(found.st_uid, found.st_gid)


def _make_system_root(home: Path, system: Path) -> Path:
    if (home / FOLDER).exists():
        raise Unavailable(
            f"the database in {home / FOLDER} belongs to an ordinary user: run Pecia as that user"
        )
    pointer = home / POINTER
    if pointer.exists():
        root = _read_pointer(pointer, system)
        if not root.exists():
            raise Unavailable(
                f"{home} has its database in {root}, which is gone: bring it back (in a container, "
                f"mount a volume at {root.parent}), or remove {pointer} to begin with an empty one"
            )
        return root
    root = _system_root(home, system)
    # Others may pass through, to the data that the server's user owns, but see nothing.
    _make(system, 0o755)
    _make(root, 0o711)
    write_atomic(pointer, json.dumps({"cluster": str(root)}), mode=0o644)
    return root


def _read_pointer(pointer: Path, system: Path) -> Path:
    """Where the home's pointer says that its cluster is."""
    root = _system_root(pointer.parent, system)
    remedy = f'Write {{"cluster": "PATH"}} into it, with the folder of the database: {root}?'
    return Path(str(read_json_object(pointer, "cluster", remedy=remedy)["cluster"]))


def _make(folder: Path, mode: int) -> None:
    """A new folder with this very mode, whatever the umask. One that exists is left as it is."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)


def _system_root(home: Path, system: Path) -> Path:
    """A name that says which home it is, and differs for homes of the same name."""
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:10]
    return system / f"{home.name[:20]}-{digest}"

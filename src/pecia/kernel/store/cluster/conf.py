"""The text of the server's configuration files; the caller writes them.

Both files are written anew at every start, so a new Pecia brings its new settings along.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from pecia.kernel.store.cluster.paths import PORT

MIN_SHARED_MB, MAX_SHARED_MB = 128, 8192
# What a cluster of any size may hold; beyond that, twice its data.
SMALL_SHARED_MB = 512

# Where a container says how much of its host's memory is its own.
_LIMIT = Path("/sys/fs/cgroup/memory.max")


def choose_shared_buffers_mb(memory: int, data: int | None = None) -> int:
    """A quarter of the memory, within bounds, and no more than twice the data that is there now.

    Pages are taken up only when they are read, but PostgreSQL touches the table of all of them at
    its start: 105 MB for 6 GB of buffers, 9 MB for 512 MB.

    With 128 MB an index over 100,000 vectors did not fit, and to search it took three times as
    long. A million chunks with their vectors are 4 GB.
    """
    quarter = min(MAX_SHARED_MB, max(MIN_SHARED_MB, memory // 4 // 2**20))
    return quarter if data is None else min(quarter, max(SMALL_SHARED_MB, 2 * data // 2**20))


def read_data_bytes(data: Path) -> int:
    """The size of a cluster's tables and indexes; 0 where there are none yet."""
    total = 0
    for folder, _, names in os.walk(data / "base"):
        for name in names:
            with suppress(OSError):
                total += (Path(folder) / name).stat().st_size
    return total


def read_memory_bytes(limit: Path = _LIMIT) -> int:
    """The memory of the machine, or of the container if that is less; 0 where nobody says."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        said = limit.read_text("ascii").strip()
    except (OSError, ValueError):
        return whole
    return min(whole, int(said)) if said.isdecimal() else whole


HBA = """\
# Written at every start. A password for everyone, the superuser included, and no network.
local all all scram-sha-256
"""

# Durability is never traded: `fsync` and `synchronous_commit` are on for good.
# Errors are logged without their statement, which may hold what people wrote.
SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "60",
    "work_mem": "8MB",
    "maintenance_work_mem": "128MB",
    # Data is mostly in memory, where random access costs no more than sequential.
    "random_page_cost": "1.1",
    "jit": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # By default 16 MB, all of which is touched; what one commit writes is far less.
    "wal_buffers": "4MB",
    "min_wal_size": "64MB",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "10min",
    "max_wal_senders": "2",
    "max_replication_slots": "0",
    "max_logical_replication_workers": "0",
    "io_workers": "2",
    "autovacuum_max_workers": "2",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
    "log_startup_progress_interval": "1s",
}


def render_server_conf(sockets: Path, sync: str, data: int | None = None) -> str:
    """The settings of a server that listens in this folder and nowhere else, over so much data."""
    # The value is a list of folders, so a folder is quoted twice.
    folders = '"' + str(sockets).replace('"', '""') + '"'
    settings = {
        **SETTINGS,
        "shared_buffers": f"{choose_shared_buffers_mb(read_memory_bytes(), data)}MB",
        "unix_socket_directories": folders,
        "recovery_init_sync_method": sync,
    }
    lines = [f"{name} = {_quote(value)}" for name, value in settings.items()]
    return "# Written at every start: changes here are lost.\n" + "\n".join(lines) + "\n"


def choose_sync_method(system: os.uname_result) -> str:
    """How PostgreSQL makes a whole directory durable: all at once where that tells of failures.

    File by file took ten times as long after a crash, 3 s instead of 0.3. Linux reports failed
    writes to syncfs since 5.8.
    """
    version = re.match(r"(\d+)\.(\d+)", system.release)
    recent = version is not None and (int(version[1]), int(version[2])) >= (5, 8)
    return "syncfs" if system.sysname == "Linux" and recent else "fsync"


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"

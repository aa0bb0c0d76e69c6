"""How much memory the server may come to hold, by what the machine has. It sets nothing."""

import os
from pathlib import Path

LEAST_MB, MOST_MB = 128, 8192

# Where a container says how much of its host's memory is its own.
_LIMIT = Path("/sys/fs/cgroup/memory.max")


def shared_mb(memory: int) -> int:
    """A quarter, within bounds; only what was read is taken up.

    With 128 MB an index over 100,000 vectors did not fit, and to search it took three times as
    long. A million chunks with their vectors are 4 GB.
    """
    return min(MOST_MB, max(LEAST_MB, memory // 4 // 2**20))


def machine_bytes(limit: Path = _LIMIT) -> int:
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

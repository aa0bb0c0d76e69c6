"""Failures of the machine as errors that say what to do."""

import errno

from pecia.kernel.errors import PeciaError, Unavailable

_TAKES_NOTHING = (errno.EROFS, errno.ENOSPC, errno.EDQUOT)


def explain_unwritable(error: OSError) -> PeciaError | None:
    """A disk that takes nothing: which file, why, and the way on; None for other failures."""
    if error.errno not in _TAKES_NOTHING or error.filename is None:
        return None
    why = (error.strerror or "it failed").lower()
    return Unavailable(
        f"{error.filename} cannot be written: {why}",
        path=str(error.filename),
        hint="make room or make it writable, or use another home: PECIA_HOME=/PATH",
    )

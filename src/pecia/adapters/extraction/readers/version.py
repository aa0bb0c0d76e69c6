"""The name under which a text is kept: whose code read the file, and which release of it."""

from functools import cache
from importlib.metadata import version

# Raised when a change here may give another text for the same bytes.
READER_REVISION = 8

OURS = "pecia"


@cache
def version_of(library: str) -> str:
    return f"{version(library)}-{READER_REVISION}"


def our_version() -> str:
    """Our own readers change with the revision, and with no release in between."""
    return str(READER_REVISION)

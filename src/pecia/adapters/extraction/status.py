"""How the reading of a file can end, and the walls around the reader. No behaviour."""

from dataclasses import dataclass
from enum import StrEnum


class ExtractionStatus(StrEnum):
    """How the reading of a file ended; whatever was read until then is kept."""

    OK = "ok"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Confinement:
    """Which walls the system let us put around a child, for the health page."""

    memory: bool
    network: bool
    files: bool

"""The note that a user was asked about their editors, and what they answered."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import cast

from pecia.adapters.editors import config_file
from pecia.kernel.errors import Json

FILE = Path(".pecia") / "mcp-status.json"
_TIMELESS: Mapping[str, Json] = {"configuredAt": None, "skippedAt": None}


def marker_path(home: Path) -> Path:
    """Where the note of a user lies."""
    return home / FILE


def has_marker(home: Path) -> bool:
    """Whether there is a note, whatever it says, and as far as one may look."""
    with suppress(OSError):
        return marker_path(home).exists()
    return False


def configured_marker(now: datetime, editors: Sequence[str], command: str) -> dict[str, Json]:
    """The note after Add."""
    return {
        "configured": True,
        "configuredAt": _moment(now),
        "editors": [*editors],
        "cliPath": command,
    }


def skipped_marker(now: datetime) -> dict[str, Json]:
    """The note after Skip."""
    return {"configured": False, "skippedAt": _moment(now)}


def write_marker(home: Path, note: dict[str, Json]) -> None:
    """Leave the note. One that says the same, but for when, stays as it is."""
    path = marker_path(home)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    before = config_file.read_text(path)
    if before is None or _decision(before) != {**note, **_TIMELESS}:
        config_file.replace_text(path, json.dumps(note, indent=2) + "\n", was=before)


def _decision(text: str) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return {**cast(dict[str, Json], found), **_TIMELESS} if isinstance(found, dict) else None


def _moment(now: datetime) -> str:
    return now.isoformat(timespec="seconds").replace("+00:00", "Z")

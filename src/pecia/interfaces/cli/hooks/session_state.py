"""What a hook must know of its session later: what was recalled, and how much was captured."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

FOLDER = "hooks"
MAX_AGE_S = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class HookSession:
    """Of one session of a client."""

    recalled: tuple[str, ...] = ()
    captured: int = 0
    """How many of its messages were looked at."""


def read_session(home: Path, client: str, session: str) -> HookSession:
    """That of a session; an empty one where there is none, or none that can be read."""
    with suppress(OSError, ValueError, TypeError):
        found = json.loads(_path(home, client, session).read_text(encoding="utf-8"))
        facts = cast(Mapping[str, Any], found)
        return HookSession(tuple(map(str, facts["recalled"])), int(facts["captured"]))
    return HookSession()


def write_session(home: Path, client: str, session: str, state: HookSession) -> None:
    """Of this user alone. Old ones go."""
    path = _path(home, client, session)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600)
    document = {"recalled": [*state.recalled], "captured": state.captured}
    path.write_text(json.dumps(document), encoding="utf-8")
    limit = time.time() - MAX_AGE_S
    for it in path.parent.glob("*.json"):
        with suppress(OSError):
            if it.stat().st_mtime < limit:
                it.unlink()


def _path(home: Path, client: str, session: str) -> Path:
    # A client's id may hold anything.
    return home / FOLDER / f"{sha256(f'{client} {session}'.encode()).hexdigest()[:32]}.json"

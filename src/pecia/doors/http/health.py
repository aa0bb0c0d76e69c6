"""Whether this process is up, and whether it is fit to serve. Tells nothing of anybody's data."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache

import anyio
from starlette.requests import Request
from starlette.responses import Response

from pecia import __version__
from pecia.app.app import App, parts
from pecia.doors.http.errors import as_json
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.store import migrate

CHECK_S = 2.0
REMEMBERED_S = 1.0
DRAINED_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold, and what was found."""

    is_ok: bool
    found: str
    is_vital: bool = True
    """Whether no request should be sent here without it."""

    def as_json(self) -> Json:
        return {"ok": self.is_ok, "found": self.found}


class Health:
    """The two questions that those who run servers ask."""

    def __init__(self, app: App, instance: str = "") -> None:
        self._app = app
        self._instance = instance
        self._asking = anyio.Lock()
        self._last: dict[str, Check] = {}
        self._asked_at = -REMEMBERED_S

    async def alive(self, request: Request) -> Response:
        """The process answers. Nothing else is looked at, so that nothing else can fail it."""
        return as_json(
            {
                "status": "ok",
                "name": "pecia",
                "version": __version__,
                "mode": self._app.settings.kernel.mode,
                "instance": self._instance,
            }
        )

    async def ready(self, request: Request) -> Response:
        """Whether requests should be sent here; each check by name."""
        found = await self.checks()
        is_ready = all(it.is_ok for it in found.values() if it.is_vital)
        is_whole = all(it.is_ok for it in found.values())
        return as_json(
            {
                "status": "not ready" if not is_ready else "ready" if is_whole else "degraded",
                "checks": {name: it.as_json() for name, it in found.items()},
            },
            200 if is_ready else 503,
        )

    async def checks(self) -> dict[str, Check]:
        """What holds now. Asked once a second however many ask: anybody may, without a token."""
        async with self._asking:
            if time.monotonic() - self._asked_at >= REMEMBERED_S:
                self._last = {
                    "database": await _held(self._database),
                    "migrations": await _held(self._migrations),
                    "audit": self._audit(),
                    "index": self._index(),
                }
                self._asked_at = time.monotonic()
            return self._last

    async def _database(self) -> Check:
        async with self._app.store.system():
            return Check(True, "answers")

    async def _migrations(self) -> Check:
        async with self._app.store.system() as tx:
            rows = await tx.all(migrate.SQL["applied"])
        applied = {(it["part"], it["name"]): it["sha256"] for it in rows}
        missing = migrate.pending(_known(), applied)
        return Check(not missing, f"{len(missing)} to apply" if missing else "applied")

    def _audit(self) -> Check:
        ago_s = time.monotonic() - self._app.ledger.drained_at
        return Check(ago_s < DRAINED_WITHIN_S, f"written to the database {ago_s:.0f} s ago")

    def _index(self) -> Check:
        """Search still answers from an index that does not move, and lacks what is new."""
        stalled = self._app.lag.stalled()
        if not stalled:
            return Check(True, "keeps up", is_vital=False)
        longest = max(stalled.values())
        found = f"{len(stalled)} not moving for {longest:.0f} s: pecia index status"
        return Check(False, found, is_vital=False)


async def _held(check: Callable[[], Awaitable[Check]]) -> Check:
    try:
        with anyio.fail_after(CHECK_S):
            return await check()
    except PeciaError as error:
        return Check(False, error.message)
    except TimeoutError:
        return Check(False, f"no answer within {CHECK_S:g} s")


@cache
def _known() -> list[migrate.Migration]:
    return migrate.migrations(parts())

"""Liveness and readiness. Reveals nothing of anybody's data."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property

import anyio
from starlette.requests import Request
from starlette.responses import Response

from pecia import __version__
from pecia.app.app import App, migration_parts
from pecia.interfaces.http.errors import json_response
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.store import migrate

CHECK_TIMEOUT_S = 2.0
CACHE_TTL_S = 1.0
MAX_DRAIN_AGE_S = 60.0


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of one check."""

    is_ok: bool
    found: str
    is_vital: bool = True
    """Whether a failure makes this node not ready."""

    def as_json(self) -> Json:
        return {"ok": self.is_ok, "found": self.found}


class Health:
    """The handlers of `/healthz` and `/readyz`."""

    def __init__(self, app: App, instance: str = "") -> None:
        self._app = app
        self._instance = instance
        self._asking = anyio.Lock()
        self._last: dict[str, HealthCheck] = {}
        self._asked_at = -CACHE_TTL_S

    async def alive(self, request: Request) -> Response:
        """Liveness. Nothing else is checked, so that nothing else can fail it."""
        return json_response(
            {
                "status": "ok",
                "name": "pecia",
                "version": __version__,
                "mode": self._app.settings.kernel.mode,
                "instance": self._instance,
            }
        )

    async def ready(self, request: Request) -> Response:
        """Readiness; each check by name."""
        found = await self.checks()
        is_ready = all(it.is_ok for it in found.values() if it.is_vital)
        is_whole = all(it.is_ok for it in found.values())
        return json_response(
            {
                "status": "not ready" if not is_ready else "ready" if is_whole else "degraded",
                "checks": {name: it.as_json() for name, it in found.items()},
            },
            200 if is_ready else 503,
        )

    async def checks(self) -> dict[str, HealthCheck]:
        """The checks, cached for one second: the endpoint is public."""
        async with self._asking:
            if time.monotonic() - self._asked_at >= CACHE_TTL_S:
                self._last = {
                    "database": await _run_check(self._database),
                    "migrations": await _run_check(self._migrations),
                    "audit": self._audit(),
                    "index": self._index(),
                }
                self._asked_at = time.monotonic()
            return self._last

    async def _database(self) -> HealthCheck:
        async with self._app.store.system():
            return HealthCheck(True, "answers")

    @cached_property
    def _own_schema(self) -> list[migrate.Migration]:
        return migrate.list_migrations(migration_parts())

    @cached_property
    def _schema(self) -> list[migrate.Migration]:
        """Ours and those of the plugins."""
        return migrate.list_migrations(migration_parts(self._app.settings))

    async def _migrations(self) -> HealthCheck:
        async with self._app.store.system() as tx:
            rows = await tx.fetch_all(migrate.SQL["applied"])
        applied = {(it["part"], it["name"]): it["sha256"] for it in rows}
        missing = migrate.find_pending(self._schema, applied)
        own = migrate.find_pending(self._own_schema, applied)
        # A plugin whose migrations were refused is not served; everything else is.
        return HealthCheck(
            not missing, f"{len(missing)} to apply" if missing else "applied", is_vital=bool(own)
        )

    def _audit(self) -> HealthCheck:
        try:
            self._app.audit_log.spool.require_room()
        except OSError as error:
            why = (error.strerror or "it failed").lower()
            return HealthCheck(False, f"cannot be written: {why}")
        ago_s = time.monotonic() - self._app.audit_log.drained_at
        return HealthCheck(ago_s < MAX_DRAIN_AGE_S, f"written to the database {ago_s:.0f} s ago")

    def _index(self) -> HealthCheck:
        """Search still answers from a stalled index, and lacks what is new."""
        if damaged := self._app.index_lag.damaged_tenants():
            found = f"{len(damaged)} damaged, being checked and rebuilt: pecia index status"
            return HealthCheck(False, found, is_vital=False)
        stalled = self._app.index_lag.stalled_tenants()
        if not stalled:
            return HealthCheck(True, "keeps up", is_vital=False)
        longest = max(stalled.values())
        found = f"{len(stalled)} stalled for {longest:.0f} s: pecia index status"
        return HealthCheck(False, found, is_vital=False)


async def _run_check(check: Callable[[], Awaitable[HealthCheck]]) -> HealthCheck:
    try:
        with anyio.fail_after(CHECK_TIMEOUT_S):
            return await check()
    except PeciaError as error:
        return HealthCheck(False, error.message)
    except TimeoutError:
        return HealthCheck(False, f"no answer within {CHECK_TIMEOUT_S:g} s")

"""Prometheus metrics of calls and outcomes. No argument, no caller, no content."""

from collections.abc import Iterator

import anyio.to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.request_info import get_request_info
from pecia.interfaces.http.routes.health import Health
from pecia.kernel.errors import Forbidden
from pecia.kernel.identity.caller import Operator, Scope
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.audit.status import AuditStatus
from pecia.kernel.tool.view import full_name

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class CallMetrics:
    """Counts every call of every interface, as an observer of the dispatcher."""

    def __init__(self, app: App) -> None:
        self._known = frozenset(_call_names(app))
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = ("tool", "interface", "status")
        self._calls = Counter("pecia_calls", "Calls that ended.", labels, registry=self.registry)
        self._seconds = Histogram(
            "pecia_call_seconds",
            "How long calls took.",
            ("tool",),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self._in_flight = Gauge("pecia_calls_in_flight", "Calls running.", registry=self.registry)
        self._slots = Gauge(
            "pecia_slots",
            "Calls that hold a slot, and calls that wait for one.",
            ("lane", "figure"),
            registry=self.registry,
        )
        self._pool = Gauge(
            "pecia_pool",
            "The database pools, as the driver counts them.",
            ("pool", "figure"),
            registry=self.registry,
        )
        self._spool = Gauge(
            "pecia_audit_spool_bytes",
            "Audit rows waiting for the database.",
            registry=self.registry,
        )
        self._index_lag = Gauge(
            "pecia_index_lag_seconds",
            "How long the keyword index that is behind the longest has not moved.",
            registry=self.registry,
        )
        self._up = Gauge("pecia_database_up", "Whether it answers.", registry=self.registry)

    def on_call_start(self, trace: AuditRecord) -> None:
        self._in_flight.inc()

    def on_call_end(
        self, trace: AuditRecord, status: AuditStatus, code: str | None, duration_us: int
    ) -> None:
        # Unknown names come from clients; each would add a series (label cardinality).
        tool = trace.tool if trace.tool in self._known else "unknown"
        self._in_flight.dec()
        self._calls.labels(tool, trace.interface, status).inc()
        self._seconds.labels(tool).observe(duration_us / 1_000_000)

    async def render(self, app: App, health: Health) -> bytes:
        """All metrics as of now."""
        checks = await health.checks()
        self._up.set(checks["database"].is_ok)
        self._index_lag.set(app.index_lag.longest_s)
        self._spool.set(await anyio.to_thread.run_sync(app.audit_log.backlog_bytes))
        for lane, it in (
            ("local", app.dispatcher.scheduler),
            ("remote", app.dispatcher.remote_scheduler),
        ):
            self._slots.labels(lane, "running").set(it.queue.running)
            self._slots.labels(lane, "waiting").set(it.queue.waiting)
        for pool, figures in app.store.pool_stats().items():
            for figure, value in figures.items():
                self._pool.labels(pool, figure).set(value)
        return generate_latest(self.registry)


class MetricsHandler:
    """Who may read the metrics: an administrator, an operator, and the owner of a local install.

    On a server the address proves nothing: requests through a local proxy have ours.
    """

    def __init__(
        self, app: App, authenticator: HttpAuthenticator, health: Health, metrics: CallMetrics
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._health = health
        self._metrics = metrics

    async def handle(self, request: Request) -> Response:
        settings = self._app.settings.kernel
        is_open = settings.mode == "server" and settings.metrics_from_loopback
        if not (is_open and get_request_info(request.scope).is_local):
            await self._require_admin(request)
        body = await self._metrics.render(self._app, self._health)
        return Response(body, media_type=CONTENT_TYPE_LATEST)

    async def _require_admin(self, request: Request) -> None:
        scope = Scope.ADMIN.value
        who = await self._authenticator.authenticate(
            request, self._authenticator.request_context(request), scope=scope
        )
        if not isinstance(who, Operator) and not (who.is_admin and Scope.ADMIN in who.scopes):
            raise Forbidden(f"metrics need the scope {scope}", scope=scope)


def _call_names(app: App) -> Iterator[str]:
    """Every known operation name."""
    yield "authenticate"
    yield from (full_name(it) for it in app.tools)
    for feature in app.features:
        yield from (it.name for it in feature.routes)
        yield from (it.name for it in feature.sockets)

"""A Pecia in server mode behind a real socket: two tenants, each with an ana and a bo."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from pecia.app.app import SETTINGS, App, open_app
from pecia.app.operator.allowlist import AllowlistChange
from pecia.app.operator.allowlist import allow as allow_reach
from pecia.app.operator.session import OperatorSession
from pecia.app.operator.tenants import add_tenant, create_operator_token, list_tenants
from pecia.interfaces.http.app import BuildMount
from pecia.interfaces.http.server import serve_http
from pecia.kernel.errors import Json
from pecia.kernel.feature import Feature
from pecia.kernel.identity.oidc import FetchJwks
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.tool.view import combine_tools
from tests.conftest import CONTEXT, house_flags, no_fetch

EVERY_SCOPE = ("pecia.admin", "pecia.read", "pecia.search", "pecia.write")


@dataclass(frozen=True, slots=True)
class Pecia:
    """The open App, where it is served, and the tokens of those who may come in."""

    app: App
    url: str
    http: httpx.AsyncClient
    """Sends no token of its own."""
    tokens: dict[tuple[str, str], str]
    operator: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def ana(self) -> dict[str, str]:
        """The headers of north's administrator."""
        return bearing(self.tokens["north", "ana"])

    @property
    def bo(self) -> dict[str, str]:
        """The headers of a member of north."""
        return bearing(self.tokens["north", "bo"])

    async def call(
        self, path: str, arguments: object = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """POST to a tool, as ana unless other headers are given."""
        return await self.http.post(
            f"/api/v1/{path}",
            json={} if arguments is None else arguments,
            headers=self.ana if headers is None else headers,
        )

    async def confirmed(
        self, path: str, arguments: object = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """The same, with the yes of the administrator in between."""
        asked = await self.call(path, arguments, headers)
        assert asked.status_code == 428, asked.text
        waits = asked.json()["error"]["confirmation"]
        said = await self.call(f"confirmations/{waits}", {"answer": "confirm"}, headers)
        assert said.status_code == 200, said.text
        return await self.call(path, arguments, headers)

    async def audit(self, **wanted: object) -> list[dict[str, Any]]:
        """Audit rows with these values, of every tenant and of none, the oldest first."""
        await self.app.audit_log.drain()
        async with self.app.store.system() as tx:
            rows = await tx.fetch_all("SELECT * FROM kernel.audit ORDER BY at")
        return [it for it in rows if all(it[name] == value for name, value in wanted.items())]

    async def token(self, tenant: str, user: str, scopes: Sequence[str]) -> str:
        """A new token of that user with only these scopes."""
        return await _token(self.app, self.tokens[tenant, "ana"], user, scopes)


async def allow(app: App, tenant: str = "north", **wanted: Sequence[str]) -> None:
    """Give a tenant `folders` and `hosts`, as its operator does."""
    await allow_reach(
        OperatorSession(app.store, app.audit_log, "test"), tenant, AllowlistChange(**wanted)
    )


def bearing(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@dataclass(frozen=True, slots=True)
class Unserved:
    """An open App with its tenants, and nobody listening yet."""

    app: App
    tokens: dict[tuple[str, str], str]
    operator: str


@asynccontextmanager
async def open_unserved(
    database: DatabaseLogins,
    home: Path,
    *,
    features: Sequence[Feature] = (),
    fetch: FetchJwks = no_fetch,
    change: Callable[[App], App] = lambda app: app,
    **flags: str,
) -> AsyncGenerator[Unserved]:
    """An App in server mode, with more features and other settings if a test wants them.

    On a database that has its tenants already nobody is enrolled again.
    """
    unlimited = {"address_rate_per_s": "100000", "address_burst": "100000"}
    settings = load_settings(
        SETTINGS,
        flags={**house_flags(database, home), **unlimited, "mode": "server", **flags},
        environ={},
        project_file=None,
        user_file=None,
    )
    async with open_app(settings, fetch=fetch, report=lambda _: None) as opened:
        app = change(with_features(opened, features))
        is_settled = any(it["name"] == "north" for it in await list_tenants(app.store))
        tokens = {} if is_settled else await _enrol(app, "north") | await _enrol(app, "south")
        operating = OperatorSession(app.store, app.audit_log, "test")
        operator = await create_operator_token(operating, "test", days=1)
        yield Unserved(app, tokens, operator.token)


@asynccontextmanager
async def open_pecia(
    database: DatabaseLogins,
    home: Path,
    *,
    features: Sequence[Feature] = (),
    mounts: Sequence[BuildMount] = (),
    fetch: FetchJwks = no_fetch,
    change: Callable[[App], App] = lambda app: app,
    **flags: str,
) -> AsyncGenerator[Pecia]:
    """The same behind a socket, on a free port."""
    async with (
        open_unserved(
            database, home, features=features, fetch=fetch, change=change, **flags
        ) as made,
        serve_http(made.app, port=0, mounts=mounts, instance="test") as where,
        httpx.AsyncClient(base_url=where.url, trust_env=False, timeout=20) as http,
    ):
        yield Pecia(made.app, where.url, http, made.tokens, made.operator)


def with_features(app: App, features: Sequence[Feature]) -> App:
    """The same App with more features."""
    every = (*app.features, *features)
    return replace(
        app,
        features=every,
        full_view=combine_tools(tool for feature in every for tool in feature.tools),
    )


async def _enrol(app: App, tenant: str) -> dict[tuple[str, str], str]:
    """A tenant whose administrator is ana and whose member is bo, with a token for each."""
    operating = OperatorSession(app.store, app.audit_log, "test")
    made = await add_tenant(operating, tenant, admin="ana", quotas={})
    ana = await app.authenticate(made.token, CONTEXT)
    await app.call(ana, "admin.add_user", {"name": "bo"}, CONTEXT)
    bo = await _token(app, made.token, "bo", EVERY_SCOPE)
    return {(tenant, "ana"): made.token, (tenant, "bo"): bo}


async def _token(app: App, admin: str, user: str, scopes: Sequence[str]) -> str:
    who = await app.authenticate(admin, CONTEXT)
    ask: dict[str, Json] = {"label": "test", "user": user, "scopes": [*scopes]}
    made = await app.call(who, "admin.make_token", ask, CONTEXT)
    assert isinstance(made.structured, dict)
    return str(made.structured["token"])

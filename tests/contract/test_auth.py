"""Who is let in, by which token and how far, as the context-lake reference promises it."""

import hashlib
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import httpx
import pytest

from pecia.interfaces.http.routes.tools import tool_path
from pecia.kernel.store.cluster import DatabaseLogins
from tests.contract.requirement import requirement
from tests.interfaces.probe_feature import Probe
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia
from tests.issuer import AUDIENCE, LoopbackIssuer, SigningKey, fetch, serve

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def pecia(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pecia]:
    """One server for all: nothing that these tests do at it changes what another sees."""
    async with open_pecia(module_database, tmp_path_factory.mktemp("home")) as served:
        yield served


@pytest.fixture
def issuer() -> Generator[LoopbackIssuer]:
    with serve(SigningKey.new("first", "ES256")) as running:
        yield running


@pytest.fixture
async def trusting(
    database: DatabaseLogins, tmp_path: Path, issuer: LoopbackIssuer
) -> AsyncGenerator[Pecia]:
    """A server that believes the issuer."""
    async with open_pecia(
        database,
        tmp_path / "home",
        fetch=fetch,
        oidc_issuer=issuer.url,
        resource_url=AUDIENCE,
    ) as served:
        yield served


async def whoami(pecia: Pecia, token: str) -> httpx.Response:
    return await pecia.call("admin/whoami", headers=bearing(token))


@requirement("lake.auth.bearer_required")
async def test_no_tool_is_called_without_a_bearer_token(pecia: Pecia) -> None:
    for tool in pecia.app.full_view.tools.values():
        response = await pecia.http.post(tool_path(tool), json={})
        assert response.status_code == 401, tool.name
        assert response.headers["www-authenticate"] == (
            f'Bearer resource_metadata="{pecia.url}/.well-known/oauth-protected-resource/api/v1", '
            f'scope="{tool.scope.value}"'
        )


@requirement("lake.auth.pat")
async def test_a_personal_access_token_acts_as_its_user(pecia: Pecia) -> None:
    found = (await whoami(pecia, pecia.tokens["south", "bo"])).json()
    assert (found["tenant"], found["user"], found["credential"]) == ("south", "bo", "pat")


@requirement("lake.auth.pat_prefix")
async def test_a_token_is_known_by_its_prefix_and_holds_a_checksum(pecia: Pecia) -> None:
    token = await pecia.token("north", "bo", ["pecia.read"])
    assert token.startswith("peciapat_")
    mistyped = token[:-1] + ("0" if token[-1] != "0" else "1")
    response = await whoami(pecia, mistyped)
    assert response.status_code == 401
    assert "checksum" in response.json()["error"]["message"]


@requirement("lake.auth.pat_hashed")
async def test_the_database_holds_the_hash_of_a_token_and_never_the_token(pecia: Pecia) -> None:
    token = await pecia.token("north", "bo", ["pecia.read"])
    assert (await whoami(pecia, token)).status_code == 200
    await pecia.app.audit_log.drain()
    async with pecia.app.store.system() as tx:
        hashes = [it["hash"] for it in await tx.fetch_all("SELECT hash FROM kernel.credential")]
        tables = await tx.fetch_all(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname = 'kernel'"
        )
        holders = [
            it["tablename"]
            for it in tables
            if await tx.fetch_value(
                f"SELECT count(*) FROM kernel.{it['tablename']} t"  # pyright: ignore[reportArgumentType] - names from the catalogue
                " WHERE position(%(token)s IN t::text) > 0",
                token=token,
            )
        ]
    assert hashlib.sha256(token.encode()).digest() in [bytes(it) for it in hashes]
    assert holders == []


@requirement("lake.auth.pat_offline")
async def test_a_personal_access_token_is_checked_without_the_network(
    trusting: Pecia, issuer: LoopbackIssuer
) -> None:
    issuer.is_dead = True
    assert (await whoami(trusting, trusting.tokens["north", "bo"])).status_code == 200
    assert issuer.hits == 0


@requirement("lake.auth.oidc")
async def test_a_token_of_the_identity_provider_acts_as_its_subject(
    trusting: Pecia, issuer: LoopbackIssuer
) -> None:
    token = issuer.token(sub="cy", tenant="north", scope="pecia.read pecia.search")
    found = (await whoami(trusting, token)).json()
    assert (found["tenant"], found["credential"]) == ("north", "oidc")
    assert found["user"] == f"cy@{issuer.url}"
    assert found["scopes"] == ["pecia.read", "pecia.search"]


@requirement("lake.auth.oidc_audience")
async def test_a_token_for_another_server_or_by_another_issuer_is_refused(
    trusting: Pecia, issuer: LoopbackIssuer
) -> None:
    good = {"tenant": "north", "scope": "pecia.read"}
    stranger = SigningKey.new("first", "ES256")
    refused = {
        "another audience": issuer.token(aud="https://other.example/mcp", **good),
        "no audience": issuer.token(aud=None, **good),
        "another issuer": issuer.token(iss="https://other.example", **good),
        "another key": issuer.token(stranger, **good),
        "expired": issuer.token(exp=1, **good),
    }
    assert (await whoami(trusting, issuer.token(**good))).status_code == 200
    for why, token in refused.items():
        response = await whoami(trusting, token)
        assert response.status_code == 401, why
        assert 'error="invalid_token"' in response.headers["www-authenticate"]


@requirement("lake.auth.cluster_admin_refused")
async def test_a_cluster_administrator_calls_no_tool(pecia: Pecia) -> None:
    for tool in pecia.app.full_view.tools.values():
        response = await pecia.http.post(tool_path(tool), json={}, headers=bearing(pecia.operator))
        assert response.status_code == 403, tool.name
        assert response.json()["error"]["message"] == "an operator's token calls no tools"


@requirement("lake.discovery.metadata", "lake.discovery.public")
async def test_anybody_may_read_which_resource_this_is_and_who_issues_tokens_for_it(
    trusting: Pecia, issuer: LoopbackIssuer
) -> None:
    response = await trusting.http.get("/.well-known/oauth-protected-resource")
    assert response.status_code == 200
    assert response.json() == {
        "resource": AUDIENCE,
        "resource_name": "Pecia",
        "authorization_servers": [issuer.url],
        "scopes_supported": response.json()["scopes_supported"],
        "bearer_methods_supported": ["header"],
    }
    assert {"pecia.read"} <= {*response.json()["scopes_supported"]}


@requirement("lake.discovery.metadata", "lake.discovery.public")
async def test_a_challenge_leads_to_metadata_of_the_very_endpoint(pecia: Pecia) -> None:
    refused = await pecia.http.post("/api/v1/admin/whoami", json={})
    where = refused.headers["www-authenticate"].split('resource_metadata="')[1].split('"')[0]
    found = (await pecia.http.get(where)).json()
    assert found["resource"] == f"{pecia.url}/api/v1"
    # Without an identity provider there is no server to name, and the document says so.
    assert "authorization_servers" not in found
    assert "personal access token" in found["pecia_note"]
    absent = await pecia.http.get("/.well-known/oauth-protected-resource/elsewhere")
    assert absent.status_code == 404


@requirement("lake.scopes.names")
async def test_the_scopes_of_the_reference_stand_for_ours(
    trusting: Pecia, issuer: LoopbackIssuer
) -> None:
    for name, ours in (("kdbl.search", "pecia.search"), ("kdbl.read", "pecia.read")):
        token = issuer.token(sub=name, tenant="north", scope=f"openid {name} kdbl.read")
        found = (await whoami(trusting, token)).json()
        assert ours in found["scopes"]


@requirement("lake.scopes.enforced")
async def test_without_the_scope_of_a_tool_it_does_not_run(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    probe = Probe()
    async with open_pecia(database, tmp_path / "home", features=[probe.feature()]) as pecia:
        weak = bearing(await pecia.token("north", "ana", ["pecia.read"]))
        response = await pecia.call("probe/write", headers=weak)
        metadata = f"{pecia.url}/.well-known/oauth-protected-resource/api/v1"
    assert response.status_code == 403
    assert response.headers["www-authenticate"] == (
        f'Bearer error="insufficient_scope", scope="pecia.write", resource_metadata="{metadata}", '
        'error_description="write needs the scope pecia.write"'
    )
    assert probe.calls == 0

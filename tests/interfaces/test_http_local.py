"""Local mode: whoever sits at the machine is the owner, and nobody else is."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio

WHOAMI = "/api/v1/admin/whoami"


@pytest.fixture
async def local(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path / "home", mode="local") as served:
        yield served


async def test_the_owner_needs_no_token(local: Pecia) -> None:
    found = (await local.http.get(WHOAMI)).json()
    assert (found["tenant"], found["credential"]) == ("local", "local")


async def test_the_owner_is_not_slowed_like_a_stranger(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(
        database, tmp_path / "home", mode="local", address_rate_per_s="0.001", address_burst="1"
    ) as local:
        assert [(await local.http.get(WHOAMI)).status_code for _ in range(5)] == [200] * 5


async def test_who_comes_through_a_proxy_is_not_the_owner(local: Pecia) -> None:
    for header, value in (
        ("x-forwarded-for", "203.0.113.9"),
        ("x-forwarded-for", "127.0.0.1"),
        ("forwarded", "for=127.0.0.1"),
        ("via", "1.1 proxy"),
        ("x-real-ip", "127.0.0.1"),
    ):
        response = await local.http.get(WHOAMI, headers={header: value})
        assert response.status_code == 401, header
        assert response.headers["www-authenticate"].startswith("Bearer resource_metadata=")


async def test_a_token_works_as_anywhere(local: Pecia) -> None:
    found = (await local.http.get(WHOAMI, headers=local.bo)).json()
    assert (found["tenant"], found["user"]) == ("north", "bo")


async def test_a_bad_token_does_not_fall_back_to_the_owner(local: Pecia) -> None:
    assert (await local.http.get(WHOAMI, headers=bearing("peciapat_x"))).status_code == 401
    assert (await local.http.get(WHOAMI, headers={"authorization": "Basic x"})).status_code == 401


async def test_a_page_of_another_site_gets_nothing_in_the_owners_name(local: Pecia) -> None:
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"http://localhost:{local.port + 1}"},
        {"host": "evil.example"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    ):
        response = await local.http.get(WHOAMI, headers=headers)
        assert response.status_code in (403, 421)
    assert await local.audit(tool="admin.whoami") == []


async def test_a_form_of_another_site_cannot_post(local: Pecia) -> None:
    response = await local.http.post(
        "/api/v1/admin/add_user",
        content=b'{"name": "mallory"}',
        headers={"content-type": "text/plain"},
    )
    assert response.status_code == 415

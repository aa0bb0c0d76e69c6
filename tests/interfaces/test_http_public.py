"""Callers without a token: the read tools of features the operator named, of one tenant."""

from pathlib import Path

import pytest

from pecia.kernel.errors import InvalidEnum
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import bearing, open_pecia, open_unserved

pytestmark = pytest.mark.anyio


async def test_the_public_reads_what_is_open_to_anyone_and_nothing_else(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_unserved(database, tmp_path / "home") as before:
        tokens = before.tokens
    async with open_pecia(
        database, tmp_path / "home", public_toolsets="lake", public_tenant="north"
    ) as pecia:
        ana = bearing(tokens["north", "ana"])
        for source, to in (("brochure", "anyone"), ("plans", "everyone")):
            made = {"source_id": source, "trim_mode": "source_only", "protocol": "upload"}
            assert (await pecia.call("admin/add_source", made, ana)).status_code == 200
            grant = {"source_id": source, "to": to, "role": "reader"}
            assert (await pecia.call("admin/grant", grant, ana)).status_code == 200
        listed = await pecia.call("lake/list_sources", {}, {})
        assert [it["source_id"] for it in listed.json()["sources"]] == ["brochure"]
        (row,) = await pecia.audit(tool="lake.list_sources")
        assert (row["user_id"], row["status"]) == (None, "ok")


async def test_every_other_tool_asks_the_public_for_a_token(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_unserved(database, tmp_path / "home"):
        pass
    async with open_pecia(
        database, tmp_path / "home", public_toolsets="lake", public_tenant="north"
    ) as pecia:
        for path in ("admin/whoami", "admin/add_source"):
            refused = await pecia.call(path, {}, {})
            assert refused.status_code == 401, path
            assert "error=" not in refused.headers["www-authenticate"]


async def test_a_room_that_does_not_exist_is_refused_at_the_start(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_unserved(database, tmp_path / "home"):
        pass

    with pytest.raises(InvalidEnum) as caught:
        async with open_unserved(
            database, tmp_path / "home", public_toolsets="laek", public_tenant="north"
        ):
            pass
    assert caught.value.payload()["field"] == "public_toolsets"

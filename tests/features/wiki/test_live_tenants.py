"""Two tenants of one server: neither hears of the other's live documents."""

from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.features.wiki.live_editor import address, at
from tests.interfaces.tenant_server import Pecia, open_pecia

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pecia(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path / "home") as served:
        yield served


async def serve(pecia: Pecia, tenant: str, folder: Path) -> None:
    """A folder as the space `notes` of a tenant."""
    who = await pecia.app.authenticate(pecia.tokens[tenant, "ana"], CONTEXT)
    assert isinstance(who, Caller)
    trace = AuditRecord(uuid4(), "test", "test", who.tenant_id, who.user_id, who.credential_id)
    async with pecia.app.store.writing(who, trace) as tx:
        await catalog.add_source(
            tx, "wiki:notes", protocol="wiki", trim_mode="open", config={"folder": str(folder)}
        )


async def refusal(pecia: Pecia, space: str, doc: str) -> list[str]:
    headers = {"authorization": f"Bearer {pecia.tokens['south', 'ana']}"}
    with pytest.raises(InvalidStatus) as refused:
        await connect(address(pecia.url, doc, space), proxy=None, additional_headers=headers)
    assert refused.value.response.status_code == 404
    error = orjson.loads(refused.value.response.body or b"")["error"]
    return [error["code"], error["message"]]


async def test_a_document_of_another_tenant_is_not_there(pecia: Pecia, tmp_path: Path) -> None:
    for tenant in ("north", "south"):
        (tmp_path / tenant).mkdir()
        (tmp_path / tenant / "plan.md").write_text(f"{tenant}\n", encoding="utf-8")
    await serve(pecia, "north", tmp_path / "north")
    (tmp_path / "north" / "other.md").write_text("other\n", encoding="utf-8")
    async with at(pecia.url, "plan", "notes", pecia.tokens["north", "bo"]) as north:
        assert north.text == "north\n"
        for doc in ("plan", "none"):
            assert await refusal(pecia, "notes", doc) == ["NOT_FOUND", "no space 'notes'"]
            assert await refusal(pecia, "none", doc) == ["NOT_FOUND", "no space 'none'"]
        await serve(pecia, "south", tmp_path / "south")
        assert await refusal(pecia, "notes", "other") == ["NOT_FOUND", "no document 'other'"]
        async with at(pecia.url, "plan", "notes", pecia.tokens["south", "ana"]) as south:
            assert south.text == "south\n"
            south.type(0, "deep ")
            await south.saved()
            assert south.text == "deep south\n"
            assert north.text == "north\n"
            rows = await pecia.audit(tool="wiki/collab", status="error")
        assert [it["arguments"]["doc"] for it in rows] == ["plan", "plan", "none", "none", "other"]

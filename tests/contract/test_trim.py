"""What a caller may not see does not exist: over HTTP, and by SQL beneath it."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import put as put_text
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.contract.requirement import requirement
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio

OURS = ("kernel.source", "kernel.file", "kernel.acl", "kernel.user_account", "kernel.credential")


@pytest.fixture
async def pecia(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    """Two tenants, each with two files of one source; bo is granted nothing yet."""
    async with open_pecia(database, tmp_path / "home") as served:
        for tenant in ("north", "south"):
            token = served.tokens[tenant, "ana"]
            made = await served.call(
                "admin/add_source", {"source_id": "plans", "protocol": "upload"}, bearing(token)
            )
            assert made.status_code == 200
            await put(served, token, "open.md", "hidden.md")
        yield served


async def put(pecia: Pecia, token: str, *keys: str) -> None:
    who = await pecia.app.authenticate(token, CONTEXT)
    assert isinstance(who, Caller)
    trace = AuditRecord(uuid4(), "test", "test", who.tenant_id, who.user_id, who.credential_id)
    async with pecia.app.store.writing(who, trace) as tx:
        for key in keys:
            await put_text(tx, FileMetadata("plans", key, size_bytes=1), None)


async def sources(pecia: Pecia, headers: dict[str, str]) -> list[str]:
    listed = await pecia.call("lake/list_sources", {}, headers)
    return [it["source_id"] for it in listed.json()["sources"]]


async def grant(pecia: Pecia, key: str) -> None:
    given = {"source_id": "plans", "key": key, "to": ["user:bo"]}
    assert (await pecia.call("admin/grant_file", given)).status_code == 200


@requirement("lake.trim.source")
async def test_absent_and_hidden_are_answered_alike_with_what_lists_them(pecia: Pecia) -> None:
    for source_id in ("plans", "absent"):
        answer = await pecia.call("lake/list_files", {"source_id": source_id}, pecia.bo)
        assert answer.status_code == 404
        hint = answer.json()["error"]["hint"]
        assert hint == "Not found, or no access. Try `pecia source list`."
    asked = {"source_id": "plans", "key": "absent.md"}
    answer = await pecia.call("lake/get_file_metadata", asked, pecia.ana)
    assert answer.json()["error"]["hint"] == "Not found, or no access. Try `lake.list_files`."


@requirement("lake.trim.source")
async def test_a_source_without_a_right_shows_nothing_of_itself(pecia: Pecia) -> None:
    assert await sources(pecia, pecia.ana) == ["plans"]
    assert await sources(pecia, pecia.bo) == []
    hidden = await pecia.call("lake/list_files", {"source_id": "plans"}, pecia.bo)
    absent = await pecia.call("lake/list_files", {"source_id": "nowhere"}, pecia.bo)
    assert hidden.status_code == absent.status_code == 404
    assert shape(hidden.json(), "plans") == shape(absent.json(), "nowhere")


@requirement("lake.trim.file")
async def test_a_file_without_a_grant_shows_nothing_though_its_source_does(pecia: Pecia) -> None:
    await grant(pecia, "open.md")
    assert await sources(pecia, pecia.bo) == ["plans"]
    listed = await pecia.call("lake/list_files", {"source_id": "plans"}, pecia.bo)
    assert [it["key"] for it in listed.json()["files"]] == ["open.md"]
    ask = {"source_id": "plans", "key": "hidden.md"}
    hidden = await pecia.call("lake/get_file_metadata", ask, pecia.bo)
    absent = await pecia.call("lake/get_file_metadata", {**ask, "key": "absent.md"}, pecia.bo)
    assert hidden.status_code == absent.status_code == 404
    assert shape(hidden.json(), "hidden.md") == shape(absent.json(), "absent.md")


@requirement("lake.trim.tenant")
async def test_another_tenants_rows_are_not_there_even_without_a_filter(pecia: Pecia) -> None:
    who = await pecia.app.authenticate(pecia.tokens["north", "ana"], CONTEXT)
    assert isinstance(who, Caller)
    async with pecia.app.store.reading(who) as tx:
        tenants = await tx.fetch_all("SELECT DISTINCT tenant_id FROM kernel.source")
        files = await tx.fetch_all("SELECT DISTINCT tenant_id FROM kernel.file")
    assert [it["tenant_id"] for it in tenants] == [who.tenant_id]
    assert [it["tenant_id"] for it in files] == [who.tenant_id]
    listed = await pecia.call("lake/list_files", {"source_id": "plans"})
    assert len(listed.json()["files"]) == 2


@requirement("lake.trim.scoped_transaction")
async def test_a_transaction_that_names_no_caller_sees_no_row(pecia: Pecia) -> None:
    with psycopg.connect(pecia.app.store.logins.app) as connection:
        for table in OURS:
            found = connection.execute(f"SELECT count(tenant_id) FROM {table}").fetchone()  # pyright: ignore[reportArgumentType, reportCallIssue] - a name of this file
            assert found == (0,), table


@requirement("lake.trim.cannot_bypass")
async def test_the_login_that_serves_calls_is_bound_by_forced_policies(pecia: Pecia) -> None:
    with psycopg.connect(pecia.app.store.logins.app) as connection:
        role = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles"
            " WHERE rolname = current_user"
        ).fetchone()
        owned = connection.execute(
            "SELECT relname FROM pg_class WHERE relowner = current_user::regrole"
        ).fetchall()
        unforced = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relkind = 'r' AND c.relnamespace = 'kernel'::regnamespace"
            " AND a.attname = 'tenant_id' AND NOT c.relforcerowsecurity"
        ).fetchall()
    assert role == (False, False, False)
    assert owned == []
    assert unforced == []


def shape(answer: dict[str, Any], name: str) -> str:
    """An answer without the name that was asked for, and without what differs every time."""
    answer.get("error", {}).pop("request_id", None)
    return str(answer).replace(name, "…")

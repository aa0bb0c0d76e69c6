"""A purged user leaves no byte: searched by content, in every table and every file of the home."""

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import put as put_text
from pecia.kernel.errors import Conflict, Forbidden, NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.audit.record import AuditRecord
from tests.conftest import CONTEXT, House

pytestmark = pytest.mark.anyio

NAME = "zebedee-quixote"
EMAIL = "zq7731@example.org"


def where_found(conninfo: str, words: list[str]) -> list[str]:
    """Every table with a row that holds one of the words."""
    found: list[str] = []
    with psycopg.connect(conninfo) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for in_schema, table in tables:
            query = sql.SQL("SELECT 1 FROM {} t WHERE t::text ~* %s LIMIT 1").format(
                sql.Identifier(in_schema, table)
            )
            try:
                with connection.transaction():
                    if connection.execute(query, ["|".join(words)]).fetchone():
                        found.append(f"{in_schema}.{table}")
            except psycopg.errors.InsufficientPrivilege:
                assert table in ("seal",)
    return found


def files_with(folder: Path, words: list[str]) -> list[Path]:
    files = [it for it in folder.rglob("*") if it.is_file()]
    return [it for it in files if any(word.encode() in it.read_bytes() for word in words)]


async def settle(house: House) -> Caller:
    """A user who has been everywhere."""
    call = house.call
    await call(house.ana, "add_user", name=NAME, known_as=[f"email::{EMAIL}"])
    await call(house.ana, "add_group", name="staff")
    await call(house.ana, "add_member", group="staff", user=NAME)
    await call(house.ana, "add_source", source_id="s1", protocol="upload")
    for to, role, folder in (
        (f"user:{NAME}", "writer", None),
        (f"email::{EMAIL}", "reader", "a"),
    ):
        await call(house.ana, "grant", source_id="s1", to=to, role=role, folder=folder)
    made = await call(house.ana, "make_token", label="his", user=NAME, scopes=["pecia.read"])
    caller = await house.app.authenticate(made["token"], CONTEXT)
    assert isinstance(caller, Caller)
    await call(caller, "whoami")
    return caller


async def test_no_byte_of_a_purged_user_is_left(house: House, tmp_path: Path) -> None:
    caller = await settle(house)
    system = house.app.store.logins.system
    words = [NAME, EMAIL, str(caller.user_id)]
    assert len(where_found(system, words)) >= 4
    await house.call(house.ana, "purge_user", user=NAME)
    await house.app.audit_log.drain()
    assert where_found(system, words) == []
    assert files_with(tmp_path, words) == []


async def test_what_a_purged_user_was_granted_opens_nothing_to_others(house: House) -> None:
    await settle(house)
    await house.call(house.ana, "purge_user", user=NAME)
    grants = await house.call(house.ana, "list_grants", source_id="s1")
    assert grants["grants"] == []
    await house.call(house.ana, "add_user", name=NAME)
    with pytest.raises(NotFound):
        await house.call(house.bo, "list_files", source_id="s1")


async def test_a_file_stays_when_its_reader_is_purged(house: House) -> None:
    await settle(house)
    trace = AuditRecord(
        uuid4(), "t", "t", house.ana.tenant_id, house.ana.user_id, house.ana.credential_id
    )
    async with house.app.store.writing(house.ana, trace) as tx:
        await put_text(tx, FileMetadata("s1", "a/1"), None)
    await house.call(house.ana, "purge_user", user=NAME)
    listed = await house.call(house.ana, "list_files", source_id="s1")
    assert [it["key"] for it in listed["files"]] == ["a/1"]


async def test_only_an_administrator_purges_and_never_himself(house: House) -> None:
    await settle(house)
    with pytest.raises(Forbidden):
        await house.call(house.bo, "purge_user", user=NAME)
    with pytest.raises(Conflict):
        await house.call(house.ana, "purge_user", user=house.ana.user)
    with pytest.raises(NotFound):
        await house.call(house.ana, "purge_user", user="nobody")

"""A store with two tenants, a source, and ways to put texts into it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from pecia.kernel.corpus.catalog.catalog import FileMetadata, add_source
from pecia.kernel.corpus.catalog.texts import ExtractedText, StoredFile, put
from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text

SOURCE = "s1"


@dataclass(frozen=True, slots=True)
class CorpusFixture:
    """`ana` administers a tenant in which `bo` is a member; `away` administers another."""

    store: Store
    ana: Caller
    bo: Caller
    away: Caller

    @property
    def tenant_id(self) -> UUID:
        return self.ana.tenant_id

    @asynccontextmanager
    async def writing(self, who: Caller) -> AsyncGenerator[Transaction]:
        trace = AuditRecord(uuid4(), "test", "test", who.tenant_id, who.user_id, who.credential_id)
        async with self.store.writing(who, trace) as tx:
            yield tx

    async def put(self, key: str, *paragraphs: str, title: str = "") -> StoredFile:
        """A text of some paragraphs, put by ana."""
        async with self.writing(self.ana) as tx:
            return await put(tx, FileMetadata(SOURCE, key), plain(*paragraphs, title=title))

    async def ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """One statement as the system, for what only the tables themselves can say."""
        async with await AsyncConnection.connect(self.store.logins.system) as connection:
            found = await connection.execute(statement.encode(), values)
            return await found.fetchall() if found.description else []


def plain(*paragraphs: str, title: str = "") -> ExtractedText:
    """Paragraphs long enough to be chunks of their own."""
    body = "\n\n".join(
        it if len(it) > 400 else f"{it} " * (700 // (len(it) + 1)) for it in paragraphs
    )
    return ExtractedText(
        build_canonical_text([RawUnit(1, UnitKind.SECTION, body)]), title=title, language="en"
    )


def pages(*texts: str) -> ExtractedText:
    raw = [RawUnit(n, UnitKind.PAGE, it, label=f"p. {n}") for n, it in enumerate(texts, start=1)]
    return ExtractedText(build_canonical_text(raw), title="Paged")


@asynccontextmanager
async def open_ground(store: Store) -> AsyncGenerator[CorpusFixture]:
    async with store.system() as tx:
        home = await tx.fetch_value("SELECT kernel.create_tenant('home')")
        away = await tx.fetch_value("SELECT kernel.create_tenant('away')")
        ground = CorpusFixture(
            store,
            ana=await _member(tx, home, "ana", "admin"),
            bo=await _member(tx, home, "bo", "member"),
            away=await _member(tx, away, "away", "admin"),
        )
    for who in (ground.ana, ground.away):
        async with ground.writing(who) as tx:
            await add_source(tx, SOURCE, protocol="folder", trim_mode="per_file", config={})
    yield ground


async def _member(tx: Transaction, tenant: UUID, name: str, role: str) -> Caller:
    user = await tx.fetch_value(
        "INSERT INTO kernel.user_account (tenant_id, name, role)"
        " VALUES (%(tenant)s, %(name)s, %(role)s) RETURNING id",
        tenant=tenant,
        name=name,
        role=role,
    )
    credential = await tx.fetch_value(
        "INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes)"
        " VALUES (%(tenant)s, 'local', %(user)s, %(scopes)s) RETURNING id",
        tenant=tenant,
        user=user,
        scopes=[*EVERY_SCOPE],
    )
    kind = CredentialKind.LOCAL
    return Caller(credential, kind, tenant, "t", user, name, EVERY_SCOPE, role == "admin")

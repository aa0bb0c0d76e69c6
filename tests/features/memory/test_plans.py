"""What a memory costs does not grow with those that are there: rows are looked up by key."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest

from pecia.features.memory.core.keys import MemoryFolder
from pecia.features.memory.embeddings import TextEmbeddings
from pecia.features.memory.model import MemoryDraft, MemoryKind, new_id
from pecia.features.memory.store import get_memory, insert_memories, load_hits, note_memories
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.store import Transaction
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

READ_WHOLE = (
    "SELECT relname FROM pg_stat_xact_all_tables WHERE schemaname IN ('kernel', 'memory')"
    " AND relname IN ('file', 'item', 'chunk', 'revision') AND seq_scan > 0 ORDER BY 1"
)


@asynccontextmanager
async def writing(memories: Memories) -> AsyncGenerator[Transaction]:
    who, store = memories.bo, memories.app.store
    trace = AuditRecord(uuid4(), "test", "test", who.tenant_id, who.user_id, who.credential_id)
    async with store.writing(who, trace) as tx:
        yield tx


async def read_whole(tx: Transaction) -> list[str]:
    """The tables that this transaction has gone through from end to end."""
    return [row["relname"] for row in await tx.fetch_all(cast(Any, READ_WHOLE))]


async def fill(memories: Memories) -> None:
    """As many as make the planner think of reading everything."""
    for part in range(3):
        said = [{"text": f"Shelf {part * 200 + n} holds the maps."} for n in range(200)]
        await memories.call(memories.bo, "memory_import", memories=said)
    login = memories.app.store.logins.owner
    async with await psycopg.AsyncConnection.connect(login, autocommit=True) as owner:
        await owner.execute("ANALYZE")


async def test_storing_ending_and_reading_memories_go_through_no_table(memories: Memories) -> None:
    await fill(memories)
    assert memories.bo.user_id is not None
    here = MemoryFolder("shared", memories.bo.user_id, MemoryKind.KNOWLEDGE, "plans")
    ids = [new_id() for _ in range(3)]
    drafts = {it: (here, MemoryDraft(f"The key {it} is on the hook.")) for it in ids}
    async with writing(memories) as tx:
        await insert_memories(tx, drafts, TextEmbeddings())
        assert await read_whole(tx) == []
        await note_memories(tx, [await get_memory(tx, ids[0])])
        assert await read_whole(tx) == []
        found = await load_hits(tx, range(1, 60), None)
        assert found
        assert await read_whole(tx) == []

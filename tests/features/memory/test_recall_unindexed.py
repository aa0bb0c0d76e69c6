"""Recall on a node without a keyword index, when the change log is trimmed: a new node, a restored
home, an index that is rebuilt. Nothing indexes here until a test does."""

import pytest

from pecia.app.app import index_root
from pecia.features.memory.retriever import MAX_NEWEST
from pecia.kernel.corpus.changelog import trim
from pecia.kernel.corpus.keyword.writer import IndexWriter
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio


async def test_what_a_trimmed_log_no_longer_names_is_found_without_an_index(
    memories: Memories,
) -> None:
    # One word of three is its own: the vectors alone are too far apart.
    text, asked = "The cooper keeps his adze in the loft.", "osprey marzipan adze"
    await memories.remember(memories.bo, text)
    await _trim_log(memories)
    assert await memories.recall(memories.bo, asked) == [text]
    assert await memories.recall(memories.cy, asked) == []


async def test_more_memories_than_are_scanned_without_an_index_are_told(
    memories: Memories,
) -> None:
    oldest = "The quarry opens when the bell of the chapel rings."
    await memories.remember(memories.bo, oldest)
    for start in range(0, MAX_NEWEST, 50):
        block = (f"Crate {n} of the harbour holds lot {n * 7}." for n in range(start, start + 50))
        await memories.remember(memories.bo, *block)
    await _trim_log(memories)
    found = await memories.call(memories.bo, "cipher_memory_search", query="quarry chapel")
    assert found["metadata"]["usedFallback"]
    assert "the keyword index is being built" in found["metadata"]["fallbackReason"]
    await _build_index(memories)
    found = await memories.call(memories.bo, "cipher_memory_search", query="quarry chapel")
    assert [it["text"] for it in found["results"]] == [oldest]
    assert "index" not in (found["metadata"]["fallbackReason"] or "")


async def _trim_log(memories: Memories) -> None:
    async with memories.app.store.system() as tx:
        await trim(tx)


async def _build_index(memories: Memories) -> None:
    app = memories.app
    root, tenant = index_root(app.settings.kernel), memories.ana.tenant_id
    writer = await IndexWriter.acquire(app.store, "test", root, tenant)
    assert writer is not None
    await writer.rebuild()
    await writer.close()

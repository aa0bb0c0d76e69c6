"""An index held against its store, chunk by chunk, and mended where they differ."""

from contextlib import aclosing
from dataclasses import dataclass

from anyio.to_thread import run_sync

from pecia.kernel.corpus.index.entry import Held
from pecia.kernel.corpus.index.keep import Keeper, Progress, entries_of, unseen
from pecia.kernel.corpus.index.keyword import KeywordIndex


@dataclass(frozen=True, slots=True)
class Differences:
    """The files in which an index differs from its store; `chunks` is what the store holds."""

    chunks: int
    missing: frozenset[int] = frozenset()
    extra: frozenset[int] = frozenset()
    stale: frozenset[int] = frozenset()

    @property
    def file_ids(self) -> list[int]:
        return sorted(self.missing | self.extra | self.stale)


async def differences(
    keeper: Keeper, index: KeywordIndex, progress: Progress = unseen
) -> Differences:
    """Compare every chunk with the store. What is written meanwhile may show as a difference."""
    held = await run_sync(_held, index)
    stored: dict[int, Held] = {}
    async with aclosing(keeper.documents(progress)) as portions:
        async for found in portions:
            stored |= {entry.id: entry.held() for file in found for entry in entries_of(file)}
    return Differences(
        chunks=len(stored),
        missing=frozenset(it.group for it in stored.values() if it.id not in held),
        extra=frozenset(it.group for it in held.values() if it.id not in stored),
        stale=frozenset(it.group for it in stored.values() if it.id in held and held[it.id] != it),
    )


async def mend(keeper: Keeper, index: KeywordIndex, found: Differences) -> None:
    """Bring the files that differ into the index as the store has them."""
    await keeper.put(index, found.file_ids)
    await run_sync(index.commit)


def _held(index: KeywordIndex) -> dict[int, Held]:
    return {it.id: it for it in index.contents()}

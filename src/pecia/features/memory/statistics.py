"""Planner statistics while memories are added: autovacuum looks once a minute, and until then a
table that was just filled is taken for an empty one and read whole at every search."""

from dataclasses import dataclass

from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.features.memory")
# ANALYZE is considered after so many writes; tables that have not doubled are left alone.
WRITES_PER_LOOK = 100


@dataclass(slots=True)
class GrowthStatistics:
    """Counts what this process added."""

    store: Store
    added: int = 0

    async def count(self, added: int) -> None:
        """Note new memories, and have tables that have doubled analyzed."""
        self.added += added
        if self.added < WRITES_PER_LOOK:
            return
        self.added = 0
        async with self.store.system() as tx:
            await tx.fetch_value(SQL["analyze_grown"])

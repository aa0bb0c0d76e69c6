"""ANALYZE of the corpus tables after bulk writes. It writes nothing itself."""

from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.kernel.corpus.catalog", "statistics.sql")


async def refresh_statistics(store: Store) -> None:
    """Refresh planner statistics now, so that the next search does not pay for it."""
    async with store.system() as tx:
        await tx.fetch_value(SQL["analyze_grown"])

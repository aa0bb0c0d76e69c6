"""Telling the database to look at the corpus after much was written. It writes nothing itself."""

from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.kernel.corpus.catalog", "statistics.sql")


async def refresh_statistics(store: Store) -> None:
    """What was just stored is planned for at once: who searches next does not pay for it."""
    async with store.system() as tx:
        await tx.fetch_value(SQL["take_stock"])

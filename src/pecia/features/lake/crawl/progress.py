"""Progress of long files during ingest: pages read of each, reported while it lasts.

A repeated report with nothing new is a heartbeat: a file whose pages are all read is being chunked
and stored. Short files are never reported. Best effort: nothing depends on it.
"""

from dataclasses import dataclass, field
from typing import Any

from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.logs import Log
from pecia.kernel.store.pg_errors import is_value_rejected
from pecia.kernel.store.queries import load_queries

SQL = load_queries("pecia.features.lake.crawl", "progress.sql")
_log = Log(__name__)


@dataclass(slots=True)
class IngestProgress:
    """Pages read and total pages, by key, of the files of one job."""

    call: JobCall
    source_key: dict[str, Any]
    pages: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    reported: set[str] = field(default_factory=set[str])

    def update(self, key: str, done: int, of: int) -> None:
        self.pages[key] = (done, of)

    def finish(self, key: str) -> None:
        self.pages.pop(key, None)

    async def report(self) -> None:
        """Write the current progress, and delete rows of finished files. Best effort: if the store
        refuses it, the files are read all the same."""
        try:
            await self._report()
        except PeciaError as error:
            if not is_value_rejected(error):
                raise
            _log.failure("lake.extraction_progress", error)

    async def _report(self) -> None:
        now = dict(self.pages)
        gone = self.reported - now.keys()
        if not (now or gone):
            return
        # Before the write: a cancelled run must still delete the rows.
        self.reported |= now.keys()
        async with self.call.tx() as tx:
            await tx.execute(SQL["drop_underway"], keys=sorted(gone), **self.source_key)
            await tx.execute(
                SQL["put_underway"],
                keys=sorted(now),
                pages_read=[now[it][0] for it in sorted(now)],
                pages=[now[it][1] for it in sorted(now)],
                **self.source_key,
            )
        self.reported = {*now}
        if now:
            await self.call.progress(*_sum(now), message=_message(now))


def _sum(pages: dict[str, tuple[int, int]]) -> tuple[int, int]:
    return sum(it for it, _ in pages.values()), sum(it for _, it in pages.values())


def _message(pages: dict[str, tuple[int, int]]) -> str:
    """A summary of constant length. `lake.extraction_progress` names the files."""
    done, of = _sum(pages)
    files = "1 long file" if len(pages) == 1 else f"{len(pages):,} long files"
    return f"{files}: page {done:,} of {of:,}" if done < of else f"{files}: being stored"

"""A keyword index of chunks: write, search, explain. It knows neither store nor caller.

Only one process at a time may `apply`; any number may read. Nothing here waits or starts a thread
of ours, and every call blocks: ask from a worker thread.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import tantivy

from pecia.kernel.corpus.keyword.analysis import analyzer
from pecia.kernel.corpus.keyword.analysis.analyzer import (
    ANALYZER_VERSION,
    CURSOR_ROLE,
    FIELD_WEIGHTS,
)
from pecia.kernel.corpus.keyword.entry import NO_HITS, IndexedChunk, IndexEntry, KeywordHit, TopHits
from pecia.kernel.corpus.keyword.idf import VisibleStatistics
from pecia.kernel.corpus.keyword.query.parser import NO_FILTER, Filter, Query, parse_query
from pecia.kernel.corpus.keyword.snapshot import IndexSnapshot
from pecia.kernel.errors import PeciaError, StorageFull, Unavailable

__all__ = [
    "ANALYZER_VERSION",
    "FIELD_WEIGHTS",
    "NO_FILTER",
    "NO_HITS",
    "Filter",
    "IndexEntry",
    "IndexUnusable",
    "IndexedChunk",
    "KeywordHit",
    "KeywordIndex",
    "Query",
    "TopHits",
    "VisibleStatistics",
    "parse_query",
]

# The least the engine takes; one thread, because the machine has other work.
WRITER_BYTES = 15_000_000


class IndexUnusable(Unavailable):
    """The index on disk is corrupt, or of another version: it must be rebuilt."""


class KeywordIndex:
    """One index, in memory or in a directory. Equal scores are ranked by id."""

    def __init__(self, index: tantivy.Index, writer_bytes: int = WRITER_BYTES) -> None:
        self._index = index
        self._writer_bytes = writer_bytes
        self._writer: tantivy.IndexWriter | None = None
        analyzer.register_analyzers(index)
        # Reload manually: no commit appears in the middle of a query.
        index.config_reader("manual")
        self._snapshot = IndexSnapshot(index)

    @classmethod
    def in_memory(cls, writer_bytes: int = WRITER_BYTES) -> Self:
        return cls(tantivy.Index(analyzer.build_schema()), writer_bytes)

    @classmethod
    def open(cls, path: Path, writer_bytes: int = WRITER_BYTES) -> Self:
        """Open the index in that directory, or create it. IndexUnusable if it cannot be read."""
        is_new = not (path / "meta.json").exists()
        kind, words = (StorageFull, "made") if is_new else (IndexUnusable, "read")
        with _reraise_as(kind, f"the index cannot be {words}"):
            path.mkdir(parents=True, exist_ok=True)
            return cls(tantivy.Index(analyzer.build_schema(), str(path)), writer_bytes)

    @classmethod
    def open_reader(cls, path: Path) -> Self:
        """Open the index in that directory, read-only. IndexUnusable if there is none."""
        with _reraise_unusable():
            return cls(tantivy.Index.open(str(path)))

    def apply(
        self, groups_gone: Iterable[int], entries: Iterable[IndexEntry], cursor: int | None = None
    ) -> None:
        """Delete whole groups, replace others, set the cursor: one commit.

        All entries of a group must come together. A crash leaves all of it or nothing.
        """
        self.stage(groups_gone, entries)
        self.commit(cursor)

    def stage(self, groups_gone: Iterable[int], entries: Iterable[IndexEntry]) -> None:
        """The same, visible at the next commit and lost without one."""
        held = list(entries)
        # Built before anything is written: an invalid entry is not a disk fault.
        documents = [*analyzer.build_documents(held)]
        with self._open_writer() as writer:
            for group in {*groups_gone, *(it.group for it in held)}:
                writer.delete_documents_by_term("group", group)
                writer.delete_documents_by_term("balanced", group)
            for document in documents:
                writer.add_document(document)

    def commit(self, cursor: int | None = None) -> None:
        """Commit what was staged. Without a cursor, the last one stays."""
        with self._open_writer() as writer:
            if cursor is not None:
                writer.delete_documents_by_term("role", CURSOR_ROLE)
                writer.add_document(analyzer.build_cursor_document(cursor))
            writer.commit()
        self.reload()

    def close_writer(self) -> None:
        """Finish merges and release the writer, its memory and its threads."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()

    def reload(self) -> None:
        """See the last commit of any process. Running searches keep their snapshot."""
        with _reraise_unusable():
            self._index.reload()
            self._snapshot = IndexSnapshot(self._index)

    def cursor(self) -> int | None:
        """The log position of the index; None if not set, or set by another version."""
        with _reraise_unusable():
            return self._snapshot.cursor()

    def search(
        self,
        query: Query,
        asked: Filter = NO_FILTER,
        limit: int = 20,
        visible: VisibleStatistics | None = None,
    ) -> list[KeywordHit]:
        """The best `limit` of what the filters leave. Without a term, all that match.

        A query that names neither words nor a place finds nothing. Words weigh as they do among
        what is `visible`; None is everything.
        """
        return self.top(query, asked, limit, limit, visible).hits

    def top(
        self,
        query: Query,
        asked: Filter,
        most: int,
        least: int,
        visible: VisibleStatistics | None = None,
    ) -> TopHits:
        """The same, but that it may be fewer than there are, though never less than `least` then:
        to see the end of a tie takes as long again as the question.
        """
        with _reraise_unusable():
            return self._snapshot.top(query, asked, most, least, visible)

    def search_groups(
        self,
        query: Query,
        groups: Sequence[int],
        limit: int,
        visible: VisibleStatistics | None = None,
    ) -> list[KeywordHit]:
        """The best `limit` of these groups by what their pages say; none that says nothing."""
        with _reraise_unusable():
            return self._snapshot.search_groups(query, groups, limit, visible)

    def context_scores(
        self, query: Query, ids: Sequence[int], visible: VisibleStatistics | None = None
    ) -> dict[int, float]:
        """The scores of these chunks by their context: what else a short file says counts too."""
        with _reraise_unusable():
            return self._snapshot.context_scores(query, ids, visible)

    def count(self, asked: Filter = NO_FILTER) -> int:
        """How many chunks match the filter."""
        with _reraise_unusable():
            return self._snapshot.count(asked)

    def long_groups(self, groups: Iterable[int], size: int) -> frozenset[int]:
        """The groups with at least so many chunks. Recently deleted ones still count."""
        with _reraise_unusable():
            return self._snapshot.long_groups(groups, size)

    def rarity(self, query: Query, visible: VisibleStatistics | None) -> dict[str, float]:
        """The IDF of the query's terms among what is visible, from 0 to 1."""
        with _reraise_unusable():
            return self._snapshot.rarity(query, visible)

    def absent_words(self, query: Query, visible: VisibleStatistics | None) -> tuple[str, ...]:
        """The words of the query that stand in no visible text, title or path, in any form."""
        with _reraise_unusable():
            return self._snapshot.absent_words(query, visible)

    def completions(
        self, beginning: str, visible: VisibleStatistics | None, limit: int
    ) -> tuple[str, ...]:
        """The most frequent visible words that begin so; none if it is itself a word of them."""
        with _reraise_unusable():
            return self._snapshot.completions(beginning, visible, limit)

    def explain(
        self, query: Query, ids: Sequence[int], visible: VisibleStatistics | None = None
    ) -> dict[int, dict[str, float]]:
        """The score of each field for these chunks; they add up to the total."""
        with _reraise_unusable():
            return self._snapshot.explain(query, ids, visible)

    def iter_chunks(self) -> Iterator[IndexedChunk]:
        """Every chunk, in no order."""
        return self._snapshot.iter_chunks()

    def groups(self) -> set[int]:
        """The groups of all chunks."""
        with _reraise_unusable():
            return self._snapshot.groups()

    @contextmanager
    def _open_writer(self) -> Generator[tantivy.IndexWriter]:
        """The writer. One that failed is dropped, with what it had not committed."""
        if self._writer is None:
            with _reraise_as(Unavailable, "the index cannot be opened for writing"):
                self._writer = self._index.writer(self._writer_bytes, 1)
                # An interrupted commit leaves files under names that the next one needs.
                self._writer.garbage_collect_files()
        try:
            with _reraise_as(StorageFull, "the index cannot be written"):
                yield self._writer
        except StorageFull:
            self._discard_writer()
            raise

    def _discard_writer(self) -> None:
        # Waiting makes the engine release its lock, even while references remain.
        with suppress(StorageFull), _reraise_as(StorageFull, "the writer failed"):
            self.close_writer()


@contextmanager
def _reraise_unusable() -> Generator[None]:
    with _reraise_as(IndexUnusable, "the index cannot be read"):
        yield


@contextmanager
def _reraise_as(kind: type[PeciaError], words: str) -> Generator[None]:
    """Convert the engine's errors. On a corrupt file it panics, which is not a Python Exception and
    would end the process."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise kind(f"{words}: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise kind(f"{words}: {error}") from error

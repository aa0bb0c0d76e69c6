"""Measuring search on a test collection, through the very call that the tools make.

The collection becomes a source of a Pecia that is made for this and thrown away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pecia.app.app import App, index_root
from pecia.app.dispatch import RequestContext
from pecia.app.evaluation.beir import BeirCollection, BeirDocument
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.evaluation.metrics import compute_metrics
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.corpus.search.search import Corpus, SearchMode, SearchRequest
from pecia.kernel.corpus.vectors.embed_job import embed_job
from pecia.kernel.errors import InternalError, InvalidInput
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from pecia.kernel.text.chunks.chunk import TextMarkup

Progress: TypeAlias = Callable[[str, int, int], None]
"""What is being done, how much of it is done, of how much."""

SOURCE = "collection"
BATCH = 200
SEARCH_DEPTH = 100
REQUEST_CONTEXT = RequestContext("cli")


@dataclass(frozen=True, slots=True)
class SearchEvaluation:
    """One collection in one scratch Pecia."""

    app: App
    owner: Caller
    on_progress: Progress

    async def run(self, collection: BeirCollection, mode: SearchMode) -> dict[str, float]:
        """The figures of the collection's judged queries."""
        if mode is SearchMode.HYBRID and self.app.embedder is None:
            raise InvalidInput(
                f"the mode {mode.value!r} needs an embedder, and none is configured",
                field="mode",
                expected=SearchMode.LEXICAL.value,
                hint="--mode lexical needs none; pecia doctor says what the embedder lacks",
            )
        arguments = {"source_id": SOURCE, "protocol": "upload", "trim_mode": "open"}
        await self.app.call(self.owner, "add_source", arguments, REQUEST_CONTEXT)
        await self._store_documents(collection.documents)
        await self._index()
        if mode is SearchMode.HYBRID:
            await self._embed(len(collection.documents))
        corpus = Corpus(
            self.app.store, ReaderCache(index_root(self.app.settings.kernel)), self.app.embedder
        )
        found: dict[str, list[str]] = {}
        for number, (name, query) in enumerate(collection.queries.items()):
            self.on_progress("asking", number, len(collection.queries))
            answer = await corpus.search(
                self.owner, SearchRequest(query, limit=SEARCH_DEPTH, mode=mode)
            )
            if answer.degraded:
                raise InternalError(
                    f"query {name!r} was not answered in full: {answer.degraded[0]}"
                )
            found[name] = [it.passage.key for it in answer.hits]
        return compute_metrics(found, collection.qrels)

    async def _store_documents(self, documents: tuple[BeirDocument, ...]) -> None:
        for start in range(0, len(documents), BATCH):
            self.on_progress("storing", start, len(documents))
            batch = [_file(it) for it in documents[start : start + BATCH]]
            async with self.app.store.system() as tx:
                await texts.put_many(tx, batch, tenant_id=self.owner.tenant_id)

    async def _index(self) -> None:
        root = index_root(self.app.settings.kernel)
        writer = await IndexWriter.acquire(self.app.store, "evaluation", root, self.owner.tenant_id)
        if writer is None:
            raise InternalError("another process has the lock of this index")
        try:
            await writer.rebuild(lambda done, of: self.on_progress("indexing", done, of))
        finally:
            await writer.close()

    async def _embed(self, documents: int) -> None:
        assert self.app.embedder is not None
        self.on_progress("embedding", 0, documents)
        job = embed_job(self.app.embedder, schedule=None)
        async with self.app.store.system() as tx:
            await defer_as_system(tx, job, NoArguments(), tenant_id=self.owner.tenant_id)
        await run_until_idle(self.app.store, [job])


def _file(it: BeirDocument) -> tuple[FileMetadata, ExtractedText]:
    whole = build_canonical_text((RawUnit(1, UnitKind.SECTION, it.text),))
    return FileMetadata(SOURCE, it.id), ExtractedText(
        whole, title=it.title, markup=TextMarkup.PLAIN
    )

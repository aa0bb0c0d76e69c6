"""Measuring search on a test collection, through the very call that the tools make.

The collection becomes a source of a Pecia that is made for this and thrown away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pecia.adapters.beir import Collection, Document
from pecia.app.app import App, index_root
from pecia.app.corridor import Visit
from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.embed_job import embed_job
from pecia.kernel.corpus.evaluate import figures
from pecia.kernel.corpus.index.keep import Keeper
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.search import Ask, Corpus, Mode
from pecia.kernel.corpus.texts import Text
from pecia.kernel.errors import InternalError, InvalidInput
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.text.canonical import RawUnit, UnitKind, canonical_text
from pecia.kernel.text.chunk import Markup

Progress: TypeAlias = Callable[[str, int, int], None]
"""What is being done, how much of it is done, of how much."""

SOURCE = "collection"
BATCH = 200
DEEP = 100
VISIT = Visit("cli")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One collection in one scratch Pecia."""

    app: App
    owner: Caller
    told: Progress

    async def run(self, collection: Collection, mode: Mode) -> dict[str, float]:
        """The figures of the collection's judged queries."""
        if mode is Mode.HYBRID and self.app.embedder is None:
            raise InvalidInput("no embedder is configured", field="mode", expected="lexical")
        arguments = {"source_id": SOURCE, "protocol": "upload", "trim_mode": "open"}
        await self.app.call(self.owner, "add_source", arguments, VISIT)
        await self._put(collection.documents)
        await self._index()
        if mode is Mode.HYBRID:
            await self._embed(len(collection.documents))
        corpus = Corpus(
            self.app.store, Shelf(index_root(self.app.settings.kernel)), self.app.embedder
        )
        found: dict[str, list[str]] = {}
        for number, (name, query) in enumerate(collection.queries.items()):
            self.told("asking", number, len(collection.queries))
            answer = await corpus.search(self.owner, Ask(query, limit=DEEP, mode=mode))
            if answer.degraded:
                raise InternalError(
                    f"query {name!r} was not answered in full: {answer.degraded[0]}"
                )
            found[name] = [it.passage.key for it in answer.hits]
        return figures(found, collection.judged)

    async def _put(self, documents: tuple[Document, ...]) -> None:
        for start in range(0, len(documents), BATCH):
            self.told("storing", start, len(documents))
            batch = [_file(it) for it in documents[start : start + BATCH]]
            async with self.app.store.system() as tx:
                await texts.put_many(tx, batch, tenant_id=self.owner.tenant_id)

    async def _index(self) -> None:
        root = index_root(self.app.settings.kernel)
        keeper = await Keeper.take(self.app.store, "evaluation", root, self.owner.tenant_id)
        if keeper is None:
            raise InternalError("another process keeps this index")
        try:
            await keeper.rebuild(lambda done, of: self.told("indexing", done, of))
        finally:
            await keeper.close()

    async def _embed(self, documents: int) -> None:
        assert self.app.embedder is not None
        self.told("embedding", 0, documents)
        job = embed_job(self.app.embedder, schedule=None)
        async with self.app.store.system() as tx:
            await defer_as_system(tx, job, NoArguments(), tenant_id=self.owner.tenant_id)
        await run_until_idle(self.app.store, [job])


def _file(it: Document) -> tuple[FileFacts, Text]:
    whole = canonical_text((RawUnit(1, UnitKind.SECTION, it.text),))
    return FileFacts(SOURCE, it.id), Text(whole, title=it.title, markup=Markup.PLAIN)

"""Ranks tools against a query, with the same index and fusion as documents.

Lazy: nothing is built or imported before the first query. Without an embedder, or while it fails,
ranking is lexical only.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors, normalize
from pecia.kernel.errors import PeciaError
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.on_demand import load_tools
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import ToolView, full_name

if TYPE_CHECKING:
    from pecia.kernel.corpus.keyword.index import KeywordIndex
    from pecia.kernel.corpus.keyword.query.parser import Query
    from pecia.kernel.corpus.search.fuse import FusedHit

PhrasesByTool: TypeAlias = Mapping[str, Sequence[str]]

# Candidates of the semantic retriever; more than a caller can ask for.
MAX_SEMANTIC_HITS = 20
# The name is short and telling: its vector is mixed into that of the description.
NAME_WEIGHT = 0.5
# How long a query waits for vectors of new tools. Tools without one yet lose no rank.
EMBED_BUDGET_S = 1.5
_EMBED_BATCH = 8


class ToolFinder:
    """Ranks the tools of one view. Built at the first query, then reused."""

    def __init__(
        self,
        view: ToolView,
        embedder: Embedder | None = None,
        phrases: PhrasesByTool | None = None,
    ) -> None:
        known = load_phrases() if phrases is None else phrases
        self._tools = [
            _ToolDocument(name, tool, known.get(full_name(tool), ()))
            for name, tool in view.tools.items()
        ]
        self._embedder = embedder
        self._index: KeywordIndex | None = None
        self._vectors: dict[int, Vectors] = {}
        self._phrase_vectors: dict[int, Vectors] = {}
        self._building = anyio.Lock()
        self._embedding = anyio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether every tool has its vector, where there is an embedder."""
        return self._embedder is None or len(self._vectors) == len(self._tools)

    async def find(self, words: str) -> Sequence[tuple[str, AnyTool]]:
        """Names and tools, best match first; without tools that do not match."""
        from pecia.kernel.corpus.keyword.query.parser import parse_query

        index = await self._ensure_index()
        cosines = await self._semantic_scores(words)
        found = await run_sync(self._rank, index, parse_query(words), words, cosines)
        return [(self._tools[it].name, self._tools[it].tool) for it in found]

    def _rank(
        self, index: "KeywordIndex", query: "Query", words: str, cosines: Mapping[int, float]
    ) -> list[int]:
        from pecia.kernel.corpus.search.fuse import choose_semantic_weight, fuse

        hits = index.search(query, limit=max(1, len(self._tools)))
        scores = {it.id: it.score for it in hits}
        nearest = sorted(cosines, key=lambda it: (-cosines[it], it))[:MAX_SEMANTIC_HITS]
        semantic = {it: cosines[it] for it in {*nearest, *scores} if it in cosines}
        language = self._embedder.language if self._embedder else ""
        weight = choose_semantic_weight(words, language)
        fused = fuse(scores, semantic, weight=weight)
        return self._rerank(fused, query, weight) if semantic else [it.id for it in fused]

    def _rerank(self, fused: "Sequence[FusedHit]", query: "Query", weight: float) -> list[int]:
        from pecia.kernel.corpus.search.evidence import CandidateText
        from pecia.kernel.corpus.search.rerank import rerank

        readings = {
            it.id: CandidateText(it.id, described.text, described.words, language="en")
            for it in fused
            for described in (self._tools[it.id],)
        }
        return [it.id for it in rerank(fused, readings, query, weight=weight)]

    async def _ensure_index(self) -> "KeywordIndex":
        async with self._building:
            if self._index is None:
                await load_tools(it.tool for it in self._tools)
                self._index = await run_sync(_build_index, self._tools)
            return self._index

    async def _semantic_scores(self, words: str) -> Mapping[int, float]:
        """The cosine of every tool that has a vector; empty while the embedder fails."""
        if self._embedder is None:
            return {}
        with suppress(PeciaError):
            await self._embed_missing(self._embedder)
            (query_vector,) = await self._embedder.embed([words])
            return {it: self._cosine(it, query_vector) for it in self._vectors}
        return {}

    def _cosine(self, number: int, query_vector: Vectors) -> float:
        """Of the description or of the nearest phrase, whichever is nearer."""
        own = float(self._vectors[number] @ query_vector)
        phrases = self._phrase_vectors.get(number)
        return own if phrases is None else max(own, float((phrases @ query_vector).max()))

    async def _embed_missing(self, embedder: Embedder) -> None:
        """Embeds missing tools in batches, within a time budget per query."""
        async with self._embedding:
            missing = [it for it in range(len(self._tools)) if it not in self._vectors]
            until = anyio.current_time() + EMBED_BUDGET_S
            for at in range(0, len(missing), _EMBED_BATCH):
                batch = [self._tools[it] for it in missing[at : at + _EMBED_BATCH]]
                embedded = await embedder.embed(
                    [*(it.text for it in batch), *(it.words for it in batch)]
                )
                texts, words = embedded[: len(batch)], embedded[len(batch) :]
                blended = normalize(texts + NAME_WEIGHT * words)
                for number, it in zip(missing[at:], batch, strict=False):
                    if it.phrases:
                        self._phrase_vectors[number] = await embedder.embed([*it.phrases])
                self._vectors |= dict(zip(missing[at:], blended, strict=False))
                if anyio.current_time() > until:
                    return


@dataclass(frozen=True, slots=True)
class _ToolDocument:
    """A tool as a document: the words of its name, and its description."""

    name: str
    tool: AnyTool
    phrases: Sequence[str] = ()
    """What people say when they mean it."""

    @property
    def words(self) -> str:
        from pecia.kernel.corpus.keyword.analysis.token_filters import split_name

        return split_name(self.tool.name)

    @property
    def text(self) -> str:
        return self.tool.description or self.words

    @property
    def arguments(self) -> Iterator[str]:
        properties: Mapping[str, Any] = input_schema(self.tool).get("properties", {})
        for name, schema in properties.items():
            yield f"{name} {schema.get('description', '')}".strip()


@cache
def load_phrases() -> PhrasesByTool:
    """What people say when they mean a tool, by its full name. Tools of others have none."""
    found = files("pecia.features.discovery").joinpath("phrases.toml").read_text("utf-8")
    return {
        f"{feature}.{name}": phrases
        for feature, tools in tomllib.loads(found).items()
        for name, phrases in tools.items()
    }


def _build_index(tools: Sequence[_ToolDocument]) -> "KeywordIndex":
    from pecia.kernel.corpus.keyword.index import IndexEntry, KeywordIndex

    index = KeywordIndex.in_memory()
    index.apply(
        (),
        (
            IndexEntry(
                number,
                number,
                key=f"{it.tool.feature}/{it.name}",
                language="en",
                title=it.tool.name,
                headings=it.tool.title,
                body="\n".join((it.text, *it.phrases, *it.arguments)),
            )
            for number, it in enumerate(tools)
        ),
    )
    index.close_writer()
    return index

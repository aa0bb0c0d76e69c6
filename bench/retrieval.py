"""How well texts and tools are found, and what each part of the search gains.

Reads the collections in `../shared/data`, beside the project, and says which are not there.
Weights were chosen on the training queries of SciFact alone; every other figure is of queries
that nothing was chosen on. Vectors are kept in the temporary folder, by content.
"""

import csv
import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import anyio
import numpy as np

from bench import result
from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.app.evaluation.beir import BeirCollection, BeirDocument, read_collection
from pecia.features.discovery.rank import ToolFinder
from pecia.kernel.corpus.evaluation.metrics import RankedRun, compute_metrics, hit_rate, ndcg
from pecia.kernel.corpus.keyword.analysis import analyzer
from pecia.kernel.corpus.keyword.index import IndexEntry, KeywordIndex, Query, parse_query
from pecia.kernel.corpus.search.evidence import CandidateText, Evidence
from pecia.kernel.corpus.search.fuse import (
    SEMANTIC_WEIGHT,
    FusedHit,
    apply_context,
    combine_scores,
    fuse,
)
from pecia.kernel.corpus.search.match import MatchEstimator
from pecia.kernel.corpus.search.plan import MAX_CANDIDATES, MAX_NEAREST
from pecia.kernel.corpus.search.rerank import (
    EVIDENCE_WEIGHTS,
    NO_MATCHES,
    RERANK_DEPTH,
    RankedHit,
    diversify,
    keep_fused_order,
    rerank,
    rerank_lexical,
)
from pecia.kernel.corpus.search.retrieve import context_depth
from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors, build_embedding_text
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.chunks.chunk import ChunkSource, TextMarkup, chunk_text
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, ToolResult
from pecia.kernel.tool.view import ToolView

DATA = Path(__file__).parents[2] / "shared" / "data"
CACHE = Path(tempfile.gettempdir()) / "pecia-bench-vectors"

TARGETS = {
    "scifact": {"keyword": 0.685, "hybrid": 0.725},
    "cranfield": {"hybrid": 0.42},
    "metatool": {"hit@1": 0.55, "hit@5": 0.80},
}
CURVE = (0.0, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0)
EVERY_TENTH = 10


@dataclass(frozen=True, slots=True)
class Piece:
    """What is indexed: a chunk, or a whole document."""

    document: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class QueryCandidates:
    """One query with the candidates of both retrievers."""

    query: Query
    words: Mapping[int, float]
    cosines: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Bench:
    """A collection, cut, indexed, embedded and asked."""

    collection: BeirCollection
    pieces: Sequence[Piece]
    index: KeywordIndex
    vectors: Vectors
    query_vectors: Mapping[str, Vectors]

    def asked(self) -> dict[str, QueryCandidates]:
        return {id_: self._ask(id_, text) for id_, text in self.collection.queries.items()}

    def by_words(self) -> RankedRun:
        """Lexical search, as it is without an embedder."""
        queries = {id_: parse_query(it) for id_, it in self.collection.queries.items()}
        return {id_: self._find_lexical(it) for id_, it in queries.items()}

    def _find_lexical(self, query: Query) -> list[str]:
        fused = fuse(find_words(self.index, query, context_depth(is_hybrid=False)), {})
        read = self.readings(fused[:RERANK_DEPTH])
        ranked = rerank_lexical(fused[:RERANK_DEPTH], read, self.matches(query, read, {}))
        rest = self.readings(fused[RERANK_DEPTH:])
        return [*dict.fromkeys([*_names(ranked), *(str(it.file) for it in rest.values())])]

    def documents(self, fused: Sequence[FusedHit]) -> list[str]:
        return _names(keep_fused_order(fused, self.readings(fused)))

    def matches(
        self, query: Query, readings: Mapping[int, CandidateText], cosines: Mapping[int, float]
    ) -> dict[int, float]:
        rarity = self.index.rarity(query, None)
        return MatchEstimator(query, rarity, cosines, None).estimate(readings)

    def readings(self, fused: Sequence[FusedHit]) -> dict[int, CandidateText]:
        return {
            it.id: CandidateText(piece.document, piece.text, piece.title, language="en")
            for it in fused
            for piece in (self.pieces[it.id],)
        }

    def _ask(self, id_: str, text: str) -> QueryCandidates:
        query = parse_query(text)
        words = find_words(self.index, query, context_depth(is_hybrid=True))
        cosines = self.vectors @ self.query_vectors[id_]
        nearest = np.argsort(-cosines, kind="stable")[:MAX_NEAREST]
        return QueryCandidates(
            query, words, {it: float(cosines[it]) for it in {*words, *map(int, nearest)}}
        )


def find_words(index: KeywordIndex, query: Query, depth: int) -> dict[int, float]:
    """The lexical candidates and their scores, so many of them by their context."""
    hits = index.search(query, limit=MAX_CANDIDATES)
    context = index.context_scores(query, [it.id for it in hits[:depth]])
    return {it.id: it.score for it in apply_context(hits, context, depth)}


Way: TypeAlias = Callable[[Bench, QueryCandidates], list[str]]


def fused_alone(
    bench: Bench, asked: QueryCandidates, *, weight: float = SEMANTIC_WEIGHT
) -> list[str]:
    return bench.documents(fuse(asked.words, asked.cosines, weight=weight))


def ranks_added(bench: Bench, asked: QueryCandidates) -> list[str]:
    """Reciprocal rank fusion: what most others do."""
    scores: dict[int, float] = {}
    for arm in (asked.words, asked.cosines):
        for rank, it in enumerate(sorted(arm, key=lambda it: (-arm[it], it))):
            scores[it] = scores.get(it, 0.0) + 1 / (60 + rank)
    return bench.documents(fuse(scores, {}))


def reranked(
    bench: Bench,
    asked: QueryCandidates,
    *,
    weight: float = SEMANTIC_WEIGHT,
    evidence: Evidence = EVIDENCE_WEIGHTS,
    match: bool = True,
    diverse: bool = False,
) -> list[str]:
    fused = fuse(asked.words, asked.cosines, weight=weight)
    readings = bench.readings(fused[:RERANK_DEPTH])
    matches = bench.matches(asked.query, readings, asked.cosines) if match else NO_MATCHES
    looked = rerank(
        fused[:RERANK_DEPTH],
        readings,
        asked.query,
        weight=weight,
        weights=evidence,
        matches=matches,
    )
    if diverse:
        return _in_order(diversify(looked, readings))
    return _names(looked)


# What hybrid search does, and the same without one of its parts.
WAYS: dict[str, Way] = {
    "meaning alone": partial(fused_alone, weight=1.0),
    "reciprocal ranks": ranks_added,
    "fused, not reranked": fused_alone,
    "reranked without evidence": partial(reranked, evidence=Evidence()),
    "reranked without match": partial(reranked, match=False),
    "hybrid": partial(reranked, diverse=True),
    "hybrid without diversity": reranked,
}
KEYWORD_FIELDS = ("stems", "folded", "title", "headings", "path", "parts")


async def measure() -> dict[str, Any]:
    embedder = OnnxEmbedder(find_shipped_model())
    found: dict[str, Any] = {"targets": TARGETS, "embedder": await _speed(embedder)}
    for name in ("scifact", "cranfield", "locomo"):
        found[name] = await _measured(name, embedder)
        print(name, json.dumps(found[name]), flush=True)
    found["metatool"] = await measure_metatool(embedder)
    return found


async def _measured(name: str, embedder: Embedder) -> dict[str, Any]:
    try:
        collection = read_collection(DATA / name)
    except PeciaError as error:
        return {"absent": f"{error.message}: {name} is read from ../shared/data"}
    bench = await build_bench(collection, embedder, cut=True)
    whole = await build_bench(collection, embedder, cut=False)
    judged, asked = collection.qrels, bench.asked()
    keyword = bench.by_words()
    runs = {name: {it: way(bench, asked[it]) for it in asked} for name, way in WAYS.items()}
    whole_asked = whole.asked()
    measured: dict[str, Any] = {
        "documents": len(collection.documents),
        "chunks": len(bench.pieces),
        "queries": len(judged),
        "keyword": compute_metrics(keyword, judged),
        "hybrid": compute_metrics(runs["hybrid"], judged),
        "ndcg@10": {it: round(ndcg(run, judged), 4) for it, run in runs.items()},
        "keyword without": _without_fields(bench),
        "whole documents": {
            "keyword": round(ndcg(whole.by_words(), judged), 4),
            "hybrid": round(
                ndcg({it: reranked(whole, whole_asked[it]) for it in asked}, judged), 4
            ),
        },
        "ms": _times(bench, asked),
    }
    if (DATA / name / "qrels" / "train.tsv").exists():
        measured["training"] = await _training(name, embedder)
    return measured


async def _training(name: str, embedder: Embedder) -> dict[str, Any]:
    """What the weights were chosen by: the semantic weight, and what evidence gains."""
    collection = read_collection(DATA / name, "train")
    bench = await build_bench(collection, embedder, cut=True)
    judged = collection.qrels
    looked = {id_: _looked(bench, asked) for id_, asked in bench.asked().items()}

    def score(weight: float = SEMANTIC_WEIGHT, weights: Evidence = EVIDENCE_WEIGHTS) -> float:
        run = {id_: _names(_weighed(it, weight, weights)) for id_, it in looked.items()}
        return round(ndcg(run, judged), 4)

    return {
        "queries": len(judged),
        "keyword": round(ndcg(bench.by_words(), judged), 4),
        "by weight": {str(it): score(it, Evidence()) for it in CURVE},
        "by evidence": {
            kind: {str(it): score(weights=Evidence(**{kind: it})) for it in (0.02, 0.05, 0.1, 0.2)}
            for kind in ("coverage", "proximity", "phrase", "title")
        },
        "chosen": score(),
    }


def _looked(bench: Bench, asked: QueryCandidates) -> list[RankedHit]:
    fused = fuse(asked.words, asked.cosines)[:RERANK_DEPTH]
    return rerank(fused, bench.readings(fused), asked.query)


def _weighed(looked: Sequence[RankedHit], weight: float, weights: Evidence) -> list[RankedHit]:
    """The same candidates under other weights: reading each again takes long."""
    return [
        it._replace(
            score=combine_scores(
                it.fused.words,
                it.fused.meaning,
                weight=weight,
                trust=it.trust,
                closeness=it.closeness,
            )
            + it.evidence.weighted_sum(weights),
        )
        for it in looked
    ]


def _without_fields(bench: Bench) -> dict[str, float]:
    judged = bench.collection.qrels
    found: dict[str, float] = {}
    for field in KEYWORD_FIELDS:
        with _weight(field, 0.0):
            found[field] = round(ndcg(bench.by_words(), judged), 4)
    return found


@contextmanager
def _weight(field: str, weight: float) -> Generator[None]:
    before = analyzer.FIELD_WEIGHTS[field]
    analyzer.FIELD_WEIGHTS[field] = weight
    try:
        yield
    finally:
        analyzer.FIELD_WEIGHTS[field] = before


def _times(bench: Bench, asked: Mapping[str, QueryCandidates]) -> dict[str, float]:
    """CPU milliseconds a query of each pure part, and of the keyword index."""
    some = [*asked.values()][:50]
    fused = [fuse(it.words, it.cosines) for it in some]
    readings = [bench.readings(it) for it in fused]
    looked = [
        rerank(it[:RERANK_DEPTH], read, ask.query)
        for it, read, ask in zip(fused, readings, some, strict=True)
    ]
    steps: dict[str, Callable[[int], object]] = {
        "keyword": lambda it: bench.index.search(some[it].query, limit=MAX_CANDIDATES),
        "fuse": lambda it: fuse(some[it].words, some[it].cosines),
        "rerank": lambda it: rerank(fused[it][:RERANK_DEPTH], readings[it], some[it].query),
        "diversify": lambda it: diversify(looked[it], readings[it]),
    }
    return {name: _cpu_ms(step, len(some)) for name, step in steps.items()}


def _cpu_ms(step: Callable[[int], object], count: int) -> float:
    started = time.process_time()
    for number in range(count):
        step(number)
    return round((time.process_time() - started) / count * 1e3, 2)


async def build_bench(collection: BeirCollection, embedder: Embedder, *, cut: bool = True) -> Bench:
    """The collection, chunked or as whole documents, indexed and embedded."""
    pieces = [piece for it in collection.documents for piece in _pieces(it, cut=cut)]
    index = KeywordIndex.in_memory()
    numbers = {it.id: number for number, it in enumerate(collection.documents)}
    index.apply(
        (),
        (
            IndexEntry(number, numbers[it.document], language="en", title=it.title, body=it.text)
            for number, it in enumerate(pieces)
        ),
    )
    index.close_writer()
    vectors = await embedded(
        embedder, [build_embedding_text(it.text, title=it.title) for it in pieces]
    )
    asked = await embedded(embedder, [*collection.queries.values()])
    return Bench(
        collection, pieces, index, vectors, dict(zip(collection.queries, asked, strict=True))
    )


def _pieces(document: BeirDocument, *, cut: bool) -> list[Piece]:
    chunks = chunk_text(ChunkSource(document.text, markup=TextMarkup.PLAIN)) if cut else ()
    # A document that has only its title is found by that.
    texts = [it.text for it in chunks] or [document.text]
    return [Piece(document.id, document.title, it) for it in texts]


async def embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    digest = hashlib.sha256(json.dumps([embedder.name, *texts]).encode()).hexdigest()
    path = CACHE / f"{digest[:24]}.npy"
    if path.exists():
        return np.load(path)
    vectors = await embedder.embed(texts)
    CACHE.mkdir(exist_ok=True)
    np.save(path, vectors)
    return vectors


def _names(ranked: Sequence[RankedHit]) -> list[str]:
    """Every file once, best first, by its best chunk; ties in the order given.

    Adding what further chunks score was measured: it prefers long files, and loses.
    """
    best: dict[str, float] = {}
    for it in ranked:
        best[str(it.file)] = max(it.score, best.get(str(it.file), it.score))
    return sorted(best, key=lambda it: -best[it])


def _in_order(ranked: Sequence[RankedHit]) -> list[str]:
    return [*dict.fromkeys(str(it.file) for it in ranked)]


async def _speed(embedder: OnnxEmbedder) -> dict[str, float]:
    """Of the shipped model: how long a query takes, and how many chunks go in a CPU second."""
    chunk = "The wing was tested in a stream of air that was faster than sound. " * 11
    query = "what similarity laws must be obeyed when constructing aeroelastic models"
    await embedder.embed([query])
    started, cpu = time.perf_counter(), time.process_time()
    for _ in range(100):
        await embedder.embed([query])
    wall_ms, cpu_ms = time.perf_counter() - started, time.process_time() - cpu
    cpu = time.process_time()
    await embedder.embed([f"{chunk}{number}" for number in range(100)])
    return {
        "query_ms": round(wall_ms * 10, 2),
        "query_cpu_ms": round(cpu_ms * 10, 2),
        "chunk_characters": len(chunk),
        "chunks_per_cpu_s": round(100 / (time.process_time() - cpu), 1),
    }


async def measure_metatool(embedder: Embedder) -> dict[str, Any]:
    folder = DATA / "metatool"
    if not folder.exists():
        return {"absent": "metatool is read from ../shared/data"}
    described: dict[str, str] = json.loads((folder / "plugin_des.json").read_text("utf-8"))
    with (folder / "all_clean_data.csv").open(encoding="utf-8", newline="") as file:
        requests = [*csv.DictReader(file)][::EVERY_TENTH]
    tools = {name: _tool(name, description) for name, description in described.items()}
    view = ToolView(MappingProxyType(tools))
    judged = {str(number): {it["Tool"]: 1} for number, it in enumerate(requests)}
    found: dict[str, Any] = {"tools": len(tools), "requests": len(requests)}
    for name, finder in (("words", ToolFinder(view)), ("hybrid", ToolFinder(view, embedder))):
        # The first question waits only so long for vectors: let it have them all.
        while name == "hybrid" and not finder.is_ready:
            await finder.find("warm up")
        started = time.perf_counter()
        run = {
            str(number): [name for name, _ in (await finder.find(it["Query"]))[:10]]
            for number, it in enumerate(requests)
        }
        taken = (time.perf_counter() - started) / len(requests)
        figures_ = {f"hit@{k}": round(hit_rate(run, judged, k), 4) for k in (1, 5, 10)}
        found[name] = {**figures_, "ms": round(taken * 1e3, 1)}
    return found


def _tool(name: str, description: str) -> ForeignTool:
    async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        return ToolResult()

    return ForeignTool("hub", name, Scope.SEARCH, description, {"type": "object"}, run)


def main() -> Path:
    return result.write("retrieval", anyio.run(measure))

"""Questions about annual reports: is the right document found, and the right page of it?

Reads the development half of FinanceBench in `../shared/data`, beside the project. A question is
sent once, as it is. Embedded are the chunks that the keyword index finds, of files of its top hits,
and all of the files that are named: a quarter of an hour. Vectors of all 200,000 would take three
times as long, and add the twenty nearest of all reports, which are not ranked here.
"""

import collections
import gzip
import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from bench import result
from bench.retrieval import DATA, embedded
from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.kernel.corpus.evaluation.questions import (
    EvaluationQuestion,
    EvidencePage,
    QuestionOutcome,
    compute_hit_rates,
    read_questions,
    score_question,
)
from pecia.kernel.corpus.keyword.analysis import analyzer
from pecia.kernel.corpus.keyword.index import (
    IndexEntry,
    KeywordHit,
    KeywordIndex,
    Query,
    parse_query,
)
from pecia.kernel.corpus.search import named_files
from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.fuse import (
    NO_SCORES,
    SEMANTIC_WEIGHT,
    CandidatePool,
    build_pool,
    fuse,
    merge_pools,
)
from pecia.kernel.corpus.search.match import MatchEstimator
from pecia.kernel.corpus.search.named_files import (
    HITS_PER_FILE,
    MAX_NEAREST_INSIDE,
    FileCandidate,
    NamedFiles,
    detect_named_files,
    extract_names,
)
from pecia.kernel.corpus.search.plan import MAX_CANDIDATES
from pecia.kernel.corpus.search.rerank import (
    NO_MATCHES,
    RERANK_DEPTH,
    diversify,
    promote_nearest,
    rerank,
    rerank_lexical,
)
from pecia.kernel.corpus.vectors.embedder import Vectors, build_embedding_text
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from pecia.kernel.text.chunks.chunk import ChunkSource, TextMarkup, chunk_text

FOLDER = DATA / "financebench"
TARGETS = {"words document@10": 0.85, "hybrid page@10": 0.45}
WRITER_BYTES = 128_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk with its file's number and its page."""

    file: int
    page_no: int
    text: str
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """How a question goes: each part can be left out."""

    two_stages: bool = True
    keep_names: bool = False
    fold_pages: bool = True
    keep_close: bool = True
    headings: bool = True
    every_year: bool = False
    joined_names: bool = True
    nearest: bool = True


WAYS = {
    "one stage, names as they are written": Variant(
        two_stages=False, joined_names=False, fold_pages=False
    ),
    "one stage": Variant(two_stages=False, fold_pages=False),
    "one stage, a page once": Variant(two_stages=False),
    "two stages": Variant(),
    "without the field of headings": Variant(headings=False),
    "with the file's name asked of its pages": Variant(keep_names=True),
    "with a page more than once": Variant(fold_pages=False),
    "without places for close files": Variant(keep_close=False),
    "with every year as a name": Variant(every_year=True),
    "without the nearest of named files": Variant(nearest=False),
}


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """The lexical hits of one question, and the files that it names."""

    question: EvaluationQuestion
    query: Query
    pool: CandidatePool
    named: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """The reports, cut and indexed."""

    keys: Sequence[str]
    pieces: Sequence[Piece]
    of_file: Mapping[int, Sequence[int]]
    index: KeywordIndex

    def find(self, question: EvaluationQuestion, way: Variant) -> LexicalHits:
        query = parse_query(question.text)
        pool = self.index.search(query, limit=MAX_CANDIDATES)
        named = self.named(question, query, pool) if way.two_stages else None
        if named is None:
            return LexicalHits(question, query, build_pool(pool))
        asked = query if way.keep_names else named.query
        hits = self.index.search_groups(asked, [*named.files], HITS_PER_FILE * len(named.files))
        joined = merge_pools(pool, hits, named)
        if not way.keep_close:
            joined = replace(joined, close=())
        return LexicalHits(question, query, joined, named.close if way.nearest else ())

    def inside(self, found: LexicalHits) -> list[int]:
        """Every chunk of the files that are named."""
        return [it for file in found.named for it in self.of_file[file]]

    def named(
        self, question: EvaluationQuestion, query: Query, pool: Sequence[KeywordHit]
    ) -> NamedFiles | None:
        best = {it.group: it.score for it in reversed(pool)}
        files = [
            FileCandidate(it, self.keys[it], "", len(self.of_file[it]), best[it]) for it in best
        ]
        return detect_named_files(question.text, query, files)

    def rank(
        self,
        found: LexicalHits,
        cosines: Mapping[int, float],
        way: Variant,
        nearest: Mapping[int, float] = NO_SCORES,
    ) -> QuestionOutcome:
        """The first ten, as a search shows them."""
        weight = SEMANTIC_WEIGHT if cosines else 0.0
        pool = found.pool
        every = fuse(pool.scores, cosines, weight=weight, by_file=pool.by_file)
        fused = pool.top(every, RERANK_DEPTH)
        readings = {it.id: self._reading(it.id, way) for it in fused}
        rarity = self.index.rarity(found.query, None)
        estimator = MatchEstimator(found.query, rarity, cosines, None)
        matches = NO_MATCHES if pool.by_file else estimator.estimate(readings)
        looked = (
            rerank(fused, readings, found.query, weight=weight, matches=matches)
            if cosines
            else rerank_lexical(fused, readings, matches)
        )
        readings |= {it: self._reading(it, way) for it in nearest}
        diverse = diversify(looked, readings, pool.close)
        order = promote_nearest(diverse, nearest, readings, pool.unnamed)
        hits = [self.pieces[it.id] for it in order]
        return score_question(
            found.question, [EvidencePage(self.keys[it.file], it.page_no) for it in hits]
        )

    def _reading(self, id_: int, way: Variant) -> CandidateText:
        it = self.pieces[id_]
        page = it.page_no if way.fold_pages else None
        return CandidateText(it.file, it.text, "", " ".join(it.headings), "en", page)


async def measure() -> dict[str, Any]:
    if not FOLDER.exists():
        return {"absent": "financebench is read from ../shared/data"}
    questions = read_questions((FOLDER / "questions-dev.jsonl").read_text("utf-8"))
    bench = _bench()
    found = {name: _asked(bench, questions, way) for name, way in WAYS.items()}
    every = [it for run in found.values() for it in run]
    ids = sorted({id_ for it in every for id_ in (*it.pool.scores, *bench.inside(it))})
    embedder = OnnxEmbedder(find_shipped_model(), threads=2)
    texts = [_embedded_text(bench.pieces[it]) for it in ids]
    vectors = dict(zip(ids, await embedded(embedder, texts), strict=True))
    asked = [*await embedded(embedder, [it.text for it in questions])]
    return {
        "targets": TARGETS,
        "documents": len(bench.keys),
        "chunks": len(bench.pieces),
        "questions": len(questions),
        "embedded chunks": len(ids),
        "words": {name: _shares(bench, found[name], way) for name, way in WAYS.items()},
        "hybrid": {
            name: _shares(bench, found[name], way, vectors, asked) for name, way in WAYS.items()
        },
        "inside the right document": _inside(bench, questions),
        "ms": _times(bench, questions),
    }


def _shares(
    bench: Bench,
    found: Sequence[LexicalHits],
    way: Variant,
    vectors: Mapping[int, Vectors] | None = None,
    asked: Sequence[Vectors] = (),
) -> dict[str, float]:
    outcomes: list[QuestionOutcome] = []
    for number, it in enumerate(found):
        if not vectors:
            outcomes.append(bench.rank(it, {}, way))
            continue
        near = {id_: float(vectors[id_] @ asked[number]) for id_ in bench.inside(it)}
        nearest = dict(sorted(near.items(), key=lambda it: -it[1])[:MAX_NEAREST_INSIDE])
        cosines = {id_: float(vectors[id_] @ asked[number]) for id_ in it.pool.scores}
        outcomes.append(bench.rank(it, cosines, way, nearest))
    return compute_hit_rates(outcomes)


def _asked(
    bench: Bench, questions: Sequence[EvaluationQuestion], way: Variant
) -> list[LexicalHits]:
    with _without(way):
        return [bench.find(it, way) for it in questions]


@contextmanager
def _without(way: Variant) -> Generator[None]:
    """Parts that are not asked for by an argument, taken out for as long as this lasts."""
    parts: list[tuple[object, str, object]] = []
    if not way.headings:
        parts.append((analyzer, "GROUP_FIELD_WEIGHTS", {"stems": 1.0}))
    if not way.joined_names:
        parts.append((analyzer, "join_neighbours", _nothing))
    if way.every_year:
        parts.append((named_files, "extract_names", _with_every_year))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in parts]
    try:
        for owner, name, value in parts:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _nothing(words: Sequence[str]) -> list[str]:
    return []


def _with_every_year(question: str) -> dict[str, tuple[str, ...]]:
    years = {it[2]: (it[0].lower(),) for it in re.finditer(r"\b(FY)?((?:19|20)\d\d)\b", question)}
    return extract_names(question) | years


def _inside(bench: Bench, questions: Sequence[EvaluationQuestion]) -> dict[str, dict[str, float]]:
    """How well pages are found lexically when the document is known."""
    numbers = {Path(key).stem: number for number, key in enumerate(bench.keys)}
    names = ("two stages", "without the field of headings", "with a page more than once")
    return {name: _in_document(bench, questions, numbers, WAYS[name]) for name in names}


def _in_document(
    bench: Bench, questions: Sequence[EvaluationQuestion], numbers: Mapping[str, int], way: Variant
) -> dict[str, float]:
    outcomes: list[QuestionOutcome] = []
    with _without(way):
        for it in questions:
            query = parse_query(it.text)
            named = bench.named(it, query, bench.index.search(query, limit=MAX_CANDIDATES))
            hits = bench.index.search_groups(
                named.query if named else query, [numbers[it.document]], MAX_CANDIDATES
            )
            words = {hit.id: hit.score for hit in hits}
            by_file = dict.fromkeys(words, 1.0)
            outcomes.append(
                bench.rank(LexicalHits(it, query, CandidatePool(words, by_file)), {}, way)
            )
    return compute_hit_rates(outcomes)


def _times(bench: Bench, questions: Sequence[EvaluationQuestion]) -> dict[str, float]:
    """CPU milliseconds a question of what the second stage adds, and of the first."""
    queries = [parse_query(it.text) for it in questions]
    pools = [bench.index.search(it, limit=MAX_CANDIDATES) for it in queries]
    named = [bench.named(*it) for it in zip(questions, queries, pools, strict=True)]
    steps: dict[str, Callable[[int], object]] = {
        "first stage": lambda it: bench.index.search(queries[it], limit=MAX_CANDIDATES),
        "names": lambda it: bench.named(questions[it], queries[it], pools[it]),
        "inside": lambda it: _look_inside(bench, named[it]),
    }
    return {name: _cpu_ms(step, len(questions)) for name, step in steps.items()}


def _look_inside(bench: Bench, named: NamedFiles | None) -> object:
    if named is None:
        return None
    return bench.index.search_groups(named.query, [*named.files], HITS_PER_FILE * len(named.files))


def _cpu_ms(step: Callable[[int], object], count: int) -> float:
    started = time.process_time()
    for number in range(count):
        step(number)
    return round((time.process_time() - started) / count * 1e3, 2)


def _bench() -> Bench:
    index = KeywordIndex.in_memory(WRITER_BYTES)
    keys: list[str] = []
    pieces: list[Piece] = []
    for number, path in enumerate(sorted((FOLDER / "text").glob("*.txt.gz"))):
        keys.append(f"{path.name.removesuffix('.txt.gz')}.pdf")
        first = len(pieces)
        pieces += _pieces(number, gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
        index.stage(
            (),
            (
                IndexEntry(
                    first + at,
                    number,
                    key=keys[-1],
                    language="en",
                    headings="\n".join(it.headings),
                    body=it.text,
                )
                for at, it in enumerate(pieces[first:])
            ),
        )
    index.commit()
    index.close_writer()
    of_file: dict[int, list[int]] = collections.defaultdict(list)
    for number, it in enumerate(pieces):
        of_file[it.file].append(number)
    return Bench(keys, pieces, of_file, index)


def _pieces(number: int, text: str) -> list[Piece]:
    pages = enumerate(text.split("\f"), start=1)
    whole = build_canonical_text(RawUnit(no, UnitKind.PAGE, page) for no, page in pages)
    chunks = chunk_text(ChunkSource(whole.text, whole.units, TextMarkup.PLAIN))
    return [
        Piece(number, it.unit.no if it.unit else 0, it.readable, it.heading_path) for it in chunks
    ]


def _embedded_text(piece: Piece) -> str:
    return build_embedding_text(piece.text, headings=" > ".join(piece.headings))


def main() -> Path:
    return result.write("financebench", anyio.run(measure))

"""How far `match` can be trusted: its reliability, and whether it tells that nothing answers.

Test queries of SciFact, Cranfield and LoCoMo, in their own collection and put to the wrong ones;
and questions of BEAM-100K over the messages of their chat, of which 40 have no answer there though
they are about its subject. SciFact's test queries and BEAM were in no fit, some queries of the
other two sets were. Writes the picture in `docs/pictures`.

With `XQUAD`, the folder of google-deepmind/xquad: its questions in twelve languages, put to its
English paragraphs and to Cranfield. They were in no fit.
"""

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import numpy as np

from bench import result
from bench.languages import LANGUAGES, read_language
from bench.languages import STEP as EVERY_TWELFTH
from bench.retrieval import DATA, Bench, build_bench, embedded, find_words
from pecia.adapters.embedding.lexicon import find_lexicon
from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.adapters.embedding.polyglot import PolyglotEmbedder
from pecia.app.evaluation.beir import BeirCollection, BeirDocument, read_collection
from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize_query
from pecia.kernel.corpus.keyword.index import IndexEntry, KeywordIndex, parse_query
from pecia.kernel.corpus.keyword.query.parser import TranslatedWord
from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.fuse import fuse
from pecia.kernel.corpus.search.match import (
    NO_ANSWER_MATCH,
    MatchEstimator,
    detect_text_language,
    estimate_match,
)
from pecia.kernel.corpus.search.rerank import (
    RERANK_DEPTH,
    diversify,
    rerank,
    rerank_lexical,
)
from pecia.kernel.corpus.search.retrieve import context_depth
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.text.chunks.chunk import ChunkSource, TextMarkup, chunk_text

SETS = ("scifact", "cranfield", "locomo")
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "match-reliability.svg"
TEMPLATE = Path(__file__).parent / "match-reliability.svg"
SHOWN = 5
EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ANSWERABLE = ("information_extraction", "knowledge_update", "temporal_reasoning")
MODES = ("hybrid", "lexical")


@dataclass(frozen=True, slots=True)
class JudgedHit:
    match: float
    is_relevant: bool


async def measure() -> dict[str, Any]:
    embedder = OnnxEmbedder(find_shipped_model())
    collections = {it: read_collection(DATA / it) for it in SETS}
    benches = {it: await build_bench(them, embedder) for it, them in collections.items()}
    found: dict[str, Any] = {"threshold": NO_ANSWER_MATCH}
    for mode in MODES:
        own = {name: _own_hits(bench, mode) for name, bench in benches.items()}
        found[mode] = {
            "reliability": {name: _curve(_flat(it)) for name, it in own.items()},
            "calibration error": {name: _calibration_error(_flat(it)) for name, it in own.items()},
            "wrong set": {
                name: _abstention(
                    [max(it.match for it in hits) for hits in own[name].values() if hits],
                    await _wrong_set(bench, benches, name, mode),
                )
                for name, bench in benches.items()
            },
        }
        print(mode, json.dumps(found[mode]), flush=True)
    found["beam-100k"] = await _measure_beam(embedder)
    if folder := os.environ.get("XQUAD"):
        found["languages"] = await _measure_languages(Path(folder), benches["cranfield"])
        print("languages", json.dumps(found["languages"]), flush=True)
    _draw({mode: found[mode]["reliability"] for mode in MODES})
    return found


def _own_hits(bench: Bench, mode: str) -> dict[str, list[JudgedHit]]:
    judged = bench.collection.qrels
    hits: dict[str, list[JudgedHit]] = {}
    for id_, text in bench.collection.queries.items():
        vector = bench.query_vectors[id_]
        hits[id_] = [
            JudgedHit(match, judged[id_].get(document, 0) > 0)
            for document, match in _search(bench, text, vector, mode)
        ]
    return hits


async def _wrong_set(
    bench: Bench, benches: Mapping[str, Bench], name: str, mode: str
) -> list[float]:
    """The best match of queries of the other sets."""
    best: list[float] = []
    for other, it in benches.items():
        if other == name:
            continue
        for id_, text in [*it.collection.queries.items()][:200]:
            hits = _search(bench, text, it.query_vectors[id_], mode)
            best.append(max((match for _, match in hits), default=0.0))
    return best


def _search(
    bench: Bench,
    text: str,
    vector: "np.ndarray[Any, Any]",
    mode: str,
    translated: tuple[TranslatedWord, ...] = (),
) -> list[tuple[str, float]]:
    """The documents of the first hits as the product ranks them, each with its match."""
    query = replace(parse_query(text), translated=translated)
    words = find_words(bench.index, query, context_depth(is_hybrid=mode == "hybrid"))
    cosines: dict[int, float] = {}
    if mode == "hybrid":
        every = bench.vectors @ vector
        nearest = np.argsort(-every, kind="stable")[:20]
        cosines = {it: float(every[it]) for it in {*words, *map(int, nearest)}}
    fused = fuse(words, cosines)[:RERANK_DEPTH]
    readings = bench.readings(fused)
    rarity, language = bench.index.rarity(query, None), detect_text_language(text)
    matches = MatchEstimator(query, rarity, cosines, language).estimate(readings)
    ranked = (
        rerank(fused, readings, query, matches=matches)
        if cosines
        else rerank_lexical(fused, readings, matches)
    )
    ranked = diversify(ranked, readings)
    return [(str(readings[it.id].file), matches[it.id]) for it in ranked[:SHOWN]]


async def _measure_beam(embedder: Embedder) -> dict[str, Any]:
    """Every chat is a collection of its own; its messages are the documents."""
    best: dict[str, dict[str, list[float]]] = {it: defaultdict(list) for it in MODES}
    with gzip.open(DATA / "beam-100k" / "chats.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            chat = json.loads(line)
            asked = [it for it in chat["questions"] if it["type"] in ("abstention", *ANSWERABLE)]
            for it, matches in (await _ask_chat(chat["messages"], asked, embedder)).items():
                for mode, match in matches.items():
                    best[mode][asked[it]["type"]].append(match)
    return {
        mode: {kind: _abstention(them[kind], them["abstention"]) for kind in ANSWERABLE}
        | {"all": _abstention([it for kind in ANSWERABLE for it in them[kind]], them["abstention"])}
        for mode, them in best.items()
    }


async def _ask_chat(
    messages: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]], embedder: Embedder
) -> dict[int, dict[str, float]]:
    pieces = [
        chunk.text
        for it in messages
        for chunk in chunk_text(ChunkSource(it["text"], markup=TextMarkup.PLAIN))
    ]
    index = KeywordIndex.in_memory()
    index.apply((), (IndexEntry(at, at, language="en", body=it) for at, it in enumerate(pieces)))
    index.close_writer()
    queries = [parse_query(it["question"]) for it in asked]
    found = [index.search(it, limit=RERANK_DEPTH) for it in queries]
    # Only what the words find is embedded: all messages would take long.
    needed = sorted({hit.id for hits in found for hit in hits})
    vectors = await embedded(embedder, [*(pieces[it] for it in needed)])
    asked_vectors = await embedded(embedder, [it["question"] for it in asked])
    row = {it: vectors[number] for number, it in enumerate(needed)}
    best: dict[int, dict[str, float]] = {}
    for number, (query, hits) in enumerate(zip(queries, found, strict=True)):
        rarity, terms = index.rarity(query, None), tokenize_query(query, "en")
        words = {it.id: it.score for it in hits}
        cosines = {it: float(row[it] @ asked_vectors[number]) for it in words}
        matches: dict[str, float] = {}
        for mode in MODES:
            known = cosines if mode == "hybrid" else {}
            ranked = fuse(words, known)[:SHOWN]
            matches[mode] = max(
                (
                    estimate_match(
                        CandidateText(it.id, pieces[it.id], language="en"),
                        terms,
                        rarity,
                        known.get(it.id),
                    )
                    for it in ranked
                ),
                default=0.0,
            )
        best[number] = matches
    return best


async def _measure_languages(folder: Path, other: Bench) -> dict[str, Any]:
    """Of questions in each language: abstention in English texts that answer, and that do not."""
    sets = {it: read_language(folder, it) for it in LANGUAGES}
    embedder, lexicon = PolyglotEmbedder.in_process(), find_lexicon()
    bench = await build_bench(_to_collection(sets["en"].paragraphs), embedder)
    found: dict[str, Any] = {}
    for language, texts in sets.items():
        asked = texts.questions[::EVERY_TWELFTH]
        vectors = await embedded(embedder, [it for it, _ in asked])
        words = [await lexicon.translate(it) for it, _ in asked]
        own, wrong = (
            [
                _search(where, text, vector, "hybrid", translated)
                for (text, _), vector, translated in zip(asked, vectors, words, strict=True)
            ]
            for where in (bench, other)
        )
        answered = [
            it
            for it, (_, number) in zip(own, asked, strict=True)
            if any(document == str(number) for document, _ in it)
        ]
        found[language] = _abstention(map(_best, own), map(_best, wrong)) | {
            "found": round(len(answered) / len(own), 3),
            "refused of found": round(
                sum(_best(it) < NO_ANSWER_MATCH for it in answered) / len(answered), 3
            ),
        }
    return found


def _to_collection(paragraphs: Sequence[str]) -> BeirCollection:
    documents = tuple(BeirDocument(str(number), "", it) for number, it in enumerate(paragraphs))
    return BeirCollection(documents, {}, {})


def _best(hits: Iterable[tuple[str, float]]) -> float:
    return max((match for _, match in hits), default=0.0)


def _flat(hits: Mapping[str, Sequence[JudgedHit]]) -> list[JudgedHit]:
    return [it for them in hits.values() for it in them]


def _curve(hits: Sequence[JudgedHit]) -> list[dict[str, float]]:
    """By tenths of the match: the mean of it, and the share of hits that were judged relevant."""
    points: list[dict[str, float]] = []
    for low, high in pairwise(EDGES):
        inside = [it for it in hits if low <= it.match < high]
        if inside:
            said = sum(it.match for it in inside) / len(inside)
            share = sum(it.is_relevant for it in inside) / len(inside)
            points.append(
                {"match": round(said, 3), "relevant": round(share, 3), "hits": len(inside)}
            )
    return points


def _calibration_error(hits: Sequence[JudgedHit]) -> float:
    points = _curve(hits)
    total = sum(it["hits"] for it in points)
    return round(sum(abs(it["match"] - it["relevant"]) * it["hits"] for it in points) / total, 3)


def _abstention(answerable: Iterable[float], unanswerable: Iterable[float]) -> dict[str, float]:
    """Of "nothing answers": precision, recall, F1, and how well the best match tells them apart."""
    own, other = [*answerable], [*unanswerable]
    right = sum(it < NO_ANSWER_MATCH for it in other)
    wrong = sum(it < NO_ANSWER_MATCH for it in own)
    precision = right / (right + wrong) if right + wrong else 0.0
    recall = right / len(other)
    both = precision + recall
    told = sum((a > b) + 0.5 * (a == b) for a in own for b in other) / (len(own) * len(other))
    return {
        "F1": round(2 * precision * recall / both, 3) if both else 0.0,
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "refused of own": round(wrong / len(own), 3),
        "AUC": round(told, 3),
    }


def _draw(curves: Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]) -> None:
    """The curves beside the diagonal, one panel a mode."""
    panels = "".join(_panel(60 + 400 * at, mode, curves[mode]) for at, mode in enumerate(curves))
    frame = TEMPLATE.read_text("utf-8")
    PICTURE.write_text(frame.replace("<!-- panels -->", panels), encoding="utf-8")


def _panel(left: int, mode: str, curves: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    size, top = 300, 60

    def at(x: float, y: float) -> str:
        return f"{left + x * size:.1f},{top + (1 - y) * size:.1f}"

    parts = [
        f'<rect class="frame" x="{left}" y="{top}" width="{size}" height="{size}"/>',
        f'<polyline class="ideal" points="{at(0, 0)} {at(1, 1)}"/>',
        f'<text class="name" x="{left}" y="{top - 14}">{mode}</text>',
    ]
    for number, (name, points) in enumerate(curves.items()):
        line = " ".join(at(it["match"], it["relevant"]) for it in points)
        parts.append(f'<polyline class="set{number}" points="{line}"/>')
        parts += [
            f'<circle class="dot{number}" cx="{xy[0]}" cy="{xy[1]}" r="4"/>'
            for it in points
            for xy in (at(it["match"], it["relevant"]).split(","),)
        ]
        y = top + 26 + 22 * number
        parts.append(f'<text class="label{number}" x="{left + 12}" y="{y}">{name}</text>')
    parts += [
        f'<text class="note" x="{left + size * it:.0f}" y="{top + size + 22}">{it:g}</text>'
        for it in (0, 0.5, 1)
    ]
    parts.append(
        f'<text class="note" x="{left}" y="{top + size + 46}">match → share relevant ↑</text>'
    )
    return "\n  ".join(parts)


def main() -> Path:
    return result.write("match", anyio.run(measure))


if __name__ == "__main__":
    print(main())

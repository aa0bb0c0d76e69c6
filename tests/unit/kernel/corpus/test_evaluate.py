"""Figures of a ranking, and the collections they are measured on."""

from math import log2
from pathlib import Path

import pytest

from pecia.app.evaluation.beir import BeirDocument, read_collection
from pecia.kernel.corpus.evaluation.metrics import (
    compute_metrics,
    hit_rate,
    mean_reciprocal_rank,
    ndcg,
    recall,
)
from pecia.kernel.errors import InvalidFormat, NotFound

JUDGED = {"q": {"a": 2, "b": 1, "c": 0}, "r": {"d": 1}}


def test_the_best_order_scores_one() -> None:
    assert ndcg({"q": ["a", "b"], "r": ["d"]}, JUDGED) == 1


def test_gains_are_discounted_by_place_and_weighed_by_judgement() -> None:
    expected = (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    assert ndcg({"q": ["b", "a"]}, {"q": JUDGED["q"]}) == pytest.approx(expected)
    assert ndcg({"q": ["x", "y", "a"]}, {"q": {"a": 1}}, 2) == 0


def test_a_query_that_nobody_ran_found_nothing() -> None:
    run = {"q": ["a"]}
    assert (hit_rate(run, JUDGED, 1), recall(run, JUDGED, 1)) == (0.5, 0.25)


def test_a_document_listed_twice_counts_once() -> None:
    assert recall({"q": ["a", "a", "b"]}, {"q": JUDGED["q"]}, 2) == 1
    assert ndcg({"q": ["a", "a"]}, {"q": {"a": 1}}) == 1


def test_a_query_without_anything_to_find_is_not_counted() -> None:
    assert hit_rate({"r": ["d"]}, {"r": {"d": 1}, "s": {"x": 0}}, 1) == 1
    assert ndcg({}, {}) == 0


def test_the_reciprocal_rank_is_that_of_the_first_good_one() -> None:
    assert mean_reciprocal_rank({"q": ["c", "b", "a"]}, {"q": JUDGED["q"]}) == 0.5
    assert mean_reciprocal_rank({"q": ["c"]}, {"q": JUDGED["q"]}) == 0


def test_figures_are_the_usual_ones() -> None:
    assert compute_metrics({"q": ["a", "b"], "r": ["d"]}, JUDGED) == {
        "ndcg@10": 1,
        "recall@5": 1,
        "recall@10": 1,
        "recall@100": 1,
        "hit@1": 1,
        "hit@5": 1,
        "mrr@10": 1,
    }


def written(folder: Path, *, corpus: str, queries: str, qrels: str) -> Path:
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text(corpus, "utf-8")
    (folder / "queries.jsonl").write_text(queries, "utf-8")
    (folder / "qrels" / "test.tsv").write_text(qrels, "utf-8")
    return folder


HEAD = "query-id\tcorpus-id\tscore\n"
QUERIES = '{"_id": "1", "text": "who"}\n{"_id": "2", "text": "not judged", "metadata": {}}\n'


def test_a_collection_is_read_with_the_queries_that_were_judged(tmp_path: Path) -> None:
    corpus = '{"_id": "a", "title": "T", "text": "one\u2028line"}\n\n{"_id": "b", "text": ""}\n'
    folder = written(tmp_path, corpus=corpus, queries=QUERIES, qrels=HEAD + "1\ta\t1\n1\tb\t0\n")
    found = read_collection(folder)
    assert found.documents == (BeirDocument("a", "T", "one\u2028line"), BeirDocument("b", "", ""))
    assert found.queries == {"1": "who"}
    assert found.qrels == {"1": {"a": 1, "b": 0}}


@pytest.mark.parametrize(
    ("corpus", "queries", "qrels", "field"),
    [
        ("[]", QUERIES, HEAD + "1\ta\t1", "corpus.jsonl"),
        ("{", QUERIES, HEAD + "1\ta\t1", "corpus.jsonl"),
        ('{"_id": "a"}', QUERIES, HEAD + "1\ta\t1", "corpus.jsonl"),
        ('{"_id": 7, "text": ""}', QUERIES, HEAD + "1\ta\t1", "corpus.jsonl"),
        ("", QUERIES, HEAD + "1 a 1", "test.tsv"),
        ("", QUERIES, HEAD + "9\ta\t1", "queries.jsonl"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_named(
    tmp_path: Path, corpus: str, queries: str, qrels: str, field: str
) -> None:
    folder = written(tmp_path, corpus=corpus, queries=queries, qrels=qrels)
    with pytest.raises(InvalidFormat) as caught:
        read_collection(folder)
    assert caught.value.fields["field"] == field


def test_a_folder_without_judgements_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"train\.tsv"):
        read_collection(tmp_path, "train")

"""Question files in the layout of FinanceBench, and what is counted of their answers."""

import json
from typing import Any

import pytest

from pecia.kernel.corpus.evaluation.questions import (
    EvaluationQuestion,
    EvidencePage,
    QuestionOutcome,
    compute_hit_rates,
    read_questions,
    score_question,
)
from pecia.kernel.errors import InvalidFormat

LINE = {
    "financebench_id": "q1",
    "question": "How long may a bike be lent?",
    "doc_name": "RULES_2024",
    "answer": "Three days.",
    "evidence": [{"evidence_page_num": 0}, {"evidence_page_num": 4, "doc_name": "ANNEX"}],
}
QUESTION = EvaluationQuestion(
    "q1",
    "How long may a bike be lent?",
    "RULES_2024",
    frozenset({("RULES_2024", 1), ("ANNEX", 5)}),
    "Three days.",
)


def test_a_line_is_a_question_and_its_pages_are_counted_from_one() -> None:
    assert read_questions(f"{json.dumps(LINE)}\n\n") == (QUESTION,)


def test_a_question_without_an_id_goes_by_its_line() -> None:
    plain = {name: value for name, value in LINE.items() if name != "financebench_id"}
    assert [it.id for it in read_questions("\n" + json.dumps(plain))] == ["2"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"question": " "}, "question"),
        ({"doc_name": None}, "doc_name"),
        ({"evidence": []}, "evidence"),
        ({"evidence": [{"evidence_page_num": "4"}]}, "evidence.evidence_page_num"),
        ({"evidence": [{"evidence_page_num": -1}]}, "evidence.evidence_page_num"),
        ({"evidence": ["page 4"]}, "evidence.evidence_page_num"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidFormat, match="line 2") as caught:
        read_questions(f"{json.dumps(LINE)}\n{json.dumps(LINE | change)}")
    assert caught.value.fields["field"] == field


@pytest.mark.parametrize("text", ["", "\n \n", "not json", "[]"])
def test_a_file_without_questions_is_refused(text: str) -> None:
    with pytest.raises(InvalidFormat):
        read_questions(text)


@pytest.mark.parametrize(
    ("key", "is_it"),
    [
        ("rules_2024.pdf", True),
        ("city/RULES_2024.txt.gz", True),
        ("RULES_2024", True),
        ("RULES_2024/annex.pdf", False),
        ("RULES_20245.pdf", False),
    ],
)
def test_a_document_is_known_by_the_name_of_its_file(key: str, is_it: bool) -> None:
    assert QUESTION.is_of_document(EvidencePage(key, 3)) is is_it


def test_the_page_counts_only_in_its_own_document() -> None:
    found = [
        EvidencePage("ANNEX.pdf", 1),
        EvidencePage("RULES_2024.pdf", 5),
        EvidencePage("ANNEX.pdf", 5),
    ]
    assert score_question(QUESTION, found) == QuestionOutcome("q1", 2, 3)
    assert score_question(QUESTION, []) == QuestionOutcome("q1", None, None)


def test_shares_are_of_all_questions() -> None:
    found = [
        QuestionOutcome("a", 1, 1),
        QuestionOutcome("b", 1, 11),
        QuestionOutcome("c", 10, None),
        QuestionOutcome("d", None, None),
    ]
    assert compute_hit_rates(found) == {
        "document@1": 0.5,
        "document@10": 0.75,
        "page@1": 0.25,
        "page@10": 0.25,
    }

"""What a sentence may become: a heading is no rule, an event binds nobody."""

from typing import Any

import pytest

from pecia.features.ckf.core.packages import run_slice
from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.tools.inputs import SliceInput

RULES = ("decision_rules", "if_then_rules", "principles", "anti_patterns", "exceptions")


def compiled(text: str) -> Package:
    return compile_text(SourceText(text, language="en"), CompileOptions())


@pytest.mark.parametrize("heading", ["2.7. Conditions", "## Requirements", "3. Exceptions"])
def test_a_heading_is_neither_rule_nor_step(heading: str) -> None:
    found = compiled(f"{heading}\n\nThe house stands by the river and has two floors.\n")
    ids = {str(it["id"]) for section in (*RULES, "procedures") for it in found.items(section)}
    quoted = [it["source_excerpt"] for it in found.trace if str(it["extracted_item_id"]) in ids]
    assert not any(str(it) in heading for it in quoted)
    assert not found.items("procedures")


def test_a_dated_event_is_no_rule() -> None:
    found = compiled("The treaty was signed on 7 June 1494 by both crowns in Tordesillas.\n")
    assert not any(found.items(it) for it in RULES)
    assert [it["type"] for it in found.items("atomic_units")] == ["fact"]


def test_a_limit_inside_a_sentence_is_not_its_own_consequence() -> None:
    found = compiled("A member may borrow up to 3 books at a time from the reading room.\n")
    rules = found.items("decision_rules")
    assert rules
    for it in rules:
        assert str(it["condition"]) not in str(it["decision"])


def test_a_procedure_has_two_steps_and_one_sentence_has_them_in_time_order() -> None:
    found: Any = compiled("Staff must observe the patient after the infusion has ended.\n")
    (only,) = found.items("procedures")
    assert [it["action"] for it in only["steps"]] == [
        "the infusion has ended",
        "Staff must observe the patient",
    ]
    assert compiled("1. Close the valve at the wall.\n").items("procedures") == []


def test_a_title_of_a_manual_page_is_no_term() -> None:
    found = compiled("AUTHORS\n       Written by Ada Lovelace and Charles Babbage.\n")
    assert found.items("concepts") == []


def test_a_slice_says_that_nothing_answers() -> None:
    package = compiled("Every member must return the key within 30 days.\n")
    asked = SliceInput(package=package.body, query="What is the weather in Lima?")
    found = run_slice(asked)
    assert not found.answered
    assert "Nothing in the package" in found.note
    assert run_slice(asked.model_copy(update={"query": "When is the key due?"})).answered


def test_an_exception_that_answers_the_sentence_before_changes_that_rule() -> None:
    text = (
        "# Ferry\n\nThe operator must publish the hours of the ferry on the board of the quay.\n\n"
        "The crew must close the gate when the ferry leaves. However, they may keep it open on"
        " market days if the board says so.\n"
    )
    package = compile_text(SourceText(text), CompileOptions())
    changed = [it["general_rule"] for it in package.items("exceptions")]
    assert changed == ["The crew must close the gate when the ferry leaves"]

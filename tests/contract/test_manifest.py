"""The manifest and the tests agree; and each check that says so complains when they do not."""

import pytest

from tests.contract.manifest import (
    CHECKS,
    Check,
    Claim,
    Promise,
    claims_in,
    claims_of_nothing,
    empty_sentences,
    every_claim,
    every_promise,
    keys_written,
    lines_outside,
    malformed_ids,
    proved_but_deferred,
    repeated_ids,
    unknown_ids,
    unproved,
)
from tests.contract.requirement import Requirement

KEPT = "lake.trim.invisible"
LATER = "ckf.compile.needs_no_key"
PROMISES = [
    Promise("klake", KEPT, Requirement(3, "Hidden files are absent.")),
    Promise("ckf", LATER, Requirement(151, "No key is asked for.", deferred="the ckf feature")),
]
CLAIMS = [
    Claim("contract/test_lake.py", "test_a_hidden_file_is_absent", (KEPT,)),
    Claim("unit/test_errors.py", "test_a_code_is_stable", ()),
    Claim("contract/test_manifest.py", "test_the_manifest_agrees", ()),
]

every_check = pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])


@every_check
def test_the_references_and_the_tests_agree(check: Check) -> None:
    complaints = check(every_promise(), every_claim())
    assert not complaints, "\n".join(complaints)


@every_check
def test_a_good_example_draws_no_complaint(check: Check) -> None:
    assert check(PROMISES, CLAIMS) == []


def test_every_reference_is_read() -> None:
    features = {promise.id.split(".")[0] for promise in every_promise()}
    assert {"lake", "ckf", "wiki", "cascade", "memory"} <= features


def test_a_promise_with_neither_test_nor_reason_is_a_complaint() -> None:
    assert _names(unproved(PROMISES, []), KEPT)


def test_a_blank_reason_is_no_reason() -> None:
    promise = Promise("ckf", LATER, Requirement(3, "No key is asked for.", deferred=" "))
    assert _names(unproved([promise], []), LATER)


def test_a_deferred_promise_that_a_test_proves_is_a_complaint() -> None:
    claim = Claim("features/test_ckf.py", "test_no_key_is_asked_for", (LATER,))
    assert _names(proved_but_deferred(PROMISES, [claim]), LATER)


def test_an_unknown_id_is_a_complaint_wherever_the_test_is() -> None:
    claim = Claim("unit/test_errors.py", "test_a_code_is_stable", (KEPT, "lake.trim.imaginary"))
    assert _names(unknown_ids(PROMISES, [claim]), "lake.trim.imaginary")


def test_a_contract_test_that_names_no_promise_is_a_complaint() -> None:
    claim = Claim("contract/test_lake.py", "test_something_else", ())
    assert _names(claims_of_nothing(PROMISES, [claim]), "test_something_else")


def test_two_promises_with_one_id_are_a_complaint() -> None:
    again = Promise("ckf", KEPT, Requirement(4, "Another sentence."))
    assert _names(repeated_ids([*PROMISES, again], CLAIMS), KEPT)


@pytest.mark.parametrize(
    "name", ["lake", "lake.trim", "lake.trim.a.b", "Lake.trim.a", "lake.trim.a-b", "lake..a", ""]
)
def test_an_id_of_another_shape_is_a_complaint(name: str) -> None:
    promise = Promise("klake", name, Requirement(3, "Hidden files are absent."))
    assert _names(malformed_ids([promise], CLAIMS), name)


def test_a_sentence_that_says_nothing_is_a_complaint() -> None:
    promise = Promise("klake", KEPT, Requirement(3, " \n"))
    assert _names(empty_sentences([promise], CLAIMS), KEPT)


@pytest.mark.parametrize(
    ("module", "line"),
    [("ckf", 0), ("ckf", -1), ("ckf", 152), ("ckf_llm", 152), ("klake", 121), ("ckfllm", 3)],
)
def test_a_line_outside_its_reference_is_a_complaint(module: str, line: int) -> None:
    promise = Promise(module, KEPT, Requirement(line, "Hidden files are absent."))
    assert _names(lines_outside([promise], CLAIMS), KEPT)


def test_a_key_written_twice_is_read_twice() -> None:
    source = 'REQUIREMENTS: dict[str, int] = {"a.b.c": 1, "a.b.d": 2, "a.b.c": 3}'
    assert keys_written(source) == ["a.b.c", "a.b.d", "a.b.c"]


@pytest.mark.parametrize(
    "source",
    [
        '@requirement("a.b.c", "a.b.d")\ndef test_it(): ...',
        '@requirement("a.b.c")\n@requirement("a.b.d")\nasync def test_it(): ...',
        '@pytest.mark.requirement("a.b.c", "a.b.d")\ndef test_it(): ...',
        'pytestmark = requirement("a.b.c", "a.b.d")\ndef test_it(): ...',
        'pytestmark = [anyio, requirement("a.b.c")]\n@requirement("a.b.d")\ndef test_it(): ...',
        'pytestmark: object = requirement("a.b.c", "a.b.d")\ndef test_it(): ...',
        '@requirement("a.b.c")\nclass TestIt:\n  @requirement("a.b.d")\n  def test_it(self): ...',
        'class TestIt:\n  pytestmark = requirement("a.b.c", "a.b.d")\n  def test_it(self): ...',
        '@parametrize("x", [param(1, marks=requirement("a.b.c", "a.b.d"))])\ndef test_it(x): ...',
    ],
)
def test_a_mark_is_read_wherever_pytest_takes_one(source: str) -> None:
    assert claims_in("features/test_it.py", source) == [
        Claim("features/test_it.py", "test_it", ("a.b.c", "a.b.d"))
    ]


def test_a_mark_whose_id_is_computed_claims_nothing_known() -> None:
    [claim] = claims_in("features/test_it.py", "@requirement(*IDS)\ndef test_it(): ...")
    assert _names(unknown_ids(PROMISES, [claim]), "*IDS")


def test_only_tests_claim() -> None:
    assert claims_in("features/test_it.py", '@requirement("a.b.c")\ndef build(): ...') == []


def _names(complaints: list[str], what: str) -> bool:
    """Whether there is one complaint, and it names what is wrong."""
    return len(complaints) == 1 and what in complaints[0]

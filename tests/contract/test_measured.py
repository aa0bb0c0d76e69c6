"""Promises of figures: what the benches measured and we committed keeps them.

The benches run by hand, on a quiet machine; a promise of the references is a floor, not our target.
"""

import json
from pathlib import Path
from typing import Any

import pytest

RESULTS = Path(__file__).parents[2] / "bench" / "results"


def measured(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


@pytest.mark.requirement("lake.bench.single_shot_lexical", "lake.bench.single_shot_hybrid")
def test_one_query_finds_the_filing_that_answers() -> None:
    found = measured("financebench")
    assert found["words"]["two stages"]["document@10"] >= 0.4
    assert found["hybrid"]["two stages"]["document@10"] >= 0.6


@pytest.mark.requirement("lake.lexical.cheaper")
@pytest.mark.parametrize("name", ["search-100000", "search-1000000", "lake-1000000"])
def test_words_alone_take_less_than_words_and_meaning(name: str) -> None:
    found = measured(name)
    timed = [it for it in found if "%" in it or it == "one file"]
    assert timed
    for it in timed:
        assert found[it]["lexical"]["p50_ms"] < found[it]["hybrid"]["p50_ms"]

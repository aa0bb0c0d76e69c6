"""The texts that ship are compiled as they ship, and the cases of ours keep their relations."""

import json
from pathlib import Path

import pytest

from bench.ckf import OTHER_CASES, OWN_CASES, Case, own_cases, relations
from bench.ckf_retention import measure_retention
from pecia.features.ckf.examples.loader import CREATED_AT, TOPICS, load_example, load_example_source
from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.fields import COMPRESSION_LEVELS
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.package.tokens import estimate_tokens
from pecia.features.ckf.posts.loader import SLUGS, load_post, load_shipped_posts

RESULTS = Path(__file__).parents[4] / "bench" / "results" / "ckf.json"

# Every example has these: the ingredients that an example is for.
INGREDIENTS = (
    *("concepts", "heuristics", "decision_rules", "procedures", "patterns", "anti_patterns"),
    *("causal_chains", "if_then_rules", "exceptions", "mental_models", "retrieval_chunks"),
)


@pytest.mark.parametrize("topic", TOPICS)
def test_the_package_of_an_example_is_what_the_compiler_makes_of_its_text(topic: str) -> None:
    example = load_example(topic)
    options = CompileOptions(source_type=example.source_type, created_at=CREATED_AT)
    assert compile_text(example.source, options) == example.package


@pytest.mark.parametrize("topic", TOPICS)
def test_an_example_has_every_ingredient_and_no_fault(topic: str) -> None:
    example = load_example(topic)
    assert validate_package(example.package.body, source=example.source.text).findings == ()
    assert all(example.package.items(it) for it in INGREDIENTS)
    assert len(example.package.items("qa_pairs")) == 2
    kept = measure_retention(example.package, example.source.text)
    assert (kept.numbers.share, kept.sentences.share) == (1, 1)


@pytest.mark.parametrize("topic", TOPICS)
def test_an_example_fits_the_dense_budget_in_every_format(topic: str) -> None:
    source = load_example_source(topic)
    dense = compile_text(source, CompileOptions(compression_level="dense"))
    for format in PackageFormat:
        written = encode_package(Package(compact_package(dense)), format)
        assert estimate_tokens(written) <= 2.5 * estimate_tokens(source.text)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_post_that_ships_compiles_in_its_language(slug: str) -> None:
    post = load_post(slug)
    package = compile_text(SourceText(post.text, title=post.title), CompileOptions())
    assert package.metadata["language"] == post.language
    assert validate_package(package.body, source=post.text).findings == ()
    assert package.items("exceptions")
    assert all((post.title, post.excerpt, post.category, post.author, post.tags))


def test_posts_come_newest_first_and_are_six() -> None:
    posts = load_shipped_posts()
    assert [it.date for it in posts] == sorted((it.date for it in posts), reverse=True)
    assert len({it.slug for it in posts}) == 6


@pytest.mark.parametrize("folder", [OWN_CASES, OTHER_CASES])
def test_our_cases_keep_their_relations(folder: Path) -> None:
    figures = relations(own_cases(folder))
    assert figures["cases"] == 10
    assert figures["in_place"]["share"] >= 0.9
    assert figures["exceptions_in_place"]["share"] >= 0.9
    assert figures["plain_rules_read_as_exceptions"]["share"] <= 0.1


@pytest.mark.parametrize("case", own_cases(OTHER_CASES), ids=lambda it: it.name)
def test_tables_code_footnotes_and_units_lose_nothing(case: Case) -> None:
    package = compile_text(SourceText(case.text), CompileOptions())
    assert validate_package(package.body, source=case.text).errors == []
    kept = measure_retention(package, case.text)
    assert kept.items_with_trace.share == kept.excerpts_verbatim.share == 1
    assert kept.numbers.share == kept.sentences.share == 1


@pytest.mark.requirement("ckf.compile.is_quick")
def test_the_bench_recorded_200000_characters_within_its_target() -> None:
    recorded = json.loads(RESULTS.read_text("utf-8"))["time"]
    assert recorded["target_ms"] == 300
    assert recorded["ms_at_200000_by_level"].keys() == set(COMPRESSION_LEVELS)
    assert max(recorded["ms_at_200000_by_level"].values()) <= recorded["target_ms"]
    # Linear: twice the length takes twice the time, give or take what a machine does beside it.
    by_length = {int(length): ms for length, ms in recorded["ms_by_length"].items()}
    assert by_length[200_000] <= 2.4 * by_length[100_000]

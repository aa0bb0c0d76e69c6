"""Laws of comparing, cutting and checking packages."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.features.ckf.core.packages import run_slice
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package, parse_package
from pecia.features.ckf.package.diff.diff import diff_bodies
from pecia.features.ckf.package.locate import SearchableText
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.package.normalize import normalize
from pecia.features.ckf.package.quality.inspect import inspect_package
from pecia.features.ckf.package.quality.sanitize import (
    SanitizeAction,
    SanitizeOptions,
    sanitize_package,
)
from pecia.features.ckf.package.similarity import pair_similar
from pecia.features.ckf.package.slice.dependencies import find_dependencies
from pecia.features.ckf.package.slice.slice import slice_package
from pecia.features.ckf.package.tokens import estimate_tokens
from pecia.features.ckf.tools.inputs import SliceInput
from tests.laws.ckf_packages import bodies, packages, sentences, sound_packages, words
from tests.soak import SOAK

many = settings(
    max_examples=5000 if SOAK else 40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
queries = sentences | st.lists(words, min_size=1, max_size=3).map(" ".join)


@given(packages)
@many
def test_a_package_does_not_differ_from_itself(package: Package) -> None:
    for format in PackageFormat:
        again = parse_package(encode_package(package, format))
        assert diff_bodies(package, again, ignore_volatile=False).identical


@given(sound_packages(), sound_packages())
@many
def test_what_is_added_one_way_is_removed_the_other_way(a: Package, b: Package) -> None:
    there, back = diff_bodies(a, b), diff_bodies(b, a)
    for key, it in there.sections.items():
        assert sorted(map(str, it.added)) == sorted(map(str, back.sections[key].removed))
        assert sorted(map(str, it.removed)) == sorted(map(str, back.sections[key].added))
        assert len(it.changed) == len(back.sections[key].changed)
        assert it.unchanged == back.sections[key].unchanged
    assert there.identical == back.identical


near_texts = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1).map(" ".join), max_size=6)


@given(near_texts, near_texts)
@many
def test_pairs_are_the_same_whichever_list_is_first(first: list[str], second: list[str]) -> None:
    there = [(first[it.first], second[it.second]) for it in pair_similar(first, second, 0.3)]
    back = [(first[it.second], second[it.first]) for it in pair_similar(second, first, 0.3)]
    assert sorted(there) == sorted(back)


@given(sound_packages(), st.data())
@many
def test_every_item_is_counted_once(a: Package, data: st.DataObject) -> None:
    b = data.draw(sound_packages())
    for key, it in diff_bodies(a, b).sections.items():
        paired = len(it.changed) + len(it.renamed) + it.unchanged
        if key not in ("core_intent", "domain_map", "agent_instructions", "knowledge_limits"):
            assert paired + len(it.removed) == len(a.items(key))
            assert paired + len(it.added) == len(b.items(key))


@given(sound_packages(), queries, st.integers(0, 400))
@many
def test_a_slice_never_passes_its_budget(package: Package, query: str, budget: int) -> None:
    found = slice_package(package, query, budget)
    assert estimate_tokens(found.document) <= budget
    if found.document:
        ids = {
            str(it["id"])
            for _, it in parse_package(found.document, PackageFormat.YAML).iter_items()
        }
        assert ids == set(found.included)


@given(sound_packages(), queries, st.integers(50, 1000))
@many
def test_the_whole_reply_of_a_slice_keeps_its_budget(
    package: Package, query: str, budget: int
) -> None:
    ask = SliceInput(package=package.body, query=query or "?", budget_tokens=budget)
    found = run_slice(ask)
    assert estimate_tokens(found.model_dump_json()) <= budget
    assert found.tokens <= budget
    assert found.answered == bool(found.included)
    assert bool(found.note) != found.answered
    assert len(found.left_out) <= found.left_out_count


@given(sound_packages(), queries, st.integers(0, 1000))
@many
def test_a_rule_never_comes_without_what_changes_it(
    package: Package, query: str, budget: int
) -> None:
    found = set(slice_package(package, query, budget).included)
    links = find_dependencies(package)
    for it in found:
        assert links.dependencies.get(it, set()) <= found


@given(bodies(), st.text(max_size=40))
@many
def test_any_document_can_be_checked_inspected_and_cleaned(body: Item, source: str) -> None:
    package = Package(body)
    assert validate_package(body, source=source).findings is not None
    whole: Any = inspect_package(
        parse_package(encode_package(normalize(body), PackageFormat.JSON)), source
    )
    assert whole["compression"]
    assert sanitize_package(package, source).to_json()


@given(sound_packages())
@many
def test_cleaning_leaves_no_reference_to_what_it_took_out(package: Package) -> None:
    before = {it.path for it in validate_package(package.body).errors if it.code == "REF_DANGLING"}
    cleaned = sanitize_package(package, options=SanitizeOptions(SanitizeAction.REMOVE)).package
    after = [it for it in validate_package(cleaned.body).errors if it.code == "REF_DANGLING"]
    assert len(after) <= len(before)


@given(st.text("aB \n\t", max_size=30), st.integers(0, 30), st.integers(0, 9), st.integers(-3, 33))
@many
def test_every_slice_of_a_text_is_found_in_it(
    text: str, start: int, size: int, around: int
) -> None:
    quotation = text[start : start + size]
    found = SearchableText(text).find(quotation, around)
    assert (found is None) == (not quotation.strip())
    if found:
        assert text[found.span.start : found.span.end] == quotation


spaces = st.sampled_from([" ", "\n", "\t \n", "  "])
spaced_words = st.lists(st.tuples(st.sampled_from(["a", "B", "aB", "Bb"]), spaces), min_size=2)


@given(spaced_words, st.integers(0, 8), st.integers(1, 8))
@many
def test_a_quotation_is_found_whatever_its_case_and_spaces(
    found_words: list[tuple[str, str]], start: int, size: int
) -> None:
    text = "".join(word + space for word, space in found_words)
    quotation = " \n ".join(word.upper() for word, _ in found_words[start : start + size])
    found = SearchableText(text).find(quotation)
    if quotation:
        assert found
        there = text[found.span.start : found.span.end]
        assert there.upper().split() == quotation.split()

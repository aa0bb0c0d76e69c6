"""Any change inside what a package cites is told, with both readings; a change outside is not.

The source is then said to have changed, and no more.
"""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.features.ckf.core.packages import run_verify
from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package, parse_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package, normalize
from pecia.features.ckf.package.verify import CurrentSource
from tests.soak import SOAK

many = settings(
    max_examples=3000 if SOAK else 60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

FILLER = "and the member who has borrowed it keeps it dry and clean and far away from the harbour "
LEVELS = ("light", "standard", "dense", "agentic")

LONG = f"# L\n\nEvery loan must be repaid, {FILLER * 4}within 30 days.\n"
EXAMPLE = compile_text(SourceText(LONG, language="en"), CompileOptions("policy"))

sentences = st.lists(
    st.tuples(st.integers(0, 5), st.integers(2, 90)).map(
        lambda it: (
            f"Every loan of kind {it[1]} must be repaid, {FILLER * it[0]}within {it[1]} days."
        )
    ),
    min_size=1,
    max_size=4,
    unique=True,
)


@st.composite
def compiled(draw: st.DrawFn) -> tuple[str, Package]:
    """A text with long and short rules, and its package at any level."""
    body = "\n\n".join(draw(sentences))
    text = f"# Loans\n\nSome introduction that says little.\n\n{body}\n"
    level = draw(st.sampled_from(LEVELS))
    return text, compile_text(SourceText(text, language="en"), CompileOptions("policy", level))


def cited(text: str, package: Package) -> list[tuple[int, int]]:
    """Where every sentence that the package quotes begins and ends, by the text alone."""
    spans: list[tuple[int, int]] = []
    for row in package.trace:
        start = row["source_char_start"]
        assert isinstance(start, int)
        ends = [at for mark in (".\n", "\n") if (at := text.find(mark, start)) >= 0]
        spans.append((start, min(ends)))
    return spans


def checked(package: Package, text: str) -> Any:
    return run_verify(package, {"": CurrentSource(text)})


@given(compiled(), st.data())
@example((LONG, EXAMPLE), None)
@many
def test_any_change_inside_what_is_cited_is_told(
    made: tuple[str, Package], data: st.DataObject | None
) -> None:
    text, package = made
    assert checked(package, text).holds
    if data is None:
        at, new = text.index("30 days"), "6"
    else:
        start, end = data.draw(st.sampled_from(cited(text, package)))
        at = data.draw(st.integers(start, end - 1))
        new = data.draw(st.sampled_from("abcXYZ059").filter(lambda it: it != text[at]))
    found = checked(package, text[:at] + new + text[at + 1 :])
    assert not found.holds
    assert found.problems
    assert found.stale
    assert any(it.was and it.now and it.was != it.now for it in found.problems)


@given(compiled(), st.sampled_from(["", "Before all this.\n\n", "Foreword"]), st.text(max_size=30))
@many
def test_a_change_outside_is_only_a_change_of_the_source(
    made: tuple[str, Package], before: str, after: str
) -> None:
    text, package = made
    changed = before + text + "\n" + after.replace("\r", "")
    found = checked(package, changed)
    assert found.holds
    assert found.problems == []
    assert bool(found.stale) == (changed != text)


def test_what_was_and_what_is_now_are_told() -> None:
    found = checked(EXAMPLE, LONG.replace("30 days", "60 days"))
    assert not found.holds
    assert any("30 days" in it.was and "60 days" in it.now for it in found.problems)


@given(compiled(), st.data())
@many
def test_any_changed_character_of_a_package_is_told(
    made: tuple[str, Package], data: st.DataObject
) -> None:
    text, package = made
    body: Any = json.loads(json.dumps(package.body))
    owner, key = data.draw(st.sampled_from([*texts_in(body)]))
    at = data.draw(st.integers(0, len(owner[key]) - 1))
    new = data.draw(st.sampled_from("abcXYZ059").filter(lambda it: it != owner[key][at]))
    owner[key] = owner[key][:at] + new + owner[key][at + 1 :]
    found = checked(normalize(body), text)
    assert not found.holds
    assert found.altered or found.problems


@given(compiled())
@many
def test_a_package_is_the_same_in_every_format_and_as_a_post(made: tuple[str, Package]) -> None:
    text, package = made
    for format in PackageFormat:
        document = encode_package(Package(compact_package(package)), format)
        again = parse_package(document, format)
        assert checked(again, text).holds
    shown = normalize({**package.body, "metadata": {**package.metadata, "post_slug": "loans"}})
    assert checked(shown, text).holds


def texts_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where every text of a package stands: its record or list, and its key."""
    pairs: Any = value.items() if hasattr(value, "items") else enumerate(value)
    for key, it in pairs:
        if isinstance(it, str) and it:
            yield value, key
        elif isinstance(it, (dict, list)):
            yield from texts_in(it)


def test_what_has_changed_in_the_source_is_told_first() -> None:
    found = checked(EXAMPLE, LONG.replace("30 days", "60 days"))
    assert next(iter(found.model_dump())) == "stale"

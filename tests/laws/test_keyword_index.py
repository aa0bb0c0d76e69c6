"""What must hold of every index, query and filter, whatever is in them."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.index import (
    NO_FILTER,
    Filter,
    IndexEntry,
    KeywordHit,
    KeywordIndex,
    Query,
    VisibleStatistics,
    parse_query,
)
from tests.soak import SOAK

# A busy machine makes generating slow, which says nothing of the law.
tries = settings(
    max_examples=2000 if SOAK else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

WORDS = ("alpha", "beta", "gammas", "deltas", "running", "naïve", "der", "the", "漢字", "FY2018")
SOURCES = ("s1", "s2", "wiki:a")
KEYS = ("a.md", "docs/a.md", "docs/b/c.md", "docs/b/é.pdf", "x y/[z].md", "q\nr.txt")
TYPES = ("text/markdown", "text/html; charset=utf-8", "application/pdf", "")
GLOBS = (
    "*.md",
    "**/*.md",
    "docs/**",
    "docs/*/?.md",
    "docs/b/[!c]*",
    "**",
    "x y/[[]*",
    "q*",
    "[z-a]",
)

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
plain = st.lists(st.sampled_from(("alpha", "beta", "gammas", "running")), min_size=1, max_size=6)
moments = st.none() | st.integers(-3, 3)
entries = st.builds(
    IndexEntry,
    id=st.integers(1, 10**6),
    group=st.integers(1, 3),
    acl=st.integers(0, 4),
    source=st.sampled_from(SOURCES),
    key=st.sampled_from(KEYS),
    content_type=st.sampled_from(TYPES),
    modified_ms=moments,
    title=texts,
    headings=texts,
    body=texts,
)
conditions: dict[str, st.SearchStrategy[Any]] = {
    "classes": st.frozensets(st.integers(0, 4)),
    "sources": st.frozensets(st.sampled_from(SOURCES)),
    "path_glob": st.sampled_from(GLOBS),
    "content_type": st.sampled_from(("text/*", "text/html", "application/pdf", "x/y")),
    "modified_after_ms": st.integers(-3, 3),
    "modified_before_ms": st.integers(-3, 3),
}
# One condition at a time for each to matter, and several for them to meet.
filters = st.one_of(
    *(st.builds(Filter, **{name: it}) for name, it in conditions.items()),
    st.fixed_dictionaries({}, optional=conditions).map(lambda it: Filter(**it)),
)
somebody = st.none() | st.frozensets(st.integers(0, 4))
batches = st.lists(entries, max_size=12, unique_by=lambda it: it.id)
indexes = st.lists(entries, max_size=40, unique_by=lambda it: it.id)


def indexed(held: list[IndexEntry]) -> KeywordIndex:
    """An index in several segments: one commit for each group."""
    index = KeywordIndex.in_memory()
    for group in sorted({it.group for it in held}):
        index.apply([], [it for it in held if it.group == group])
    return index


def seen_by(held: list[IndexEntry], classes: frozenset[int] | None) -> VisibleStatistics | None:
    """What is visible to one who sees these classes; None is all of them."""
    if classes is None:
        return None
    return VisibleStatistics(classes, sum(it.acl in classes for it in held))


def fits(entry: IndexEntry, asked: Filter) -> bool:
    """The filter as one would say it, without an engine."""
    plain = entry.content_type.split(";")[0]
    return all(
        (
            asked.classes is None or entry.acl in asked.classes,
            asked.sources is None or entry.source in asked.sources,
            asked.path_glob is None or glob_fits(asked.path_glob, entry.key),
            asked.content_type is None
            or asked.content_type in (entry.content_type, plain, plain.split("/")[0] + "/*"),
            asked.modified_after_ms is None
            or (entry.modified_ms is not None and entry.modified_ms >= asked.modified_after_ms),
            asked.modified_before_ms is None
            or (entry.modified_ms is not None and entry.modified_ms < asked.modified_before_ms),
        )
    )


def glob_fits(glob: str, key: str) -> bool:
    """By segments, from the left: `**` takes any number of folders."""
    return _segments_fit(glob.split("/"), key.split("/"))


def _segments_fit(glob: list[str], key: list[str]) -> bool:
    head, *rest = glob
    if head == "**":
        if not rest:
            return key not in ([], [""])
        return any(
            _segments_fit(rest, key[at:]) for at in range(len(key)) if all(key[:at]) and key[at:]
        )
    if not key or not _sign_fits(head, key[0]):
        return False
    return _segments_fit(rest, key[1:]) if rest else len(key) == 1


def _sign_fits(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(_sign_fits(pattern[1:], text[at:]) for at in range(len(text) + 1))
    end = pattern.find("]", 3 if pattern.startswith("[!") else 2)
    if pattern[0] == "[" and end > 0:
        inside = pattern[1:end]
        return bool(text) and _in_set(inside, text[0]) and _sign_fits(pattern[end + 1 :], text[1:])
    return bool(text) and pattern[0] in ("?", text[0]) and _sign_fits(pattern[1:], text[1:])


def _in_set(inside: str, sign: str) -> bool:
    inverted = inside.startswith("!")
    ranges: list[str] = re.findall(r".-.|.", inside[inverted:], re.DOTALL)
    return inverted != any(it[0] <= sign <= it[-1] for it in ranges)


def ranked(hits: list[KeywordHit]) -> list[KeywordHit]:
    return sorted(hits, key=lambda it: (-it.score, it.id))


@tries
@given(indexes, texts, filters, st.integers(1, 12))
def test_the_top_under_a_filter_is_the_top_of_all_that_fits(
    held: list[IndexEntry], words: str, asked: Filter, limit: int
) -> None:
    index = indexed(held)
    query = parse_query(words)
    everything = index.search(query, limit=len(held) + 1)
    assert everything == ranked(everything)
    by_id = {it.id: it for it in held}
    expected = [it for it in everything if fits(by_id[it.id], asked)][:limit]
    assert index.search(query, asked, limit) == expected
    assert index.count(asked) == sum(fits(it, asked) for it in held)


@tries
@given(st.permutations(range(1, 41)), st.integers(1, 12), st.booleans())
def test_among_equals_the_first_ids_are_found_however_few_are_asked_for(
    order: list[int], limit: int, by_class: bool
) -> None:
    index = KeywordIndex.in_memory()
    for half in (order[:20], order[20:]):
        index.apply([], [IndexEntry(it, it, it % 2, body="heron") for it in half])
    asked = Filter(frozenset({1})) if by_class else NO_FILTER
    ids = [it for it in range(1, 41) if not by_class or it % 2]
    found = index.search(parse_query("heron"), asked, limit)
    assert [it.id for it in found] == ids[:limit]


@tries
@given(
    st.lists(st.integers(1, 2), min_size=30, max_size=60),
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from([NO_FILTER, Filter(frozenset({1})), Filter(frozenset({1, 2}))]),
)
def test_the_first_are_the_best_and_fewer_only_when_enough_or_all(
    times: list[int], most: int, least: int, asked: Filter
) -> None:
    """Many say the same, so that ties end where the asking does."""
    index = KeywordIndex.in_memory()
    bodies = [" ".join(["heron"] * it) for it in times]
    held = [IndexEntry(n, n, n % 3, body=it) for n, it in enumerate(bodies, start=1)]
    # The engine would take the first that came.
    index.apply([], reversed(held))
    best = index.search(parse_query("heron"), asked, len(times) + 1)
    found, is_all = index.top(parse_query("heron"), asked, most, min(least, most))
    assert found == best[: len(found)]
    assert len(found) <= most
    assert len(found) >= min(least, most, len(best))
    assert len(found) == len(best) or not is_all


@tries
@given(indexes, texts)
def test_whoever_shares_a_word_is_found(held: list[IndexEntry], words: str) -> None:
    wanted = set(words.split())
    found = {it.id for it in indexed(held).search(parse_query(words), limit=len(held) + 1)}
    # These two hold sentences together, and are passed over beside other words.
    content = wanted - {"the", "der"}
    sharing = {it.id for it in held if content & set(f"{it.title} {it.headings} {it.body}".split())}
    assert sharing <= found


@tries
@given(indexes, texts, st.lists(st.integers(1, 10**6), max_size=3), somebody)
def test_every_hit_is_explained_by_the_fields_that_hold_its_words(
    held: list[IndexEntry], words: str, strangers: list[int], classes: frozenset[int] | None
) -> None:
    index = indexed(held)
    query = parse_query(words)
    asked, visible = Filter(classes), seen_by(held, classes)
    hits = index.search(query, asked, len(held) + 1, visible)
    told = index.explain(query, [it.id for it in hits] + strangers, visible)
    for hit in hits:
        assert all(it > 0 for it in told[hit.id].values())
        assert sum(told[hit.id].values()) == pytest.approx(hit.score, rel=1e-4)
    assert set(told) == {it.id for it in hits} | set(strangers)


@tries
@given(
    st.lists(st.tuples(st.integers(0, 2), plain, plain), min_size=1, max_size=12),
    plain.map(" ".join),
    st.frozensets(st.integers(0, 2)),
)
def test_words_weigh_the_same_whatever_hidden_texts_say(
    held: list[tuple[int, list[str], list[str]]], words: str, classes: frozenset[int]
) -> None:
    """Hidden texts say other words in the one index than in the other, as many of them."""
    one, other = (
        [
            IndexEntry(n, n, acl, body=" ".join(it if acl in classes else they))
            for n, (acl, *both) in enumerate(held, start=1)
            for it, they in [(both[0], as_many(both[which], len(both[0])))]
        ]
        for which in (0, 1)
    )
    asked, visible = Filter(classes), seen_by(one, classes)
    found, expected = (
        indexed_at_once(it).search(parse_query(words), asked, 50, visible) for it in (one, other)
    )
    assert {it.id: it.score for it in found} == {
        it.id: pytest.approx(it.score, rel=1e-4) for it in expected
    }


def as_many(words: list[str], count: int) -> list[str]:
    return (words * count)[:count]


def indexed_at_once(held: list[IndexEntry]) -> KeywordIndex:
    index = KeywordIndex.in_memory()
    index.apply([], held)
    return index


def test_in_which_language_hidden_texts_are_says_nothing_of_the_others() -> None:
    """`running` is its own stem in German: looked up so, it would count once in an English text."""
    mine = IndexEntry(1, 1, 1, language="en", body="heron running")
    other = IndexEntry(2, 2, 2, language="de", body="Reiher running")
    query, visible = parse_query("running"), VisibleStatistics(frozenset({1}), 1)
    told = indexed_at_once([mine, other]).explain(query, [1], visible)
    assert set(told[1]) == set(indexed_at_once([mine]).explain(query, [1])[1])


@tries
@given(st.lists(st.tuples(st.lists(st.integers(1, 6), max_size=2), batches), max_size=5))
def test_the_index_holds_what_was_last_put_and_putting_twice_is_putting_once(
    steps: list[tuple[list[int], list[IndexEntry]]],
) -> None:
    index = KeywordIndex.in_memory()
    expected: dict[int, list[IndexEntry]] = {}
    for cursor, (gone, put) in enumerate(steps, start=1):
        # A chunk id belongs to one file for ever.
        moved = [IndexEntry(it.id * 10 + it.group, it.group, it.acl, body=it.body) for it in put]
        for _ in range(2):
            index.apply(gone, moved, cursor)
        groups = {it.group for it in moved}
        expected = {at: it for at, it in expected.items() if at not in {*gone, *groups}}
        expected |= {at: [it for it in moved if it.group == at] for at in groups}
        assert index.cursor() == cursor
    held = {(it.id, it.acl, it.mark) for it in index.iter_chunks()}
    assert held == {(it.id, it.acl, it.mark) for group in expected.values() for it in group}
    assert index.groups() == set(expected)


@tries
@given(st.permutations(range(1, 4)), indexes)
def test_the_order_in_which_files_come_does_not_matter(
    order: list[int], held: list[IndexEntry]
) -> None:
    index = KeywordIndex.in_memory()
    for group in order:
        index.apply([], [it for it in held if it.group == group])
    assert set(index.iter_chunks()) == set(indexed(held).iter_chunks())
    words = parse_query("alpha beta running")
    assert index.search(words, limit=50) == indexed(held).search(words, limit=50)


NAMES = ("path", "source", "type", "title", "after", "before")
VALUES = (
    "docs/**",
    "s1",
    "text/html",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "banana",
    "x\ud800",
    '"a b"',
    "é",
)
pieces = st.one_of(
    st.text(max_size=10),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)).map(lambda it: f"{it[0]}:{it[1]}"),
    st.sampled_from(('"', '"a phrase"', "AND", "-x", "path:", '""', "the of", "\ud800")),
)


@tries
@given(st.lists(pieces, max_size=6).map(" ".join), filters)
@example("source:x\ud800", NO_FILTER)
def test_every_text_is_a_query(text: str, asked: Filter) -> None:
    index = indexed([IndexEntry(1, 1, body="alpha"), IndexEntry(2, 2, body="漢字 beta")])
    assert len(index.search(parse_query(text), asked)) <= 2


@tries
@given(
    st.text(st.characters(exclude_characters='"')), st.sampled_from(NAMES), st.sampled_from(VALUES)
)
def test_a_filter_in_a_query_is_never_dropped(words: str, name: str, value: str) -> None:
    plain, narrowed = parse_query(words), parse_query(f"{words} {name}:{value}")
    if name == "title":
        assert len(narrowed.titles) > len(plain.titles)
    else:
        assert narrowed.within != plain.within or len(narrowed.unclear) == len(plain.unclear) + 1
    assert set(plain.phrases) == set(narrowed.phrases)


@tries
@given(st.text(max_size=20), st.text("ab*?[]!-/.é", max_size=12) | st.sampled_from(GLOBS))
def test_every_glob_is_one_the_engine_takes(key: str, glob: str) -> None:
    index = KeywordIndex.in_memory()
    index.apply([], [IndexEntry(1, 1, key=key.encode("utf-8", "replace").decode(), body="alpha")])
    found = index.search(Query(words=("alpha",)), Filter(path_glob=glob))
    assert len(found) <= 1


def test_without_a_word_and_without_a_place_nothing_is_found() -> None:
    index = indexed([IndexEntry(1, 1, body="alpha")])
    assert index.search(parse_query(" !? "), NO_FILTER) == []

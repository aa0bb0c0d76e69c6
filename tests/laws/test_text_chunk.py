"""A canonical text is exact, its chunks are all of it in order, and windows are slices of it."""

import hashlib
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.search.excerpt import WindowSize, build_window
from pecia.kernel.text.canonical import (
    UNIT_SEPARATOR,
    CanonicalText,
    RawUnit,
    UnitKind,
    build_canonical_text,
    normalize,
)
from pecia.kernel.text.chunks.chunk import Chunk, ChunkSource, TextMarkup, chunk_text
from pecia.kernel.text.chunks.pack import ChunkSize
from pecia.kernel.text.span import Span

PARTS = (
    *(
        "# Head\n\n",
        "## Two {#x}\n",
        "A sentence. ",
        "Another one! ",
        "word ",
        "\n\n",
        "\n",
        "- item\n",
    ),
    *(
        "```\ncode\n```\n",
        "|a|b|\n|-|-|\n|1|2|\n",
        "Table 1: sums\n",
        "x" * 60,
        "Sales 1,200 3,400\n",
    ),
    *(
        "Costs 5 6 7\n",
        "|c|d|\n",
        "e\u0301",
        "。",
        "> quoted\n",
        "---\n",
        "\t",
        "\f",
        "\r\n",
        "Title\n===\n",
    ),
)
SMALL = ChunkSize(small=20, low=70, high=100, table=150)

texts = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
raw_units = st.builds(
    RawUnit, st.integers(1, 9), st.sampled_from(UnitKind), texts | st.just(""), st.just("label")
)
canonical_texts = st.lists(raw_units, max_size=5).map(build_canonical_text)
markups = st.sampled_from(TextMarkup)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.builds(RawUnit, st.just(1), st.just(UnitKind.PAGE), st.text()), max_size=4))
def test_a_canonical_text_is_its_units_between_joints(units: list[RawUnit]) -> None:
    made = build_canonical_text(units)
    assert UNIT_SEPARATOR.join(it.span.of(made.text) for it in made.units) == made.text
    assert unicodedata.is_normalized("NFC", made.text)
    assert "\r" not in made.text
    assert made.text.count("\f") == max(0, len(units) - 1)
    assert made.sha256 == hashlib.sha256(made.text.encode()).hexdigest()
    for raw, unit in zip(units, made.units, strict=True):
        lines = raw.text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
        expected = unicodedata.normalize("NFC", lines.replace("\0", "\ufffd"))
        assert unit.span.of(made.text) == expected == normalize(expected)


@settings(max_examples=100, deadline=None)
@given(canonical_texts, markups)
def test_chunks_joined_are_the_text(made: CanonicalText, markup: TextMarkup) -> None:
    chunks = cut(made, markup)
    assert "".join(it.text for it in chunks) == made.text
    assert [it.text for it in chunks] == [made.text[it.start : it.end] for it in chunks]
    assert [it.seq for it in chunks] == list(range(len(chunks)))
    assert all(it.text for it in chunks)


@settings(max_examples=100, deadline=None)
@given(canonical_texts, markups)
def test_no_chunk_holds_words_of_two_pages(made: CanonicalText, markup: TextMarkup) -> None:
    for chunk in cut(made, markup):
        words = [it for it in made.units if common(chunk, it.span, made.text).strip()]
        assert len(words) <= 1 or {it.kind for it in words} == {UnitKind.SECTION}
        if words:
            assert chunk.unit in words


@settings(max_examples=100, deadline=None)
@given(canonical_texts)
def test_what_stands_above_a_page_is_a_line_of_that_page(made: CanonicalText) -> None:
    for chunk in cut(made, TextMarkup.PLAIN):
        is_page = chunk.unit is not None and chunk.unit.kind is UnitKind.PAGE
        lines = chunk.unit.span.of(made.text).split("\n") if chunk.unit and is_page else []
        assert {*chunk.heading_path} <= {" ".join(it.split()) for it in lines}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=20, max_size=60).map("".join), markups)
def test_chunks_are_bounded(text: str, markup: TextMarkup) -> None:
    longest = SMALL.high + SMALL.table + SMALL.small
    chunks = chunk_text(ChunkSource(text, markup=markup), SMALL)
    assert all(it.end - it.start <= longest for it in chunks)


@settings(max_examples=100, deadline=None)
@given(canonical_texts, markups, st.data())
def test_a_window_is_a_bounded_slice_that_holds_its_hit(
    made: CanonicalText, markup: TextMarkup, data: st.DataObject
) -> None:
    chunks = cut(made, markup)
    if not chunks:
        return
    hit = data.draw(st.sampled_from(chunks))
    limit = data.draw(st.sampled_from([50, 200, 400]))
    window = build_window(chunks, hit.seq, WindowSize(limit))
    assert window.text == window.span.of(made.text)
    assert len(window.text) <= limit
    assert window.first_seq <= hit.seq <= window.last_seq
    if len(hit.text) <= limit:
        assert window.span.start <= hit.start
        assert window.span.end >= hit.end
    around = [it for it in chunks if abs(it.seq - hit.seq) <= 1]
    whole = Span(around[0].start, around[-1].end)
    assert window.truncated == (window.span != whole)


@settings(max_examples=50, deadline=None)
@given(texts, markups)
def test_one_window_after_another_shows_every_character(text: str, markup: TextMarkup) -> None:
    chunks = chunk_text(ChunkSource(normalize(text), markup=markup), SMALL)
    shown = [build_window(chunks, it.seq, WindowSize(10_000, reach=0)) for it in chunks]
    assert "".join(it.text for it in shown) == normalize(text)


def cut(made: CanonicalText, markup: TextMarkup) -> list[Chunk]:
    return chunk_text(ChunkSource(made.text, made.units, markup), SMALL)


def common(chunk: Chunk, span: Span, text: str) -> str:
    return text[max(chunk.start, span.start) : min(chunk.end, span.end)]

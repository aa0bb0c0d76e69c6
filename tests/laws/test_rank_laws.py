"""What holds for every ranking, whatever was found."""

import random
from string import ascii_lowercase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.analysis.scripts import clean_text
from pecia.kernel.corpus.keyword.analysis.token_filters import cjk_query_bigrams
from pecia.kernel.corpus.keyword.analysis.tokenizer import (
    find_places,
    find_terms,
    stemming_analyzer,
    tokenize,
    tokenize_query,
)
from pecia.kernel.corpus.keyword.query.parser import Query, parse_query
from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.excerpt import build_snippet
from pecia.kernel.corpus.search.explain import explain
from pecia.kernel.corpus.search.fuse import FusedHit, fuse
from pecia.kernel.corpus.search.named_files import FILE_WEIGHT, FileCandidate, detect_named_files
from pecia.kernel.corpus.search.rerank import (
    FIRST_PAGE_HITS,
    RankedHit,
    diversify,
    rerank,
)
from tests.soak import SOAK

law = settings(max_examples=2000 if SOAK else 50, deadline=None)

# Far apart, so that a set of them has an order that depends on who came first; and often equal.
ids = st.integers(1, 12).map(lambda it: it * 4096)
by_words = st.dictionaries(ids, st.sampled_from([0.5, 1.0, 2.0]) | st.floats(0.001, 100))
by_meaning = st.dictionaries(ids, st.sampled_from([-0.5, 0.0, 0.5]) | st.floats(-1, 1))
weights = st.floats(0, 1)
words = st.sampled_from(["heated", "aircraft", "boat", "speed", "知識検索", "é", "x" * 30, "."])
texts = st.lists(words, max_size=30).map(" ".join) | st.text(max_size=80)
pages = st.none() | st.integers(1, 2)
readings = st.dictionaries(
    ids,
    st.builds(
        CandidateText,
        file=st.integers(0, 3),
        text=texts,
        title=texts,
        page=pages,
        seq=st.none() | st.integers(0, 5),
    ),
    min_size=1,
)
by_file = st.dictionaries(ids, st.floats(0, 2))
queries = texts.map(parse_query)


@given(by_words, by_meaning, weights, st.randoms(use_true_random=False))
@law
def test_fusing_does_not_depend_on_the_order_of_what_was_found(
    found: dict[int, float], cosines: dict[int, float], weight: float, chance: random.Random
) -> None:
    fused = fuse(found, cosines, weight=weight)
    assert fuse(shuffled(found, chance), shuffled(cosines, chance), weight=weight) == fused
    assert {it.id for it in fused} == found.keys() | cosines.keys()


@given(by_words, by_meaning, weights)
@law
def test_those_without_a_vector_stay_in_the_order_of_their_words(
    found: dict[int, float], cosines: dict[int, float], weight: float
) -> None:
    fused = [it for it in fuse(found, cosines, weight=weight) if it.meaning is None]
    assert [found[it.id] for it in fused] == sorted((found[it.id] for it in fused), reverse=True)


@given(by_words.filter(bool), st.lists(st.floats(-1, 1), min_size=13, max_size=13), weights)
@law
def test_the_best_by_words_is_passed_by_nobody_while_it_waits_for_its_vector(
    found: dict[int, float], numbers: list[float], weight: float
) -> None:
    waiting = max(found, key=lambda it: found[it])
    cosines = {it: number for it, number in zip(found, numbers, strict=False) if it != waiting}
    scores = {it.id: it.score for it in fuse(found, cosines, weight=weight)}
    assert scores[waiting] >= max(scores.values()) - 1e-9


@given(by_words, by_meaning, readings, queries, st.randoms(use_true_random=False))
@law
def test_reranking_keeps_just_what_can_be_read_in_an_order_of_its_own(
    found: dict[int, float],
    cosines: dict[int, float],
    read: dict[int, CandidateText],
    query: Query,
    chance: random.Random,
) -> None:
    fused = fuse(found, cosines)
    ranked = rerank(fused, read, query)
    assert {it.id for it in ranked} == {it.id for it in fused} & read.keys()
    assert rerank(chance.sample(fused, len(fused)), read, query) == ranked
    assert all(0 <= it.trust <= 1 for it in ranked)


@given(by_words, by_file, readings, st.sets(st.integers(0, 3)))
@law
def test_diversity_only_permutes_and_leaves_the_best_where_it_is(
    found: dict[int, float],
    named: dict[int, float],
    read: dict[int, CandidateText],
    close: set[int],
) -> None:
    ranked = rerank(fuse(found, {}, by_file=named), read, parse_query("heated aircraft"))
    spread = diversify(ranked, read, close)
    assert sorted(it.id for it in spread) == sorted(it.id for it in ranked)
    assert spread[:1] == ranked[:1]


hits = st.lists(
    st.tuples(
        st.floats(0.1, 1), st.integers(0, 3), st.sampled_from(["a b c d", "a b c d", "e f g"])
    ),
    min_size=1,
    max_size=20,
)


@given(hits, st.integers(1, 12))
@law
def test_the_first_places_are_the_same_when_only_they_are_looked_at(
    found: list[tuple[float, int, str]], first: int
) -> None:
    found = sorted(found, reverse=True)
    ranked = [
        RankedHit(id_, file, at, FusedHit(id_, at, at)) for id_, (at, file, _) in enumerate(found)
    ]
    read = {id_: CandidateText(file, text) for id_, (_, file, text) in enumerate(found)}
    spread = diversify(ranked, read, first=first)
    assert spread[:first] == diversify(ranked, read)[:first]
    assert sorted(it.id for it in spread) == sorted(it.id for it in ranked)


runs = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12)), min_size=1, max_size=5)


@given(runs, st.sets(st.integers(0, 3)))
@law
def test_each_close_file_has_a_hit_among_the_first(
    found: list[tuple[int, int]], close: set[int]
) -> None:
    files = [file for file, count in found for _ in range(count)]
    ranked = [
        RankedHit(id_, file, 9 / (id_ + 9), FusedHit(id_, 9 / (id_ + 9), 0.0, file=1.0))
        for id_, file in enumerate(files)
    ]
    read = {it.id: CandidateText(it.file, f"a{it.id} b{it.id} c{it.id}") for it in ranked}
    spread = diversify(ranked, read, close)
    assert close & {*files} <= {it.file for it in spread[:FIRST_PAGE_HITS]}
    assert sorted(it.id for it in spread) == sorted(it.id for it in ranked)
    assert spread[0] == ranked[0]


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=12))
@law
def test_hits_of_files_of_their_own_stay_in_order(scores: list[float]) -> None:
    fused = fuse(dict(enumerate(scores)), {})
    ranked = [RankedHit(it.id, it.id, it.score, it) for it in fused]
    read = {it.id: CandidateText(it.id, f"a{it.id} b{it.id} c{it.id}") for it in ranked}
    assert diversify(ranked, read) == ranked


keys = st.sampled_from(["acme_2021.pdf", "ACME/2022.pdf", "mill.md", ""]) | st.text(max_size=9)
questions = st.lists(
    st.sampled_from(["acme", "Acme", "2021", "FY22", "mill", "revenue"]) | st.text(max_size=5),
    max_size=6,
).map(" ".join)
files_found = st.lists(
    st.builds(
        FileCandidate,
        st.integers(1, 9),
        keys,
        keys,
        st.sampled_from([5, 50]),
        st.sampled_from([1.0, 2.0]),
    ),
    max_size=9,
    unique_by=lambda it: it.id,
)


@given(questions, files_found, st.randoms(use_true_random=False))
@law
def test_files_are_named_whatever_the_order_they_were_found_in(
    question: str, found: list[FileCandidate], chance: random.Random
) -> None:
    query = parse_query(question)
    named = detect_named_files(question, query, found)
    assert detect_named_files(question, query, chance.sample(found, len(found))) == named
    if named is not None:
        assert {*named.close} <= named.files.keys() <= {it.id for it in found}
        # A name that is quoted must stand on the page as well, and stays.
        assert {*named.query.words} < {*query.words} or query.phrases
        assert all(0 <= it <= FILE_WEIGHT + 1e-9 for it in named.files.values())


@given(texts, queries, st.integers(1, 120))
@law
def test_a_snippet_is_a_bounded_slice_and_its_marks_are_slices_of_it(
    text: str, query: Query, limit: int
) -> None:
    found = build_snippet(text, query, limit=limit)
    assert found.text == text[found.span.start : found.span.end]
    assert len(found.text) <= limit
    assert found.highlight("", "") == found.text
    places = [found.span.start, *(at for it in found.marks for at in (it.start, it.end))]
    assert [*places, found.span.end] == sorted([*places, found.span.end])
    assert all(it.size for it in found.marks)
    assert {term for it in found.marks for term in tokenize(it.of(text))} <= {
        *tokenize_query(query)
    }


@given(
    st.text(st.characters(max_codepoint=127), max_size=80)
    | st.text(st.characters(max_codepoint=255) | st.sampled_from("–’“•…→│■"), max_size=80)
    | st.text(max_size=40)
    | st.text(st.sampled_from("приветМОСКВА κόσμεΣς שלום مرحبا हिन्दी ő Ž ı I’–1а"), max_size=60)
    | st.just("a" * 101 + " running"),
    st.sampled_from(["en", "de", "ru", "el", "tr", "ar", "he"]),
)
@law
def test_words_looked_up_are_the_words_the_engine_makes(text: str, language: str) -> None:
    if cjk_query_bigrams(text) or clean_text(text) != text:
        return
    made = [*stemming_analyzer(language).find(text)]
    assert tokenize(text, language) == [it.text for it in made]
    found = find_terms(text, tokenize(text, language), language)
    assert [(it.term, it.start, it.end) for it in found] == [
        (it.text, it.char_offset_from, it.char_offset_to) for it in made
    ]


# Stemming changes the ends of English words, and of these more than that.
irregular = st.sampled_from(["dying", "skies", "idly", "ugly", "early", "only", "Élysée", "œuvre"])
endings = (
    st.sampled_from(
        [
            "",
            "s",
            "es",
            "ies",
            "ied",
            "y",
            "ly",
            "ying",
            "ing",
            "eed",
            "ed",
            "ated",
            "bled",
            "tional",
        ]
    )
    | st.sampled_from(
        [
            "ency",
            "ably",
            "ization",
            "ational",
            "ator",
            "ousness",
            "bility",
            "logy",
            "ically",
            "icate",
        ]
    )
    | st.sampled_from(["iveness", "ement", "able", "ßes", "ées", "ç"])
)
regular = st.builds(
    str.__add__,
    st.text(ascii_lowercase + "aeiouyáß", min_size=1, max_size=7),
    endings,
)


@given(st.lists(irregular | regular, max_size=12))
@law
def test_the_places_of_a_term_are_those_among_all_terms_of_the_text(words: list[str]) -> None:
    text = ", ".join(words)
    terms = tokenize(text, "en")
    for term in terms:
        held = [at for at, it in enumerate(terms) if it == term]
        assert find_places(text, [term], "en") == {term: held}


def test_every_sign_parts_words_or_does_not_as_the_engine_has_it() -> None:
    signs = [chr(it) for it in (*range(0x250), *range(0x370, 0x2E00), *range(0xA640, 0xAC00))]
    signs = [it for it in signs if not cjk_query_bigrams(it)]
    made = {it: stemming_analyzer("en").analyze_by_engine(clean_text(f"x{it}y")) for it in signs}
    assert {it: tokenize(f"x{it}y", "en") for it in signs} == made


@given(by_words, by_meaning, by_file, readings, weights)
@law
def test_an_explanation_adds_up_to_the_score(
    found: dict[int, float],
    cosines: dict[int, float],
    named: dict[int, float],
    read: dict[int, CandidateText],
    weight: float,
) -> None:
    fused = fuse(found, cosines, weight=weight, by_file=named)
    for it in rerank(fused, read, parse_query("heated aircraft"), weight=weight):
        told = explain(it, {"stems": 3.0, "title": 1.0}, weight=weight)
        assert sum(told.parts.values()) == pytest.approx(it.score, abs=1e-9)


def shuffled(found: dict[int, float], chance: random.Random) -> dict[int, float]:
    return dict(chance.sample([*found.items()], len(found)))

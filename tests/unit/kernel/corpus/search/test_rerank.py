"""Evidence, and the last look at the best candidates."""

from dataclasses import replace

import pytest

from pecia.kernel.corpus.keyword.analysis.tokenizer import find_terms, tokenize, tokenize_query
from pecia.kernel.corpus.keyword.query.parser import TranslatedWord, parse_query
from pecia.kernel.corpus.search.evidence import CandidateText, Evidence, measure_evidence
from pecia.kernel.corpus.search.explain import explain, rank_moves
from pecia.kernel.corpus.search.fuse import FusedHit, fuse
from pecia.kernel.corpus.search.rerank import (
    MAX_PAGE_SHARE,
    MAX_UNDECAYED_HITS,
    RankedHit,
    diversify,
    keep_fused_order,
    promote_nearest,
    rerank,
)

QUERY = parse_query("heated high speed aircraft")
ASKED = tokenize_query(QUERY)


def seen(text: str, *, title: str = "", headings: str = "") -> Evidence:
    return measure_evidence(CandidateText("f", text, title, headings), ASKED)


def test_a_query_is_the_terms_of_the_index_in_its_order() -> None:
    assert tokenize_query(parse_query('the "Running dogs" and running cats')) == (
        "run",
        "cat",
        "dog",
    )
    assert ASKED == ("heat", "high", "speed", "aircraft")


def test_signs_without_spaces_are_pairs_in_query_and_text() -> None:
    assert tokenize_query(parse_query("知識検索")) == ("知识", "识検", "検索")
    assert tokenize("知識と検索") == ["知识", "识と", "と検", "検索"]
    assert [(it.term, it.start) for it in find_terms("a 知識検索!", ["検索"])] == [("検索", 4)]


def test_words_in_a_row_are_a_phrase() -> None:
    assert seen("of heated high-speed aircraft").phrase == 1
    assert seen("the aircraft at high speed").phrase == 0.5
    assert seen("speed, high").phrase == 0


def test_words_near_each_other_count_more_the_nearer_they_are() -> None:
    near = seen("heated and high up").proximity
    far = seen("heated by a stream of air that is high up").proximity
    farther = seen("heated " + "x " * 20 + "high").proximity
    assert near > far > farther == 0


def test_title_headings_and_text_are_seen_apart() -> None:
    found = seen("nothing here", title="Aircraft", headings="High speed")
    assert (found.title, found.headings, found.coverage) == (0.25, 0.5, 0.75)
    assert (found.proximity, found.phrase) == (0, 0)


def test_a_query_without_words_sees_nothing() -> None:
    assert measure_evidence(CandidateText("f", "text"), ()) == Evidence()


READINGS = {
    1: CandidateText("a", "an aircraft, heated, went at speed, and was high"),
    2: CandidateText("b", "heated high speed aircraft"),
    3: CandidateText("c", "boats"),
}


def test_of_two_that_are_equal_the_one_with_the_phrase_wins() -> None:
    fused = fuse({1: 5.0, 2: 5.0}, {})
    assert [it.id for it in fused] == [1, 2]
    assert [it.id for it in rerank(fused, READINGS, QUERY)] == [2, 1]


def test_what_cannot_be_read_is_left_out() -> None:
    fused = fuse({1: 5.0, 2: 5.0, 9: 50.0}, {})
    assert {it.id for it in rerank(fused, READINGS, QUERY)} == {1, 2}
    assert [it.id for it in keep_fused_order(fused, READINGS)] == [1, 2]


def test_a_keyword_arm_that_found_little_of_the_query_is_believed_little() -> None:
    readings = {
        1: CandidateText("a", "speed limits for bicycles"),
        2: CandidateText("b", "hot fast planes"),
    }
    fused = fuse({1: 2.0}, {1: 0.2, 2: 0.6}, weight=0.4)
    assert [it.id for it in fused] == [1, 2]
    ranked = rerank(fused, readings, QUERY, weight=0.4)
    assert [it.id for it in ranked] == [2, 1]
    assert ranked[0].trust == 0.25


def test_texts_that_are_all_far_from_a_query_do_not_outweigh_the_one_with_its_words() -> None:
    query = parse_query("Frigotec invoice")
    readings = {
        1: CandidateText("mail", "Frigotec changed the capacitor. Invoice is 1,284.50 EUR."),
        2: CandidateText("manual", "Client invoice: estimated date you will be paid"),
    }
    words = {1: 10.0, 2: 4.7}
    far = rerank(fuse(words, {1: 0.20, 2: 0.36}), readings, query)
    assert [it.id for it in far] == [1, 2]
    near = rerank(fuse(words, {1: 0.20, 2: 0.66}), readings, query)
    assert [it.id for it in near] == [2, 1]
    for it in far:
        explained = explain(it, {})
        assert sum(explained.parts.values()) == pytest.approx(it.score)
        assert "order" not in explained.parts


def ranked(*rows: tuple[int, str, float]) -> list[RankedHit]:
    return [RankedHit(id_, file, score, FusedHit(id_, score, score)) for id_, file, score in rows]


def different(*ids: int) -> dict[int, CandidateText]:
    return {
        id_: CandidateText("f", f"text {id_} of its own {id_ * 7} words {id_ * 11}") for id_ in ids
    }


def test_more_than_a_few_hits_of_one_file_give_way() -> None:
    many = ranked(*((id_, "a", 1 - id_ / 100) for id_ in range(4)), (8, "b", 0.9), (9, "c", 0.2))
    found = [it.id for it in diversify(many, different(*range(4), 8, 9))]
    assert found[: MAX_UNDECAYED_HITS + 1] == [0, 1, 2, 8]
    assert found[-1] == 9


def test_no_file_fills_a_page_while_others_have_a_hit() -> None:
    crowd = [RankedHit(it, "crowd", 1.0 - it / 100, FusedHit(it, 1.0, 1.0)) for it in range(12)]
    others = [RankedHit(it, it, 0.1, FusedHit(it, 0.1, 0.1)) for it in range(20, 26)]
    texts = {
        it.id: CandidateText(it.file, f"text {it.id} of {it.file} {'word ' * it.id}")
        for it in (*crowd, *others)
    }
    for first in (None, 5, 8):
        order = diversify([*crowd, *others], texts, (), first)
        assert sum(it.file == "crowd" for it in order[:8]) == MAX_PAGE_SHARE
        assert {it.id for it in order} == {*texts}
        # With nobody else left, the rest is as it was.
        assert [it.id for it in order if it.file == "crowd"] == [it.id for it in crowd]
    named = [it._replace(fused=it.fused._replace(file=0.5)) for it in crowd]
    assert diversify([*named, *others], texts, (), 8)[:8] == named[:8]


def test_pages_of_a_crowded_search_agree() -> None:
    crowd = [RankedHit(it, it % 2, 1.0 - it / 100, FusedHit(it, 1.0, 1.0)) for it in range(16)]
    others = [RankedHit(it, it, 0.1, FusedHit(it, 0.1, 0.1)) for it in range(20, 28)]
    texts = {
        it.id: CandidateText(it.file, f"text {it.id} of {it.file} {'word ' * it.id}")
        for it in (*crowd, *others)
    }
    whole = [it.id for it in diversify([*crowd, *others], texts)]
    for first in range(1, 24):
        part = diversify([*crowd, *others], texts, (), first)
        assert [it.id for it in part[:first]] == whole[:first]


def test_one_file_alone_keeps_its_order() -> None:
    many = ranked(*((id_, "a", 1 - id_ / 100) for id_ in range(8)))
    assert diversify(many, different(*range(8))) == many


def test_a_text_that_was_shown_already_gives_way() -> None:
    text = "The same paragraph stands in the minutes and again in the report of the year."
    readings = {
        1: CandidateText("a", text),
        2: CandidateText("b", text + " Indeed."),
        3: CandidateText("c", "Something else about boats and harbours, on another day."),
    }
    found = diversify(ranked((1, "a", 1.0), (2, "b", 0.99), (3, "c", 0.5)), readings)
    assert [it.id for it in found] == [1, 3, 2]


def named(*rows: tuple[int, str, float]) -> list[RankedHit]:
    return [
        RankedHit(id_, file, score, FusedHit(id_, score, score, file=0.5))
        for id_, file, score in rows
    ]


def test_a_page_that_was_shown_already_gives_way() -> None:
    readings = {
        id_: it._replace(page=page)
        for (id_, it), page in zip(different(1, 2, 3, 4).items(), (7, 7, 8, None), strict=True)
    }
    found = diversify(ranked((1, "a", 1.0), (2, "a", 0.9), (3, "a", 0.5), (4, "a", 0.4)), readings)
    assert [it.id for it in found] == [1, 3, 4, 2]


def test_a_file_that_was_asked_for_gives_no_way() -> None:
    rows = [*((id_, "a", 1 - id_ / 100) for id_ in range(8)), (9, "b", 0.91)]
    found = [it.id for it in diversify(named(*rows), different(*range(10)))]
    assert found == [*range(8), 9]


def test_each_close_file_keeps_a_place_among_the_first() -> None:
    rows = [(id_, "a", 1 - id_ / 100) for id_ in range(14)]
    rows += [(20, "b", 0.5), (21, "b", 0.4), (22, "c", 0.3), (23, "d", 0.2)]
    readings = different(*(id_ for id_, _, _ in rows))
    found = [it.id for it in diversify(named(*rows), readings, ("a", "b", "c"))]
    assert found == [*range(6), 20, 22, 6, 7, *range(8, 14), 21, 23]


def test_what_the_file_earned_is_a_part_of_the_explanation() -> None:
    fused = fuse({1: 4.0, 2: 3.0}, {}, weight=0.0, by_file={2: 1.2})
    assert [it.id for it in fused] == [2, 1]
    best = rerank(fused, READINGS, QUERY, weight=0.0)[0]
    assert explain(best, {"stems": 2.0}, weight=0.0).parts["file"] == pytest.approx(1.2)


def test_an_explanation_adds_up_and_names_arms_and_fields() -> None:
    fused = fuse({1: 4.0, 2: 3.0}, {1: 0.2, 2: 0.6}, weight=0.4)
    best = rerank(fused, READINGS, QUERY, weight=0.4)[0]
    told = explain(best, {"stems": 2.0, "title": 1.0}, weight=0.4)
    assert sum(told.parts.values()) == pytest.approx(best.score)
    assert told.parts["words.stems"] == pytest.approx(2 * told.parts["words.title"])
    assert told.parts.keys() == {
        "words.stems",
        "words.title",
        "meaning",
        "proximity",
        "phrase",
    }
    assert (told.cosine, told.found_by_words, told.trust) == (0.6, 0.75, 1.0)


def test_an_explanation_does_not_depend_on_how_rare_the_words_are() -> None:
    best = keep_fused_order(fuse({1: 4.0}, {}), READINGS)[0]
    common, rare = (
        explain(best, {"stems": 1.0, "title": 3.0}),
        explain(best, {"stems": 9.0, "title": 27.0}),
    )
    assert common == rare


def test_an_explanation_says_who_gave_way() -> None:
    before = ranked((1, "a", 1.0), (2, "a", 0.9), (3, "b", 0.8))
    assert rank_moves(before, [before[0], before[2], before[1]]) == {1: 0, 3: -1, 2: 1}


def test_the_next_chunk_of_a_shown_one_gives_way_to_another_file() -> None:
    """A hit shows its neighbours: without pages, the chunk beside it is the same place."""
    readings = {
        1: CandidateText("long", "spokes are tightened", seq=4),
        2: CandidateText("long", "the wheel is trued", seq=5),
        3: CandidateText("long", "brakes are checked", seq=9),
        4: CandidateText("other", "a bell is fitted", seq=0),
    }
    ranked = [
        RankedHit(id_, readings[id_].file, 1 - id_ / 10, FusedHit(id_, 1, 1)) for id_ in readings
    ]
    assert [it.id for it in diversify(ranked, readings)] == [1, 3, 4, 2]


TRANSLATED = replace(
    parse_query("Passwort der Datenbank"),
    translated=(
        TranslatedWord("passwort", (("password", 0.9), ("pass", 0.3))),
        TranslatedWord("datenbank", (("databas", 0.9),)),
    ),
)


def rerank_one(text: str, language: str) -> RankedHit:
    reading = CandidateText("f", text, language=language)
    [found] = rerank([FusedHit(1, 1.0, 1.0, 0.5, 0.5)], {1: reading}, TRANSLATED)
    return found


def test_a_translation_is_evidence_for_the_word_it_translates() -> None:
    found = rerank_one("the password of a database", "en")
    assert found.evidence.coverage == 1
    assert found.trust == 1
    # One of two translations is enough, and both are not more.
    assert rerank_one("a pass, a password, a database", "en").evidence.coverage == 1
    assert rerank_one("a pass for the garden", "en").evidence.coverage == 0.5


def test_a_text_in_the_language_of_the_query_is_measured_by_its_own_words() -> None:
    assert rerank_one("das Passwort der Datenbank", "de").evidence.coverage == 1
    assert rerank_one("password of a database", "de").evidence.coverage == 0
    # Of a language without a stemmer, nothing says that it is not English.
    assert rerank_one("passwort datenbank", "").evidence.coverage == 1


def test_what_is_nearest_takes_the_last_of_the_first_places_each_page_once() -> None:
    order = [RankedHit(it, "f", 1 - it / 100, FusedHit(it, 1 - it / 100, 1.0)) for it in range(12)]
    readings = {it: CandidateText("f", f"text {it}", page=it) for it in range(12)}
    # Of page 0, which is shown; new; of the same page as that; known already; not readable; new.
    near = {
        20: CandidateText("f", "a", page=0),
        21: CandidateText("f", "b", page=30),
        22: CandidateText("f", "c", page=30),
        7: readings[7],
        24: CandidateText("f", "d", page=31),
    }
    cosines = dict.fromkeys([20, 21, 22, 7, 23, 24], 0.9)
    found = promote_nearest(order, cosines, {**readings, **near})
    assert [it.id for it in found] == [0, 1, 2, 3, 4, 21, 7, 24, 5, 6, 8, 9, 10, 11]
    # What has a promised place among the first keeps it.
    kept = promote_nearest(order, cosines, {**readings, **near}, [6])
    assert [it.id for it in kept] == [0, 1, 2, 3, 21, 7, 24, 6, 4, 5, 8, 9, 10, 11]
    assert promote_nearest(order, {}, readings) == order
    assert promote_nearest([], cosines, near) == []

"""What the keyword index finds, in words."""

from pathlib import Path

import pytest

from pecia.kernel.corpus.keyword.analysis.analyzer import weighted_query_terms
from pecia.kernel.corpus.keyword.analysis.token_filters import detect_language, split_name
from pecia.kernel.corpus.keyword.index import (
    FIELD_WEIGHTS,
    Filter,
    IndexEntry,
    IndexUnusable,
    KeywordIndex,
    parse_query,
)
from pecia.kernel.corpus.keyword.query.parser import parse_moment_ms


def holding(*entries: IndexEntry) -> KeywordIndex:
    index = KeywordIndex.in_memory()
    index.apply([], entries)
    return index


def found(index: KeywordIndex, words: str) -> list[int]:
    return [it.id for it in index.search(parse_query(words))]


def test_a_word_finds_its_other_forms_in_the_language_of_the_text() -> None:
    index = holding(
        IndexEntry(1, 1, body="The otters were swimming in the river while we watched them."),
        IndexEntry(2, 2, body="Die Katzen schlafen auf den Dächern, und der Hund ist nicht da."),
        IndexEntry(3, 3, body="Les chevaux couraient dans les prés et ils ne sont pas fatigués."),
    )
    assert found(index, "swims") == [1]
    assert found(index, "Katze") == [2]
    assert found(index, "prés fatiguée") == [3]


def test_a_word_without_its_accents_finds_it() -> None:
    index = holding(IndexEntry(1, 1, body="Ein Frühstück im Café"))
    assert found(index, "fruhstuck") == found(index, "FRÜHSTÜCK") == found(index, "cafe") == [1]


def test_text_without_spaces_is_found_by_pairs_and_by_single_signs() -> None:
    index = holding(
        IndexEntry(1, 1, body="全文検索エンジンの設計"),
        IndexEntry(2, 2, body="黒猫が眠る"),
        IndexEntry(3, 3, body="한국어 문서를 검색한다"),
    )
    assert found(index, "検索") == [1]
    assert found(index, "猫") == [2]
    assert found(index, "문서") == [3]
    assert found(index, '"文検索"') == [1]
    assert found(index, '"索検"') == []


def test_a_plain_word_of_a_question_asks_for_no_file_that_is_called_so() -> None:
    """Else `default.md` answers every question for a default."""
    rest = " and all the rest" * 30  # As long as chunks are.
    others = [
        IndexEntry(it, it, key=f"pages/{it}.md", body=f"Settings, and default {it}{rest}")
        for it in range(10, 40)
    ]
    index = holding(
        IndexEntry(1, 1, key="ddl/default.md", body=f"A column has a value by default{rest}"),
        IndexEntry(2, 2, key="net/connect.md", body=f"By default the port is 5432{rest}"),
        *others,
    )
    assert found(index, "What is the default port?")[0] == 2
    # Written like a name, or beside its neighbour in the path, it is one.
    assert found(index, "What is the Default port?")[0] == 1
    assert found(index, "the port of ddl default")[0] == 1


def test_a_name_is_found_by_its_parts() -> None:
    index = holding(IndexEntry(1, 1, key="reports/FY2018_AnnualReport.pdf", body="figures"))
    for words in ("2018", "fy2018", "annual", "AnnualReport", "pdf", "report"):
        assert found(index, words) == [1], words
    assert split_name("getFile2") == "getfile2 get file 2"


def test_a_name_that_is_written_together_is_found_by_its_words() -> None:
    index = holding(
        IndexEntry(1, 1, key="BLUEHARBOR_2022Q3.pdf", body="figures"),
        IndexEntry(2, 2, key="NORTHWIND_2022.pdf", body="figures"),
    )
    assert found(index, "the Blue Harbor") == [1]
    assert found(index, "q3") == [1]


def test_inside_files_only_their_pages_count() -> None:
    index = holding(
        IndexEntry(1, 7, key="harbor.pdf", headings="Statements of Cash Flows", body="12 and 14"),
        IndexEntry(2, 7, key="harbor.pdf", headings="Risks", body="A statement on harbor walls."),
        IndexEntry(3, 7, key="harbor.pdf", body="Nothing at all."),
        IndexEntry(4, 8, key="cash.pdf", body="Cash, cash and cash flow statement."),
    )
    assert [it.id for it in index.search_groups(parse_query("cash flow statement"), [7], 10)] == [
        1,
        2,
    ]
    assert [it.id for it in index.search_groups(parse_query("cash flow statement"), [7, 8], 1)] == [
        1
    ]
    assert [it.id for it in index.search_groups(parse_query("harbor"), [7, 8], 10)] == [2]
    assert [
        it.id for it in index.search_groups(parse_query('cash "harbor walls"'), [7, 8], 10)
    ] == [2]
    assert index.search_groups(parse_query('cash "harbor flow"'), [7, 8], 10) == []
    assert index.search_groups(parse_query("cash"), [], 10) == []


def test_a_short_file_is_scored_by_all_it_says_and_found_by_what_a_chunk_says_itself() -> None:
    index = holding(
        IndexEntry(1, 7, body="The heron stands in the water."),
        IndexEntry(2, 7, body="Its river has an old mill, and the mill has a wheel."),
        IndexEntry(3, 7, body="Nothing of the kind."),
        IndexEntry(4, 8, body="The heron stands in the water."),
        IndexEntry(5, 8, body="A bridge, and a road that leads to the town."),
    )
    query = parse_query("heron mill")
    hits = index.search(query)
    assert {it.id: it.chunks for it in hits} == {1: 3, 2: 3, 4: 2}
    scores = index.context_scores(query, [it.id for it in hits])
    assert scores[1] > scores[4]
    assert index.context_scores(query, []) == {}


def test_the_context_of_a_file_goes_with_the_chunk_that_it_came_from() -> None:
    heron = IndexEntry(1, 7, body="The heron stands in the water.")
    alone = holding(heron)
    index = holding(heron, IndexEntry(2, 7, body="An old mill, and the mill has a wheel."))
    query = parse_query("heron mill")
    index.apply([], [heron])
    assert index.context_scores(query, [1]) == alone.context_scores(query, [1])
    assert index.context_scores(query, [2]) == {}


def test_a_word_that_is_its_own_stem_is_looked_up_once_with_the_weight_of_both() -> None:
    asked = {
        (name, term): weight
        for name, _, term, weight, _ in weighted_query_terms(parse_query("index files"), ("en",))
    }
    assert asked["stems", "index"] == FIELD_WEIGHTS["stems"] + FIELD_WEIGHTS["folded"]
    assert ("folded", "index") not in asked
    assert asked["stems", "file"] == FIELD_WEIGHTS["stems"]
    assert asked["folded", "files"] == FIELD_WEIGHTS["folded"]
    assert asked["title", "index"] == FIELD_WEIGHTS["title"]


def test_groups_of_many_chunks_are_told_from_others() -> None:
    index = holding(*(IndexEntry(it, 1 if it < 5 else 2, body="reeds") for it in range(8)))
    assert index.long_groups([1, 2, 3], 5) == {1}
    assert index.long_groups([1, 2, 3], 3) == {1, 2}


def test_a_year_in_a_joined_name_meets_the_year() -> None:
    index = holding(
        IndexEntry(1, 1, body="Sales of FY2018 rose"), IndexEntry(2, 2, body="In 2018 it rained")
    )
    assert set(found(index, "2018")) == {1, 2}
    assert set(found(index, "FY2018")) == {1, 2}


def test_a_quotation_must_be_there_as_it_stands_and_not_across_a_title() -> None:
    index = holding(
        IndexEntry(1, 1, title="red", body="lantern at the harbour"),
        IndexEntry(2, 2, body="a red lantern"),
        IndexEntry(3, 3, body="a lantern, red"),
    )
    assert found(index, '"red lantern"') == [2]
    assert found(index, '"Red, LANTERN!" harbour') == [2]
    assert set(found(index, "red lantern")) == {1, 2, 3}


def test_a_query_of_stop_words_alone_still_answers() -> None:
    index = holding(IndexEntry(1, 1, body="to be or not to be"), IndexEntry(2, 2, body="herons"))
    assert found(index, "to be or not to be") == [1]
    assert found(index, "not the herons") == [2]


def test_filters_in_a_query_narrow_it_and_alone_they_list_in_order() -> None:
    index = holding(
        IndexEntry(2, 1, source="s1", key="docs/a.md", content_type="text/markdown", body="heron"),
        IndexEntry(1, 1, source="s1", key="docs/a.md", content_type="text/markdown", body="otter"),
        IndexEntry(3, 2, source="s2", key="b.pdf", content_type="application/pdf", body="heron"),
    )
    assert found(index, "heron source:s2") == [3]
    assert found(index, "heron path:docs/*") == [2]
    assert found(index, "heron type:text/*") == [2]
    assert found(index, "path:docs/**") == [1, 2]
    assert found(index, "path:nowhere/**") == []


def test_a_title_can_be_asked_for() -> None:
    index = holding(
        IndexEntry(1, 1, title="Heron", body="a bird"), IndexEntry(2, 2, body="heron bird")
    )
    assert found(index, "title:heron bird") == [1]


def test_a_filter_that_means_nothing_is_told() -> None:
    query = parse_query("heron after:yesterday path:a path:b http://example.org/x note:this")
    assert query.unclear == ("after:yesterday", "path:b")
    assert query.within == Filter(path_glob="a")
    assert query.words == ("heron", "http", "example", "org", "x", "note")


def test_a_moment_is_a_date_or_a_time_in_utc() -> None:
    assert (
        parse_moment_ms("1970-01-02") == parse_moment_ms("1970-01-02T01:00:00+01:00") == 86_400_000
    )
    assert parse_moment_ms("soon") is None


def test_a_title_counts_more_than_the_body() -> None:
    index = holding(
        IndexEntry(1, 1, title="Birds of the marsh", body="A heron, a heron, and reeds."),
        IndexEntry(2, 2, title="Heron", body="Birds, and reeds in the marsh, and a pond."),
    )
    assert found(index, "heron") == [2, 1]


def test_equal_scores_are_ranked_by_id() -> None:
    index = KeywordIndex.in_memory()
    for id_ in (7, 3, 9, 1, 5):
        index.apply([], [IndexEntry(id_, id_, body="heron")])
    assert found(index, "heron") == [1, 3, 5, 7, 9]
    assert [it.id for it in index.search(parse_query("heron"), limit=2)] == [1, 3]


def test_an_explanation_names_fields_and_nothing_of_others() -> None:
    index = holding(IndexEntry(1, 1, title="Heron", body="reeds"), IndexEntry(2, 2, body="reeds"))
    told = index.explain(parse_query("heron reeds"), [1, 2, 99])
    assert told[1]["title"] > 0
    assert "title" not in told[2]
    assert told[99] == {}


def test_an_index_on_disk_is_there_again_with_its_cursor(tmp_path: Path) -> None:
    index = KeywordIndex.open(tmp_path / "i")
    index.apply([], [IndexEntry(1, 1, body="heron")], 41)
    index.apply([], [IndexEntry(2, 2, body="heron")])
    index.close_writer()
    again = KeywordIndex.open(tmp_path / "i")
    assert (again.cursor(), found(again, "heron")) == (41, [1, 2])
    reader = KeywordIndex.open_reader(tmp_path / "i")
    again.apply([1], [], 42)
    assert found(reader, "heron") == [1, 2]
    reader.reload()
    assert (reader.cursor(), found(reader, "heron")) == (42, [2])
    again.close_writer()


def test_a_reader_makes_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexUnusable):
        KeywordIndex.open_reader(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_language_of_a_text_is_that_of_its_function_words() -> None:
    assert detect_language("Der Hund ist nicht auf dem Dach") == "de"
    assert detect_language("The dog is not on the roof") == "en"
    assert detect_language("Собака не на крыше, и она не там") == "ru"
    assert detect_language("x = y + 1") == ""

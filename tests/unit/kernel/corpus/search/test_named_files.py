"""Which files a question names, and what it still asks of their pages."""

import pytest

from pecia.kernel.corpus.keyword.query.parser import parse_query
from pecia.kernel.corpus.search.named_files import (
    MAX_FILES,
    FileCandidate,
    NamedFiles,
    detect_named_files,
    extract_names,
    extract_proper_words,
    match_name,
    name_terms,
)

KEYS = (
    "NORTHWIND_2021_10K.pdf",
    "NORTHWIND_2022_10K.pdf",
    "BLUEHARBOR_2021_10K.pdf",
    "BLUEHARBOR_2022_10K.pdf",
    "BLUEHARBOR_2022Q3_10Q.pdf",
    "fleet/manual.pdf",
)


def candidates(*keys: str, chunks: int = 400) -> list[FileCandidate]:
    return [FileCandidate(number, key, "", chunks, 10.0) for number, key in enumerate(keys)]


def named(question: str, files: list[FileCandidate]) -> NamedFiles | None:
    return detect_named_files(question, parse_query(question), files)


def best(question: str) -> str:
    found = named(question, candidates(*KEYS))
    assert found is not None
    return KEYS[next(iter(found.files))]


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("What was the revenue of Northwind in FY2021?", "NORTHWIND_2021_10K.pdf"),
        ("Blue Harbor capital expenditure 2022 10K", "BLUEHARBOR_2022_10K.pdf"),
        ("Blue Harbor sales in Q3 of 2022", "BLUEHARBOR_2022Q3_10Q.pdf"),
        ("Did Northwind grow between FY21 and FY22?", "NORTHWIND_2022_10K.pdf"),
        ("where in the fleet manual are tyres?", "fleet/manual.pdf"),
    ],
)
def test_a_file_is_found_by_what_it_is_called(question: str, key: str) -> None:
    assert best(question) == key


def test_of_several_years_the_last_names_the_file() -> None:
    assert best("Northwind revenue in 2020, 2021 and 2022") == "NORTHWIND_2022_10K.pdf"


def test_a_year_alone_names_no_file_that_is_called_something_else() -> None:
    keys = [*(f"NORTHWIND_20{year}_10K.pdf" for year in range(12, 23)), "BLUEHARBOR_2023Q2_10Q.pdf"]
    for asked in ("FY2023", "2023", "FY23"):
        found = named(f"Which rates does Northwind expect for {asked}?", candidates(*keys))
        assert found is None or len(keys) - 1 not in found.files


def test_a_year_names_a_file_that_is_called_nothing_else() -> None:
    found = named(
        "Which rates were expected in 2023?", candidates("2021.pdf", "2022.pdf", "2023.pdf")
    )
    assert found is not None
    assert next(iter(found.files)) == 2


def test_the_name_is_no_longer_asked_of_the_pages() -> None:
    found = named("What was the Blue Harbor revenue in FY2021?", candidates(*KEYS))
    assert found is not None
    assert found.query.words == ("revenue",)


def test_a_question_that_is_only_a_name_asks_for_no_page() -> None:
    assert named("northwind 2021", candidates(*KEYS)) is None


def test_files_that_the_question_names_alike_are_close() -> None:
    found = named("How is the weather at Northwind?", candidates(*KEYS))
    assert found is not None
    assert {KEYS[it] for it in found.close} == {"NORTHWIND_2021_10K.pdf", "NORTHWIND_2022_10K.pdf"}


def test_a_question_without_a_name_names_nothing() -> None:
    assert named("How are tyres stored in winter?", candidates(*KEYS)) is None


def test_short_files_are_not_looked_into() -> None:
    assert named("revenue of Northwind in 2021", candidates(*KEYS, chunks=12)) is None
    assert named("revenue of Northwind in 2021", candidates(*KEYS, chunks=20)) is not None


def test_a_name_that_all_candidates_have_tells_nothing() -> None:
    same = candidates(*(f"northwind/part {letter}.pdf" for letter in "abcdefgh"))
    assert named("the revenue of northwind", same) is None


def test_no_more_files_are_looked_into_than_is_worth_it() -> None:
    others = (f"{letter}.pdf" for letter in "abcdefghijklmnopqrstuvwxyz")
    many = candidates(*(f"northwind_{number}.pdf" for number in range(10)), *others)
    found = named("Northwind revenue", many)
    assert found is not None
    assert len(found.files) == MAX_FILES
    assert [*found.files.values()] == sorted(found.files.values(), reverse=True)


def test_a_title_names_a_file_as_its_path_does() -> None:
    files = [
        FileCandidate(1, "0a1b2c.pdf", "Blue Harbor handbook", 50, 1.0),
        FileCandidate(2, "3d4e5f.pdf", "Northwind handbook", 50, 1.0),
        FileCandidate(3, "6a7b8c.pdf", "Rules of the road", 50, 1.0),
    ]
    found = named("the holidays at Northwind", files)
    assert found is not None
    assert next(iter(found.files)) == 2


def test_only_what_is_written_as_a_name_is_taken_for_the_beginning_of_one() -> None:
    assert extract_proper_words("How did net sales do at Net in fy21?") == {"net", "fy21"}
    assert match_name({}, extract_proper_words("How did net sales do?"), "NETWORKS_2020.pdf") == {}
    assert 0 < match_name({}, extract_proper_words("sales at Net"), "NETWORKS_2020.pdf")["net"] < 1


def test_the_capitals_of_german_nouns_are_no_names() -> None:
    asked = "Wer hat den Ratgeber zur Auswahl einer Distribution unter die GPL gestellt?"
    assert extract_proper_words(asked) == {"gpl"}
    assert extract_proper_words("Wie viel hat die Firma im Jahr 2021 mit PostgreSQL gespart?") == {
        "2021",
        "postgresql",
    }


def test_only_what_is_written_as_a_name_is_looked_for_in_a_title() -> None:
    files = [
        FileCandidate(1, "a.pdf", "Table of Contents", 50, 1.0),
        FileCandidate(2, "b.pdf", "Northwind", 50, 1.0),
        FileCandidate(3, "c.pdf", "Handbook", 50, 1.0),
    ]
    assert named("the table of rents", files) is None
    assert named("the rents at Northwind", files) is not None


def test_a_name_remembers_the_words_that_it_is_made_of() -> None:
    assert extract_names("At Blue Harbor in FY2021")["blueharbor"] == ("blue", "harbor")
    assert extract_names("At Blue Harbor in FY2021")["2021"] == ("fy2021",)


def test_a_part_of_an_identifier_is_not_joined_to_its_neighbours() -> None:
    names = extract_names("default of hot_standby_feedback in Blue Harbor")
    assert "hotstandbyfeedback" in names
    assert "blueharbor" in names
    assert not {"hotstandby", "standbyfeedback", "feedbackin"} & {*names}
    files = candidates("HOT_STANDBY_README.html", "settings.html", "other.html")
    assert named("default of hot_standby_feedback", files) is None
    found = named("queries on a hot standby", files)
    assert found is not None
    assert next(iter(found.files)) == 0


def test_a_path_is_read_as_names_without_its_suffix() -> None:
    names = name_terms("reports/2022Q3_AnnualReport.pdf")
    assert {"reports", "2022", "q3", "2022q3", "annual", "report"} <= names
    assert "pdf" not in names

"""Front and back matter: what a text says of itself, and whom it cites."""

import pytest

from pecia.adapters.extraction.metadata import extract_metadata

PAPER = """A study of cargo bikes
by Ana Berg and Bo Lind
Published 3 March 2026, doi 10.1234/bikes.2026-7, ISBN 978-3-16-148410-0

Abstract. We rode them [1].
{body}
{heading}
[1] Berg, A. Loads and lifts.
    Journal of Bikes, 2019.
[2] Lind, B. Brakes. 2020.

Appendix A
[3] This is no reference.
"""


def paper(heading: str = "References") -> str:
    return PAPER.format(body="More words. " * 200, heading=heading)


def test_a_paper_says_who_wrote_it_when_and_under_what_number() -> None:
    found = extract_metadata(paper())
    assert found.title == "A study of cargo bikes"
    assert found.authors == ("Ana Berg", "Bo Lind")
    assert found.date == "2026-03-03"
    assert found.identifiers == ("doi:10.1234/bikes.2026-7", "isbn:9783161484100")


@pytest.mark.parametrize(
    "heading",
    ["References", "## References", "7. REFERENCES", "Bibliography:", "Works cited", "Literatur"],
)
def test_its_references_end_where_the_appendix_begins(heading: str) -> None:
    assert extract_metadata(paper(heading)).references == (
        "Berg, A. Loads and lifts. Journal of Bikes, 2019.",
        "Lind, B. Brakes. 2020.",
    )


def test_references_without_numbers_are_paragraphs() -> None:
    text = "Words.\n" * 50 + "References\n\nBerg, A. (2019).\nLoads.\n\nLind, B. (2020). Brakes.\n"
    assert extract_metadata(text).references == (
        "Berg, A. (2019). Loads.",
        "Lind, B. (2020). Brakes.",
    )


def test_a_joint_between_pages_is_no_part_of_a_reference() -> None:
    text = (
        "Words.\n" * 50
        + "References\n[1] Berg, A. Loads,\n\f\nsecond part.\n[2] Lind, B. Brakes.\n"
    )
    assert extract_metadata(text).references[0] == "Berg, A. Loads, second part."


def test_a_section_of_references_in_the_first_half_is_a_word_like_any_other() -> None:
    assert (
        extract_metadata(
            "References\n[1] One thing.\n[2] Two things.\n" + "Words. " * 500
        ).references
        == ()
    )


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("2026-03-03", "2026-03-03"),
        ("March 3, 2026", "2026-03-03"),
        ("the 3rd March 2026", "2026-03-03"),
        ("March 2026", "2026-03"),
        ("May be in 2026", ""),
        ("2026-13-40", ""),
    ],
)
def test_a_date_is_taken_only_when_it_is_one(line: str, date: str) -> None:
    assert extract_metadata(f"Title\n{line}\n").date == date


@pytest.mark.parametrize("line", ["by the sea, in spring", "by 2030 we will", "authors: see below"])
def test_words_that_are_no_names_are_no_authors(line: str) -> None:
    assert extract_metadata(f"Title\n{line}\n").authors == ()


def test_nothing_is_found_in_nothing() -> None:
    found = extract_metadata("")
    assert (found.title, found.authors, found.references) == ("", (), ())

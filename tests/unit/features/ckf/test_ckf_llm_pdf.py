"""What a PDF's first and last pages say of it, and what they do not."""

import pytest

from pecia.features.ckf.llm.prepare.bibliography import extract_bibliography, find_isbn


def facts(*pages: str) -> dict[str, object]:
    return {name: it.value for name, it in extract_bibliography("\f".join(pages)).facts.items()}


@pytest.mark.parametrize(
    ("line", "isbn"),
    [
        ("ISBN 978-0-306-40615-7", "9780306406157"),
        ("ISBN-10: 0-306-40615-2", "0306406152"),
        ("ISBN 0-8044-2957-X", "080442957X"),
        ("ISBN 978-0-306-40615-8", ""),
        ("ISBN 0-306-40615-3", ""),
        ("978-0-306-40615-7", ""),
        ("ISBN X-X-X-X-X-X", ""),
    ],
)
def test_an_isbn_counts_when_its_check_digit_holds(line: str, isbn: str) -> None:
    assert find_isbn(line) == isbn


def test_thirteen_digits_are_preferred_to_ten() -> None:
    found = facts("Loans\nISBN 0-306-40615-2", "ISBN 978-0-306-40615-7")
    assert found["source_isbn"] == "9780306406157"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("by Mary Smith and John van der Berg", ["Mary Smith", "John van der Berg"]),
        (
            "Autores: Ana da Silva; Eva Lima e Rui Sá",
            ["Ana da Silva", "Eva Lima", "Rui Sá"],
        ),
        ("Mary Smith, J. R. Brown", ["Mary Smith", "J. R. Brown"]),
    ],
)
def test_authors_are_listed_in_printed_order(line: str, names: list[str]) -> None:
    assert facts(f"On Loans\n{line}")["source_authors"] == names


def test_a_line_that_is_no_list_of_names_names_nobody() -> None:
    found = facts("On Loans\nA short history of the lending of money")
    assert found == {
        "source_title": "On Loans",
        "source_subtitle": "A short history of the lending of money",
    }


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("2nd edition", "source_edition", "2nd edition"),
        ("3ª edição, 2019", "source_edition", "3ª edição"),
        ("Published by North Press, London", "source_publisher", "North Press"),
        ("Editora Sul", "source_publisher", "Sul"),
        ("© 2021 Somebody", "source_year", 2021),
        ("First published 1899", "source_year", 1899),
    ],
)
def test_the_imprint_is_read_line_by_line(line: str, field: str, value: object) -> None:
    assert facts("On Loans", line)[field] == value


def test_a_year_in_running_text_is_no_year_of_the_book() -> None:
    assert "source_year" not in facts("On Loans", "It was in 1929 that the banks fell.")


def test_the_title_is_the_first_that_stands_on_another_page_too() -> None:
    found = facts("DRAFT COPY\nOn Loans", "On Loans\n© 2020")
    assert found["source_title"] == "On Loans"

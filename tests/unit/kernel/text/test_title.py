"""A file's title counts once: not again where the text repeats it as its heading."""

import pytest

from pecia.kernel.text.chunks.title import drop_title_heading, drop_title_line


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("# Lending bikes\n\nThree days.", "Three days."),
        ("\n## Lending  Bikes ##\nThree days.", "Three days."),
        ("Lending bikes\n=============\n\nThree days.", "Three days."),
        ("Lending bikes\nThree days.", "Three days."),
        ("# Lending bikes to guests\n\nThree days.", "# Lending bikes to guests\n\nThree days."),
        ("# Lending bikes", "# Lending bikes"),
        ("Three days.\n# Lending bikes", "Three days.\n# Lending bikes"),
    ],
)
def test_a_first_line_that_is_the_title_is_dropped(text: str, body: str) -> None:
    assert drop_title_line(text, "Lending bikes") == body


def test_a_file_without_a_title_keeps_its_text() -> None:
    assert drop_title_line("\n\nThree days.", "") == "\n\nThree days."


def test_headings_are_kept_but_for_the_title() -> None:
    assert drop_title_heading(["Lending Bikes", "Guests"], "Lending bikes") == ["Guests"]

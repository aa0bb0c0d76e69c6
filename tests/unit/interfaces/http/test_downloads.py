"""Parts of a file, and names that are safe in a header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.interfaces.http.routes.downloads import ByteRange, content_disposition, parse_range


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, (0, 10)),
        ("bytes=0-3", (0, 4)),
        ("bytes=4-", (4, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-30", (0, 10)),
        ("bytes=8-99", (8, 10)),
        ("bytes=5-2", (0, 10)),
        ("bytes=0-1,4-5", (0, 10)),
        ("bytes=-", (0, 10)),
        ("lines=1-2", (0, 10)),
    ],
)
def test_a_range_is_read_as_the_protocol_says(
    wanted: str | None, expected: tuple[int, int]
) -> None:
    assert parse_range(wanted, 10) == ByteRange(*expected, 10)


@pytest.mark.parametrize("wanted", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_past_the_end_holds_nothing(wanted: str) -> None:
    assert parse_range(wanted, 10) is None


@given(st.text(min_size=1, max_size=100))
def test_no_sign_of_a_name_breaks_out_of_the_header(key: str) -> None:
    header = content_disposition(key.encode("utf-8", "replace").decode(), "text/html")
    assert header.startswith('attachment; filename="')
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2


def test_only_what_cannot_run_is_shown() -> None:
    assert content_disposition("a/b.pdf", "application/pdf").startswith('inline; filename="b.pdf"')
    for dangerous in ("text/html", "image/svg+xml", "application/xhtml+xml", "text/xml"):
        assert content_disposition("x", dangerous).startswith("attachment")

"""The address of a file: one form out, two forms in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.kernel.corpus.file_uri import FileAddress, file_uri, parse_file_uri
from pecia.kernel.errors import InvalidFormat

names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1)


@given(source=names, key=names)
def test_every_source_and_key_come_back_from_their_uri(source: str, key: str) -> None:
    assert parse_file_uri(file_uri(source, key)) == FileAddress(source, key)


def test_the_form_of_the_reference_is_read_too() -> None:
    assert parse_file_uri("kdbl://file/s3%3A%2F%2Fbucket/a%2Fb%20c.pdf") == FileAddress(
        "s3://bucket", "a/b c.pdf"
    )


def test_the_folders_of_a_key_stay_readable() -> None:
    assert file_uri("handbook", "guides/a b.md") == "pecia://file/handbook/guides/a%20b.md"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "pecia://file/",
        "pecia://file/s",
        "pecia://file/s/",
        "pecia://post/s/k",
        "https://file/s/k",
        "pecia://file/s/%ff",
    ],
)
def test_anything_else_is_refused_by_the_field(uri: str) -> None:
    with pytest.raises(InvalidFormat) as refused:
        parse_file_uri(uri)
    assert refused.value.fields["field"] == "uri"

"""The block at the head of a document."""

import pytest

from pecia.kernel.errors import InvalidFormat, PayloadTooLarge
from pecia.kernel.text.markdown.frontmatter import (
    find_body_start,
    read_frontmatter,
    split_document,
)


@pytest.mark.parametrize(
    ("text", "yaml", "body"),
    [
        ("---\na: 1\n---\nbody\n", "a: 1\n", "body\n"),
        ("---\r\na: 1\r\n---\r\nbody", "a: 1\r\n", "body"),
        ("---\ra: 1\r---\rbody", "a: 1\r", "body"),
        ("\ufeff---\na: 1\n---\n", "a: 1\n", ""),
        ("---\n---\nbody", "", "body"),
        ("---\na: 1\n---", "a: 1\n", ""),
        ("---  \na: 1\n---\t\nx", "a: 1\n", "x"),
        ("---\na: |\n  ---\n---\n---\n", "a: |\n  ---\n", "---\n"),
    ],
)
def test_a_block_is_cut_off(text: str, yaml: str, body: str) -> None:
    split = split_document(text)
    assert (split.has_block, split.yaml, split.body) == (True, yaml, body)
    assert split.block.of(text) + split.body == text
    assert find_body_start(text) == len(text) - len(body)


@pytest.mark.parametrize(
    "text", ["---", "---\n", "---\na: 1\n", "---\na: 1\n ---\n", "---\na\n----\n"]
)
def test_an_unclosed_block_is_body_and_said_so(text: str) -> None:
    split = split_document(text)
    assert (split.has_block, split.body) == (False, text)
    assert split.unclosed == ("\n" in text)


@pytest.mark.parametrize(
    "text", ["", "a\n---\nb: 1\n---\n", "\n---\na: 1\n---\n", "----\n", " ---\n"]
)
def test_a_document_without_a_block_is_all_body(text: str) -> None:
    split = split_document(text)
    assert (split.has_block, split.unclosed, split.body) == (False, False, text)
    assert read_frontmatter(text).values == {}


def test_values_are_read() -> None:
    text = "---\ntype: note\ntags: [one, 'two, three']\ngenerated: {by: x, at: 2026-01-01}\n---\n"
    assert read_frontmatter(text).values == {
        "type": "note",
        "tags": ["one", "two, three"],
        "generated": {"by": "x", "at": "2026-01-01"},
    }


def test_an_error_counts_the_lines_of_the_document() -> None:
    with pytest.raises(InvalidFormat, match=r"frontmatter, line 3, column 5: ") as caught:
        read_frontmatter("---\nok: 1\na: b: c\n---\n")
    assert caught.value.fields == {"field": "frontmatter", "line": 3, "column": 5}


@pytest.mark.parametrize(
    ("yaml", "kind"), [("- a", "list"), ("words", "text"), ("12", "number"), ("true", "yes or no")]
)
def test_a_block_without_keys_is_an_error(yaml: str, kind: str) -> None:
    with pytest.raises(InvalidFormat, match=f"frontmatter is a {kind}"):
        read_frontmatter(f"---\n{yaml}\n---\n")


def test_a_block_over_64_kib_is_not_read() -> None:
    with pytest.raises(PayloadTooLarge):
        read_frontmatter(f"---\na: {'x' * 65_536}\n---\n")

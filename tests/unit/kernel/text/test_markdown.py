"""The structure of Markdown, line by line."""

import pytest

from pecia.kernel.text.markdown.blocks import MAX_DEPTH, BlockKind, scan_blocks


def kinds(text: str) -> list[tuple[str, str]]:
    return [(it.kind.value, it.span.of(text)) for it in scan_blocks(text)]


def test_a_document_is_cut_into_blocks() -> None:
    text = "# One\n\ntext\nmore\n\n```sh\n# no\n```\n***\n<!-- x -->\n<div>\nh\n\n    code\n"
    assert kinds(text) == [
        ("heading", "# One\n"),
        ("blank", "\n"),
        ("text", "text\nmore\n"),
        ("blank", "\n"),
        ("code", "```sh\n# no\n```\n"),
        ("rule", "***\n"),
        ("raw", "<!-- x -->\n"),
        ("html", "<div>\nh\n"),
        ("blank", "\n"),
        ("code", "    code\n"),
    ]


@pytest.mark.parametrize(
    ("text", "level"), [("# a", 1), ("###### a", 6), ("a\n=", 1), ("a\nb\n---\n", 2), ("  ## a", 2)]
)
def test_a_heading_has_a_level(text: str, level: int) -> None:
    (block,) = scan_blocks(text)
    assert (block.kind, block.level) == (BlockKind.HEADING, level)
    assert block.underlined == ("#" not in text)


@pytest.mark.parametrize(
    "text", ["#a", "####### a", "    # a", "\\# a", "> # a", "- # a", "x\n===="]
)
def test_what_only_looks_like_a_heading_starts_no_section(text: str) -> None:
    quoted = text if text != "x\n====" else "> x\n===="
    assert all(it.kind is not BlockKind.HEADING for it in scan_blocks(quoted))


def test_a_fence_in_a_list_ends_with_the_list() -> None:
    text = "- a\n  ```\n  # in\n# out\n"
    assert kinds(text)[-2:] == [("code", "  ```\n  # in\n"), ("heading", "# out\n")]


def test_an_unclosed_fence_runs_to_the_end() -> None:
    assert kinds("~~~\n# a\n```\n") == [("code", "~~~\n# a\n```\n")]


def test_a_paragraph_goes_on_from_outside_its_quote() -> None:
    assert kinds("> a\nb\n# c\n") == [("text", "> a\nb\n"), ("heading", "# c\n")]


def test_a_table_takes_the_line_above_its_rule() -> None:
    text = "intro\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n| x |\n---\n"
    assert kinds(text)[:2] == [("text", "intro\n"), ("table", "| a | b |\n|---|:-:|\n| 1 | 2 |\n")]


def test_a_header_and_its_rule_stand_in_the_same_quote() -> None:
    assert [kind for kind, _ in kinds("> | a |\n> |---|\n")] == ["table"]
    assert [kind for kind, _ in kinds("> x\n| a |\n> |---|\n")] == ["text"]


def test_every_list_item_is_a_block_of_its_own() -> None:
    blocks = scan_blocks("- a\n  b\n- c\n  1. d\n")
    assert [it.depth for it in blocks] == [1, 1, 2]


def test_line_ends_of_every_kind_are_understood() -> None:
    assert [kind for kind, _ in kinds("# a\r\n\r\nb\r# c\r")] == [
        "heading",
        "blank",
        "text",
        "heading",
    ]


def test_a_form_feed_line_is_blank() -> None:
    assert [kind for kind, _ in kinds("a\n\f\nb\n")] == ["text", "blank", "text"]


def test_containers_beyond_the_limit_are_text() -> None:
    deep = ">" * (MAX_DEPTH + 10) + " # a\n"
    (block,) = scan_blocks(deep)
    assert (block.kind, block.depth) == (BlockKind.TEXT, MAX_DEPTH)

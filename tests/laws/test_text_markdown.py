"""Blocks are a partition of the text, and the structure is the one that markdown-it-py sees."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.span import split_lines

# Deeper indents are left out: markdown-it-py takes them for code even where a paragraph goes on.
INDENTS = ("", "", " ", "  ", "   ")
MARKS = ("> ", ">", "- ", "-", "* ", "+ ", "1. ", "2) ", "7. ")
HEADINGS = ("# head", "## head ##", "#hash", "####### seven", "===", "---", "-", "***", "- - -")
FENCES = ("```", "```py", "````", "~~~", "~~~ x", "``` a`b", "~~~~")
HTML = (
    *("<div>", "</div>", "<b>", "<!-- x", "-->", "<pre>", "</pre>", "<b>x</b>", "<?php", "?>"),
    *("<!X", "<script> </script>"),
)
CODE = ("    code", "\tcode", "1999. x", "two words")
PLAIN = ("", "word")
TABLES = ("|a|b|", "|-|-|", "a | b", "--- | ---", ":-|-:", "|", "| |", "|-|", "a \\| b")


def row(indent: str, marks: list[str], content: str) -> str:
    return indent + "".join(marks) + content


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Rows of one or two families in many orders: those that never meet show nothing."""
    families = draw(st.lists(st.sampled_from([HEADINGS, FENCES, HTML, CODE]), max_size=2))
    contents = [*PLAIN, *(it for family in families for it in family)]
    marks = st.lists(st.sampled_from(MARKS), max_size=2)
    if draw(st.booleans()):
        # In a list, markdown-it-py lets a rule outside it end a header inside it.
        contents = [it for it in contents if it not in ("-", "1999. x")] + list(TABLES)
        marks = st.just(list[str]())
    rows = st.builds(row, st.sampled_from(INDENTS), marks, st.sampled_from(contents))
    line_end = draw(st.sampled_from(["\n", "\r\n"]))
    return line_end.join([*draw(st.lists(rows, max_size=10)), "end"])


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="#>-*+`~|:=<!/ab1. \t\r\n\f\\[]", max_size=60))
def test_blocks_joined_are_the_text(text: str) -> None:
    assert "".join(it.span.of(text) for it in scan_blocks(text)) == text


@settings(max_examples=300, deadline=None)
@given(documents())
def test_headings_code_html_and_tables_are_where_markdown_it_sees_them(text: str) -> None:
    assert ours(text) == theirs(text)


@pytest.mark.parametrize(
    "rows",
    [
        ("```", "````", "``` a", "~~~", "x", ""),
        ("- a", "- ", "  b", "2. c", "1. d", "", "# e", "  # f"),
        ("> a", ">", "b", "> > c", "- d", "# e", "> ```", ""),
        ("a", "===", "---", "# b", "***", ""),
        ("<div>", "</b>", "<!-- x", "-->", "a", ""),
        ("a|b", "|-|-|", "--|--", "|c|", "|-|", "d", ""),
    ],
)
def test_every_short_document_of_these_rows_is_read_as_markdown_it_does(
    rows: tuple[str, ...],
) -> None:
    for size in range(1, 5):
        for chosen in product(rows, repeat=size):
            text = "\n".join([*chosen, "end"])
            assert ours(text) == theirs(text), text


def ours(text: str) -> list[str]:
    """One word for every line, nothing for plain text and for blank lines."""
    words: list[str] = []
    for block in scan_blocks(text):
        words += [word(block) if it.strip() else "" for it in split_lines(block.span.of(text))]
    return words


def word(block: MarkdownBlock) -> str:
    match block.kind:
        case BlockKind.HEADING:
            return f"h{block.level}"
        case BlockKind.CODE | BlockKind.TABLE:
            return block.kind.value
        case BlockKind.HTML | BlockKind.RAW:
            return "html"
        case BlockKind.TEXT | BlockKind.BLANK | BlockKind.RULE:
            return ""


def theirs(text: str) -> list[str]:
    lines = split_lines(text)
    words = [""] * len(lines)
    for token in PARSER.parse(text):
        if (name := their_word(token)) and token.map:
            for number in range(*token.map):
                words[number] = name if lines[number].strip() else ""
    return words


def their_word(token: Token) -> str:
    if token.type == "heading_open" and token.level == 0:
        return f"h{token.tag[1]}"
    return {"fence": "code", "code_block": "code", "html_block": "html", "table_open": "table"}.get(
        token.type, ""
    )


PARSER = MarkdownIt("commonmark").enable("table").disable(["reference", "inline"])

"""Input made to be slow. Anything quadratic in these sizes runs into the time limit of a test."""

import pytest

from pecia.kernel.text.chunks.chunk import ChunkSource, TextMarkup, chunk_text
from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.inline import MAX_OPEN_BRACKETS
from pecia.kernel.text.markdown.blocks import scan_blocks
from pecia.kernel.text.markdown.frontmatter import split_document
from pecia.kernel.text.markdown.sections import read_outline

SIZE = 400_000
# Every line costs something, whatever is on it.
SIZE_OF_LINES = 50_000
PATTERNS = (
    *("[", "]", "[]", "![", "[[", "[[a|", "[a](", "[a](<b", '[a](b "', "[a][", "(", "[a](x(y"),
    *("`", "` ``", "<", "<a ", '<a b="', "<!--", "<!a", "<?", "<a@", "\\", "&#35;", "*", "_", "~"),
    *(">", "> ", "- ", "* - ", "1. ", "#", "# ", "# a\n", "a\n=\n", "{", "{#a", "`{#a}", "---\n"),
    *(
        "|",
        "|a|b|\n|-|-|\n",
        "~~~\n",
        "<div>\n",
        "\n",
        " ",
        "\t",
        "\r",
        "\f",
        "a. ",
        "!",
        "A! ",
        "1 ",
    ),
    *("a 1 2\n", "\u0301", "[a]: b\n", "- a\n  ", "> a\nb\n", "[r]\n\n[r]: x\n\n"),
)
CUT_PATTERNS = (
    *("[", ">", "- ", "|", "|a|b|\n|-|-|\n", "\n", " ", "\f", ".", "a. ", "!", 'A!" ', "1 ", "(1"),
    *("a 1 2\n", "a\t1\n", "\u0301", "word ", "# a\n"),
)


def repeated(pattern: str) -> str:
    size = SIZE_OF_LINES if "\n" in pattern else SIZE
    return pattern * (size // len(pattern))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_repeated_markup_is_read_in_linear_time(pattern: str) -> None:
    text = repeated(pattern)
    assert "".join(it.span.of(text) for it in scan_blocks(text)) == text
    outline = read_outline(text)
    assert outline.head.size + sum(it.span.size for it in outline.sections) == len(text)
    assert all(it.span.end <= len(text) for it in find_links(text))
    assert split_document(text).join() == text


@pytest.mark.parametrize("pattern", CUT_PATTERNS)
@pytest.mark.parametrize("markup", TextMarkup)
def test_repeated_markup_is_cut_in_linear_time(pattern: str, markup: TextMarkup) -> None:
    text = repeated(pattern)
    chunks = chunk_text(ChunkSource(text, markup=markup))
    assert "".join(it.text for it in chunks) == text
    assert max(len(it.text) for it in chunks) <= 5_200


@pytest.mark.parametrize(
    "text",
    [
        "".join("  " * i + "- a\n" for i in range(700)),
        "- " * 2_000 + "a\n" + "\n" * SIZE_OF_LINES,
        ">" * 2_000 + "a\n" + "b\n" * SIZE_OF_LINES,
        "[r]: x\n\n" + "[" * (SIZE // 2) + "r" + "]" * (SIZE // 2),
        "".join("`" * i + " " for i in range(700)),
        "# " + "[a](b)" * (SIZE // 20),
        "[a](" + "(" * SIZE,
    ],
)
def test_deep_nesting_is_read_in_linear_time(text: str) -> None:
    assert "".join(it.span.of(text) for it in scan_blocks(text)) == text
    assert len(read_outline(text).sections) == 1
    assert len(find_links(text)) <= SIZE


def test_brackets_beyond_the_limit_are_text() -> None:
    assert len(find_links("[" * (MAX_OPEN_BRACKETS + 5) + "[a](b)")) == 1
    assert find_links("[x " + "[" * MAX_OPEN_BRACKETS + "](b)" + "]" * MAX_OPEN_BRACKETS + "](c)")

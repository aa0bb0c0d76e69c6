"""Links are where CommonMark has them, and nowhere else."""

from urllib.parse import unquote

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.link import LinkKind

# Half a destination, half a reference and comments are left out: there markdown-it-py differs from
# the specification on odd input.
MARKUP = (
    *(
        "[",
        "]",
        ")",
        "](b.md)",
        "](<c.md>)",
        '](d.md "t")',
        "[r] ",
        "[q][r] ",
        "![i](j)",
        "\n",
        "a",
    ),
    *("`", "``", "\\", "<", ">", "<b>", "<http://x.y>", " ", "*", "[s](e.md)", "[![k](l)](m)", "!"),
    *('"', "'", "\\[", "\\]", "[a](f(g)h.md)", "&amp;"),
)
ODD = ("[[a]]", "![[b.png]]", "[[c|d]]", "[[e#f]]", "[[", "]]", "|", "#", "(", "](", "![", "<!--")

markdown = st.lists(st.sampled_from(MARKUP), max_size=12).map("".join)
anything = st.lists(st.sampled_from(MARKUP + ODD), max_size=15).map("".join)


@settings(max_examples=200, deadline=None)
@given(markdown)
def test_markdown_links_are_those_that_markdown_it_finds(soup: str) -> None:
    # Wiki links have no place in CommonMark, and a blank line would start another paragraph.
    line = "x" + soup.replace("\n\n", "\n").replace("[[", "[") + " y"
    text = f"{line}\n\n[r]: ref.md\n"
    found = [(it.target.path, it.embed) for it in find_links(text) if it.kind is not LinkKind.AUTO]
    assert sorted(found) == sorted(their_links(text))


@settings(max_examples=100, deadline=None)
@given(anything)
def test_the_places_of_a_link_hold_what_it_says(text: str) -> None:
    for link in find_links(text):
        source = link.span.of(text)
        assert source.startswith("!") == link.embed
        assert link.target.path_span.start == link.target.span.start
        assert link.target.path_span.end <= link.target.span.end
        if link.kind is LinkKind.WIKI:
            assert source.endswith("]]")
            assert link.target.path_span.of(text) == link.target.path


@settings(max_examples=100, deadline=None)
@given(anything)
def test_code_holds_no_links(soup: str) -> None:
    line = soup.replace("\n", " ")
    assert find_links(f"~~~\n{line}\n~~~\n") == []
    assert find_links(f"---\ntitle: x\n---\n\n    {line}\n") == []


def their_links(text: str) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for token in PARSER.parse(text):
        for it in every_child(token):
            if it.type == "image":
                found.append((unquote(str(it.attrs["src"])), True))
            elif it.type == "link_open" and it.info != "auto":
                found.append((unquote(str(it.attrs["href"])), False))
    return found


def every_child(token: Token) -> list[Token]:
    return [it for child in token.children or [] for it in (child, *every_child(child))]


PARSER = MarkdownIt("commonmark")

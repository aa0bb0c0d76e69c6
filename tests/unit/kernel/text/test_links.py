"""Links as they are written."""

import pytest

from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.inline import plain_text
from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.markdown.escapes import decode_path, encode_path, path_length, unescape


def only(text: str) -> Link:
    (link,) = find_links(text)
    return link


@pytest.mark.parametrize(
    ("text", "path", "anchor", "title"),
    [
        ("[x](a.md)", "a.md", None, None),
        ("[x](a.md#h)", "a.md", "h", None),
        ("[x](a.md?q=1#h)", "a.md", "h", None),
        ('[x](a.md "t")', "a.md", None, "t"),
        ("[x](a.md 't')", "a.md", None, "t"),
        ("[x](a.md (t))", "a.md", None, "t"),
        ("[x](<a b.md>)", "a b.md", None, None),
        ("[x]( <a> )", "a", None, None),
        ("[x](a(b)c.md)", "a(b)c.md", None, None),
        ("[x](a\\)b.md)", "a)b.md", None, None),
        ("[x](&auml;&#35;.md)", "ä", ".md", None),
        ("[x](#h)", "", "h", None),
        ("[x]()", "", None, None),
        ("[x\ny](a.md)", "a.md", None, None),
        ("[a [b] c](a.md)", "a.md", None, None),
        ("[`]`](a.md)", "a.md", None, None),
    ],
)
def test_an_inline_link(text: str, path: str, anchor: str | None, title: str | None) -> None:
    link = only(text)
    assert (link.kind, link.embed, link.span.of(text)) == (LinkKind.INLINE, False, text)
    assert (link.target.path, link.target.anchor, link.title) == (path, anchor, title)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[[1]](https://x.y/z)", "https://x.y/z"),
        ("[[11]](/docs/a/)", "/docs/a/"),
        ("[[2]](b.md 'title')", "b.md"),
        ("[[3]](#notes)", ""),
        ("[[4]](<c d.md>)", "c d.md"),
    ],
)
def test_a_citation_in_brackets_is_a_link_to_its_address(text: str, path: str) -> None:
    link = only(text)
    assert (link.kind, link.target.path, link.span.of(text)) == (LinkKind.INLINE, path, text)
    assert link.text == text[1 : text.index("](")]


@pytest.mark.parametrize(
    "text", ["[[a]](draft)", "[[a]] (b.md)", "[[a]](see b.md)", "[[a|x]](b.md)", "[[a#h]](b.md)"]
)
def test_a_wiki_link_before_words_in_parentheses_stays_one(text: str) -> None:
    assert (only(text).kind, only(text).target.path) == (LinkKind.WIKI, "a")


@pytest.mark.parametrize(
    ("text", "path", "anchor", "shown"),
    [
        ("[[a]]", "a", None, "a"),
        ("[[ a b ]]", "a b", None, "a b"),
        ("[[a/b#H 1]]", "a/b", "H 1", "a/b#H 1"),
        ("[[a|the a]]", "a", None, "the a"),
        ("[[a#h | x ]]", "a", "h", "x"),
        ("[[a\\|x]]", "a", None, "x"),
        ("[[a|]]", "a", None, "a"),
    ],
)
def test_a_wiki_link(text: str, path: str, anchor: str | None, shown: str) -> None:
    link = only(text)
    assert (link.kind, link.span.of(text), link.text) == (LinkKind.WIKI, text, shown)
    assert (link.target.path, link.target.anchor) == (path, anchor)
    assert link.target.path_span.of(text) == path


def test_references_share_the_place_in_their_definition() -> None:
    text = "[one][R] [r][] [R] ![R] [none]\n\n[r]: <a b.md#h> 'T'\n[r]: other.md\n[^r]: foot.md\n"
    links = find_links(text)
    assert [it.embed for it in links] == [False, False, False, True]
    assert {it.target.path_span.of(text) for it in links} == {"a b.md"}
    assert {(it.target.anchor, it.title) for it in links} == {("h", "T")}


def test_a_definition_may_stand_in_a_quote_or_a_list() -> None:
    assert len(find_links("> [r]: a.md\n\n- [s]: b.md\n\n[r] [s]\n")) == 2


def test_images_and_embeds_are_told_apart() -> None:
    text = "![i](i.png) ![[e.png]] \\![l](l.md) [![j](j.png)](k.md)"
    assert [(it.target.path, it.embed) for it in find_links(text)] == [
        ("i.png", True),
        ("e.png", True),
        ("l.md", False),
        ("k.md", False),
        ("j.png", True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "`[x](a)`",
        "`` ` [[a]] ` ``",
        "\\[x](a)",
        "[x]\\(a)",
        "```\n[x](a)\n```",
        "    [[a]]",
        "---\nt: '[x](a)'\n---\n",
        "<!-- [x](a) -->",
        "text <!-- [x](a) --> text",
        "<b title='[x](a)'>",
        "<pre>\n[x](a)\n\n[[b]]\n</pre>",
        "[x] (a)",
        "[[]]",
        "[[#a]]",
        "[[a\nb]]",
        "[x](a b)",
        "[x](a",
        "https://example.org",
    ],
)
def test_what_is_no_link(text: str) -> None:
    assert find_links(text) == []


def test_a_link_holds_no_other_link() -> None:
    text = "[a [b](b.md) c](d.md)"
    assert [it.target.path for it in find_links(text)] == ["b.md"]


def test_links_in_tables_headings_lists_and_tags_are_found() -> None:
    text = "# [a](a)\n\n- [b](b)\n\n|[c](c)|[[d\\|e]]|\n|-|-|\n|`x`|[f](f)|\n\n<div>[g](g)</div>\n"
    assert [it.target.path for it in find_links(text)] == ["a", "b", "c", "d", "f", "g"]


def test_an_autolink_is_external_by_its_kind() -> None:
    assert [it.kind for it in find_links("<https://x.y/[z](a)> <a@b.c>")] == [LinkKind.AUTO] * 2


def test_escapes_and_entities_are_undone() -> None:
    assert (
        unescape("a\\*b &amp; &#228; &#x41; &nonsense; &#0; \\q")
        == "a*b & ä A &nonsense; \ufffd \\q"
    )
    assert path_length("a\\#b") == 1
    assert path_length("a&#35;b") == 1
    assert path_length("a&amp;b?c") == 7


def test_percent_signs_are_undone_once_and_only_if_they_are_utf_8() -> None:
    assert decode_path("a%20b%2523") == "a b%23"
    assert decode_path("%E9") == "%E9"
    assert decode_path("100%") == "100%"


@pytest.mark.parametrize(
    "path", ["a b(c)", "100%", "x#y?z", "R&D", "r&amp;s", "a|b`c", "<é>", "a\\b"]
)
@pytest.mark.parametrize("angled", [True, False])
def test_an_encoded_path_is_read_back(path: str, *, angled: bool) -> None:
    written = encode_path(path, angled=angled)
    link = only(f"[x](<{written}>)" if angled else f"[x]({written})")
    assert decode_path(link.target.path) == path
    assert link.target.anchor is None


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (
            "The SDK ![version](https://img.example/%40v) ![licence](https://img.example/l)",
            "The SDK",
        ),
        ("[![CI](badge.svg)](https://ci.example) Build", "Build"),
        ("![The logo](logo.png)", "The logo"),
        ("[![CI](badge.svg)](https://ci.example)", "CI"),
        ("![[map.png]] The *way* [there](way.md)", "The way there"),
        ("![" * 5000 + "x", "![" * 5000 + "x"),
    ],
)
def test_a_line_reads_without_its_pictures_unless_there_is_nothing_else(
    source: str, seen: str
) -> None:
    assert plain_text(source) == seen

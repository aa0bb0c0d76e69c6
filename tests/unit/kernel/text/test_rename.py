"""Links rewritten after a move."""

from dataclasses import replace

import pytest

from pecia.kernel.text.links.name_index import NameIndex
from pecia.kernel.text.links.resolver import WIKI_RULES
from pecia.kernel.text.links.rewrite import (
    DocumentMoves,
    DocumentRename,
    RewrittenDocument,
    rewrite_links,
)

NAMES = NameIndex.of(
    ["a", "d/a", "d/b", "e/c", "guide/index", "deep/er/note", "self"], {"e/c": ["Title"]}
)


def rewritten(text: str, source: str, moves: DocumentMoves) -> RewrittenDocument:
    return rewrite_links(text, source, DocumentRename.of(moves, NAMES, WIKI_RULES))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[[d/b]]", "[[e/new]]"),
        ("[[d/b#h|alias]]", "[[e/new#h|alias]]"),
        ("[[ b ]]", "[[ e/new ]]"),
        ("[[d/b.md]]", "[[e/new.md]]"),
        ("![[d/b]]", "![[e/new]]"),
        ("[x](b.md)", "[x](../e/new.md)"),
        ("[x](./b)", "[x](./../e/new)"),
        ('[x](b.mdx?q=1#h "t")', '[x](../e/new.mdx?q=1#h "t")'),
        ("[x](<b.md>)", "[x](<../e/new.md>)"),
        ("![x](b)", "![x](../e/new)"),
        ('<a id="t" href="b.md#h">t</a>', '<a id="t" href="../e/new.md#h">t</a>'),
        ("<A HREF=b.md>t</A>", "<A HREF=../e/new.md>t</A>"),
        ("<p>\n<img src=' b.md '/>\n</p>", "<p>\n<img src=' ../e/new.md '/>\n</p>"),
        ("[r] [r][]\n\n[r]: b.md 't'\n", "[r] [r][]\n\n[r]: ../e/new.md 't'\n"),
        (
            '<img src="b.md" srcset="b.md 1x, ./b.md 2x,x.png 3x">',
            '<img src="../e/new.md" srcset="../e/new.md 1x, ./../e/new.md 2x,x.png 3x">',
        ),
        (
            "<picture><source srcset='\n b.md,\n b.md 300w\n'></picture>",
            "<picture><source srcset='\n ../e/new.md,\n ../e/new.md 300w\n'></picture>",
        ),
        ("[x](b/) [[d/b/]]", "[x](../e/new/) [[e/new/]]"),
    ],
)
def test_a_link_follows_its_document_in_its_own_manner(text: str, result: str) -> None:
    assert rewritten(text, "d/a", DocumentMoves({"d/b": "e/new"})).text == result


@pytest.mark.parametrize(
    "text",
    [
        "`[[d/b]]`",
        "```\n[[d/b]]\n```",
        "---\n# up: '[[d/b]]'\n---\n",
        "[[a]] [x](a.md) [x](#b) https://x.y/d/b",
        "[[nope]] ![[b.png]] [x](https://d/b)",
        '`<a href="b.md">` \\<a href="b.md"> <!-- <a href="b.md"> --> <a data-href="b.md">',
        '<a href="https://x.y/b.md"> <a href=""> <a href> <a href="/b.md"> <a href="#b">',
        '```html\n<a href="b.md">\n```',
        '<a href="..\\b.md">',
        '<img srcset="https://x.y/b.md 1x, data:image/png;base64,b.md 2x"> <img srcset>',
        '<script>\nlet x = `<a href="b.md">`\n</script>',
    ],
)
def test_all_else_is_left_alone(text: str) -> None:
    assert rewritten(text, "d/a", DocumentMoves({"d/b": "e/new"})) == RewrittenDocument(
        text, (), ()
    )


def test_two_documents_can_change_places() -> None:
    moves = DocumentMoves({"a": "d/a", "d/a": "a"})
    assert rewritten("[[a]] [[d/a]] [x](d/a.md)", "self", moves).text == "[[d/a]] [[a]] [x](a.md)"


def test_a_moved_document_keeps_its_own_links_and_images() -> None:
    text = "[[b]] [x](b.md) ![i](img/p.png) [dead](none.md#h) [t](../e/c.md) [[none]]"
    result = rewritten(text, "d/a", DocumentMoves({"d/a": "z/y/a"}))
    assert result.text == (
        "[[d/b]] [x](../../d/b.md) ![i](../../d/img/p.png) [dead](none.md#h)"
        " [t](../../e/c.md) [[none]]"
    )


def test_in_a_folder_that_moved_as_a_whole_nothing_changes() -> None:
    text = "[x](b.md) ![i](p.png) [dead](none.md)"
    moves = DocumentMoves({"d/a": "n/a", "d/b": "n/b"}, folders={"d": "n"})
    assert rewritten(text, "d/a", moves).text == text


def test_links_to_folders_and_files_follow_a_folder() -> None:
    text = "[x](../e/) [x](../e/in/) [x](../e/in) [[e/in]] [p](../e/p.pdf) [x](../e/none/) [[e]]"
    moves = DocumentMoves({"e/in/c": "n/e2/in/c"}, folders={"e": "n/e2"})
    places = {"e", "e/in", "d"}
    rename = DocumentRename.of(moves, NAMES, WIKI_RULES, places.__contains__)
    assert rewrite_links(text, "d/a", rename).text == (
        "[x](../n/e2/) [x](../n/e2/in/) [x](../n/e2/in) [[n/e2/in]] [p](../n/e2/p.pdf)"
        " [x](../e/none/) [[n/e2]]"
    )


def test_a_document_that_moves_keeps_its_links_to_folders() -> None:
    rename = DocumentRename.of(
        DocumentMoves({"d/a": "z/y/a"}), NAMES, WIKI_RULES, {"e", "d"}.__contains__
    )
    text = "[x](../e/) [here](./) [none](../none/)"
    assert (
        rewrite_links(text, "d/a", rename).text
        == "[x](../../e/) [here](./../../d/) [none](../none/)"
    )


def test_a_link_by_base_name_or_title_stays_short() -> None:
    moves = DocumentMoves({"deep/er/note": "other/memo", "e/c": "e/k"})
    assert rewritten("[[note]] [[Title]]", "a", moves).text == "[[memo]] [[Title]]"
    assert rewritten("[[note]]", "a", DocumentMoves({"deep/er/note": "x/note"})).text == "[[note]]"


def test_a_title_does_not_stand_in_for_the_name_that_was_written() -> None:
    names = NameIndex.of(["alpha", "self"], {"alpha": ["alpha"]})
    rename = DocumentRename.of(DocumentMoves({"alpha": "beta"}), names, WIKI_RULES)
    assert rewrite_links("[[alpha]]", "self", rename).text == "[[beta]]"


def test_a_newcomer_does_not_capture_the_links_of_others() -> None:
    moves = DocumentMoves({"self": "d/c"})
    assert rewritten("[[c]]", "a", moves).text == "[[e/c]]"


def test_a_link_to_a_folder_stays_one() -> None:
    moves = DocumentMoves({"guide/index": "manual/index"})
    assert rewritten("[x](guide/) [[guide]]", "a", moves).text == "[x](manual/) [[manual]]"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[x](<../hello%20two.md>)", "[x](<../../../hello%20two.md>)"),
        ("[x](../we%3Aird.md)", "[x](../../../we%3Aird.md)"),
        (r"[x](../q\(z.md)", r"[x](../../../q\(z.md)"),
        ("[x](../a&amp;b.md)", "[x](../../../a&amp;b.md)"),
        ("[x](https%3A//example.org/z)", "[x](https%3A//example.org/z)"),
        ("[x](./none%20such.md)", "[x](./none%20such.md)"),
    ],
)
def test_the_parts_of_a_link_that_stay_are_written_as_they_were(text: str, result: str) -> None:
    names = NameIndex.of(["d/s", "hello two", "we:ird", "q(z", "a&b"])
    rename = DocumentRename.of(DocumentMoves({"d/s": "x/y/z/s"}), names, WIKI_RULES)
    assert rewrite_links(text, "d/s", rename).text == result


def test_names_that_are_hard_to_write_are_encoded() -> None:
    moves = DocumentMoves({"a": "q#1 (z)%"})
    result = rewritten("[x](a.md) [y](<a.md>)", "self", moves)
    assert result.text == "[x](q%231%20%28z%29%25.md) [y](<q%231 (z)%25.md>)"


def test_a_link_that_cannot_be_written_is_reported() -> None:
    result = rewritten("[[a]]", "self", DocumentMoves({"a": "q#1"}))
    assert result.text == "[[a]]"
    assert [it.target.path for it in result.stranded] == ["a"]


SITE = replace(WIKI_RULES, roots=(("", ""), ("/en", "/d")))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[x](/en/b)", "[x](/en/new)"),
        ("[x](/en/b.md#h)", "[x](/en/new.md#h)"),
        ("[x](/d/b)", "[x](/en/new)"),
        ('<a href="/en/b?q=1">', '<a href="/en/new?q=1">'),
        ("[x](//en/b) [x](/en/nope) [x](#b) [[b]]", "[x](//en/b) [x](/en/nope) [x](#b) [[new]]"),
    ],
)
def test_an_address_of_the_site_follows_its_document(text: str, result: str) -> None:
    rename = DocumentRename.of(DocumentMoves({"d/b": "d/new"}), NAMES, SITE)
    assert rewrite_links(text, "a", rename).text == result


def test_an_address_of_a_folder_follows_and_one_that_has_none_becomes_a_path() -> None:
    moves = DocumentMoves({"guide/index": "d/help/index"})
    rename = DocumentRename.of(moves, NAMES, SITE)
    assert rewrite_links("[x](/guide/)", "a", rename).text == "[x](/en/help/)"
    only = replace(WIKI_RULES, roots=(("/en", "/d"),))
    rename = DocumentRename.of(DocumentMoves({"d/b": "e/new"}), NAMES, only)
    assert rewrite_links("[x](/en/b.md)", "self", rename).text == "[x](./e/new.md)"
    assert rewrite_links("[x](/en/b)", "d/a", rename).text == "[x](./../e/new)"


def test_a_link_is_judged_once_for_each_folder_that_writes_it() -> None:
    """Documents of a folder write the same links again and again."""
    asked: list[str] = []

    def is_place(path: str) -> bool:
        asked.append(path)
        return False

    rename = DocumentRename.of(DocumentMoves({"d/b": "d/new"}), NAMES, WIKI_RULES, is_place)
    text = "[x](none.md) [y](b.md) [z](none.md)\n"
    for source in ("d/a", "d/c", "d/sub/e"):
        rewrite_links(text * 100, source, rename)
    assert asked == ["d/none", "d/sub/none"]
    assert rewrite_links("[x](b.md) [[b]]", "d/a", rename).text == "[x](new.md) [[d/new]]"

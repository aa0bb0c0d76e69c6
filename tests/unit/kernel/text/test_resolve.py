"""What a link means among the names of a space."""

from dataclasses import replace

import pytest

from pecia.kernel.text.assets import asset_key, nearest_asset
from pecia.kernel.text.links import find_links
from pecia.kernel.text.names import Names, relative_path
from pecia.kernel.text.resolve import (
    CASCADE_RULES,
    WIKI_RULES,
    Ambiguous,
    Asset,
    External,
    Found,
    LinkRules,
    Missing,
    Outside,
    Resolution,
    SamePage,
    Way,
    resolve_link,
)

NAMES = Names.of(
    [
        *("a", "d/a", "d/b", "e/c", "guide/index", "topic/topic", "x y", "v1.2", "node.js"),
        *("one/note", "two/deep/note", "café", "twin/Foo", "twin/foo"),
    ],
    {"e/c": ["The Title", "Alias"], "d/b": ["Alias"]},
)
LAYERS = replace(CASCADE_RULES, prefixes=frozenset(["low"]))


def meaning(text: str, source: str = "d/a", rules: LinkRules = WIKI_RULES) -> Resolution:
    (link,) = find_links(text)
    return resolve_link(link, source, NAMES, rules)


@pytest.mark.parametrize(
    ("text", "name", "way"),
    [
        ("[[a]]", "a", Way.ROOT),
        ("[[b]]", "d/b", Way.RELATIVE),
        ("[[d/b.md]]", "d/b", Way.ROOT),
        ("[[/a]]", "a", Way.ROOT),
        ("[[./a]]", "d/a", Way.RELATIVE),
        ("[[X  Y]]", "x y", Way.SLUG),
        ("[[Cafe]]", "café", Way.SLUG),
        ("[[cafe\u0301]]", "café", Way.ROOT),
        ("[[guide]]", "guide/index", Way.FOLDER),
        ("[[Topic]]", "topic/topic", Way.FOLDER),
        ("[[deep/note]]", "two/deep/note", Way.SUFFIX),
        ("[[c]]", "e/c", Way.SUFFIX),
        ("[[the  title]]", "e/c", Way.LABEL),
        ("[[v1.2]]", "v1.2", Way.ROOT),
        ("[[node.js]]", "node.js", Way.ROOT),
        ("[[twin/Foo]]", "twin/Foo", Way.ROOT),
        ("[x](a.md)", "d/a", Way.RELATIVE),
        ("[x](../a.MD)", "a", Way.RELATIVE),
        ("[x](e/c.mdx?q=1)", "e/c", Way.ROOT),
        ("[x](../x%20y)", "x y", Way.RELATIVE),
        ("[x](../guide/)", "guide/index", Way.FOLDER),
    ],
)
def test_the_wiki_tries_one_way_after_the_other(text: str, name: str, way: Way) -> None:
    assert meaning(text) == Found(name, way)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[note]]", Ambiguous(("one/note", "two/deep/note"), Way.SUFFIX)),
        ("[[twin/FOO]]", Ambiguous(("twin/Foo", "twin/foo"), Way.SLUG)),
        ("[[alias]]", Ambiguous(("d/b", "e/c"), Way.LABEL)),
        ("[[nope#h]]", Missing("nope", "h")),
        ("[x](nope.md#h)", Missing("d/nope", "h")),
        ("[x](../../../etc/passwd)", Outside("../../../etc/passwd")),
        ("[[../../a]]", Outside("../../a")),
        ("![x](p.png)", Asset("d/p.png")),
        ("[x](../f.pdf#page=2)", Asset("f.pdf", "page=2")),
        ("![[p.png]]", Asset("p.png")),
        ("[x](#h)", SamePage("h")),
        ("[x](/a.md)", External("/a.md")),
        ("[x](https://x.y/z#w)", External("https://x.y/z#w")),
        ("[x](//x.y)", External("//x.y")),
        ("[[mailto:a@b.c]]", External("mailto:a@b.c")),
        ("<https://x.y>", External("https://x.y")),
        ("[[Note: this]]", Missing("Note: this")),
        ("[[low:a]]", External("low:a")),
    ],
)
def test_a_link_that_finds_no_single_document_says_why(text: str, expected: Resolution) -> None:
    assert meaning(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[a]]", Found("a", Way.ROOT)),
        ("[[b]]", Found("d/b", Way.RELATIVE)),
        ("[[c?v=1]]", Found("e/c", Way.SUFFIX)),
        ("[[note]]", Ambiguous(("one/note", "two/deep/note"), Way.SUFFIX)),
        ("[[nope]]", Missing("nope")),
        ("[[X-Y]]", Missing("X-Y")),
        ("[x](b.md#x)", Found("d/b", Way.RELATIVE, "x")),
        ("[x](e/c)", Found("e/c", Way.ROOT)),
        ("[x](/d/b.md)", Found("d/b", Way.ROOT)),
        ("[x](/b.md)", Missing("b")),
        ("[x](c)", Missing("d/c")),
        ("[[low:a|alias]]", Found("a", Way.ROOT, prefix="low")),
        ("[x](low:none.md)", Missing("none", prefix="low")),
        ("[x](low://host)", External("low://host")),
        ("[[low:../x]]", Outside("../x")),
        ("[x](http:y)", External("http:y")),
    ],
)
def test_the_cascade_is_stricter_and_knows_layers(text: str, expected: Resolution) -> None:
    assert meaning(text, rules=LAYERS) == expected


def test_a_layer_may_be_named_like_a_scheme() -> None:
    rules = replace(CASCADE_RULES, prefixes=frozenset(["http"]))
    assert meaning("[[http:a]]", rules=rules) == Found("a", Way.ROOT, prefix="http")
    assert meaning("[x](http://a)", rules=rules) == External("http://a")


def test_names_that_went_are_found_no_more() -> None:
    names = NAMES.with_changes(remove=["e/c", "unknown"], add={"new/c": ["The Title"]})
    assert "e/c" not in names
    assert names.labelled("the title") == ("new/c",)
    assert names.ending_in("c") == ("new/c",)
    assert NAMES.ending_in("c") == ("e/c",)
    assert len(names) == len(NAMES)


@pytest.mark.parametrize(
    ("target", "folder", "path"),
    [
        ("a", "", "a"),
        ("a", "d", "../a"),
        ("d/a", "d", "a"),
        ("d/e/a", "d/f", "../e/a"),
        ("d", "d", "../d"),
    ],
)
def test_a_relative_path_leads_from_folder_to_target(target: str, folder: str, path: str) -> None:
    assert relative_path(target, folder) == path


def test_the_nearest_file_of_a_name_is_meant() -> None:
    files = ["p.png", "d/x/y/p.png", "d/x/p.png", "e/p.png"]
    assert nearest_asset(files, "d/a") == "d/x/p.png"
    assert nearest_asset(["e/p.png", "b/p.png"], "d/a") == "b/p.png"
    assert nearest_asset(["e/p.png", "p.png"], "d/a") == "p.png"
    assert nearest_asset([], "d/a") is None
    assert asset_key("d/P.PNG") == asset_key("p.png")

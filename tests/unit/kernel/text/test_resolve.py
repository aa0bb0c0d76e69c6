"""What a link means among the names of a space."""

from dataclasses import replace

import pytest

from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.name_index import NameIndex, relative_path
from pecia.kernel.text.links.resolver import (
    CASCADE_RULES,
    WIKI_RULES,
    AmbiguousLink,
    AssetLink,
    ExternalUrl,
    LinkResolution,
    LinkRules,
    LookupRule,
    MissingLink,
    OutsideLink,
    ResolvedLink,
    SamePageLink,
    resolve_link,
)

NAMES = NameIndex.of(
    [
        *("a", "d/a", "d/b", "e/c", "guide/index", "topic/topic", "x y", "v1.2", "node.js"),
        *("one/note", "two/deep/note", "café", "twin/Foo", "twin/foo"),
    ],
    {"e/c": ["The Title", "Alias"], "d/b": ["Alias"]},
)
LAYERS = replace(CASCADE_RULES, prefixes=frozenset(["low"]))


def meaning(text: str, source: str = "d/a", rules: LinkRules = WIKI_RULES) -> LinkResolution:
    (link,) = find_links(text)
    return resolve_link(link, source, NAMES, rules)


@pytest.mark.parametrize(
    ("text", "name", "way"),
    [
        ("[[a]]", "a", LookupRule.ROOT),
        ("[[b]]", "d/b", LookupRule.RELATIVE),
        ("[[d/b.md]]", "d/b", LookupRule.ROOT),
        ("[[/a]]", "a", LookupRule.ROOT),
        ("[[./a]]", "d/a", LookupRule.RELATIVE),
        ("[[X  Y]]", "x y", LookupRule.SLUG),
        ("[[Cafe]]", "café", LookupRule.SLUG),
        ("[[cafe\u0301]]", "café", LookupRule.ROOT),
        ("[[guide]]", "guide/index", LookupRule.FOLDER),
        ("[[Topic]]", "topic/topic", LookupRule.FOLDER),
        ("[[deep/note]]", "two/deep/note", LookupRule.SUFFIX),
        ("[[c]]", "e/c", LookupRule.SUFFIX),
        ("[[the  title]]", "e/c", LookupRule.LABEL),
        ("[[v1.2]]", "v1.2", LookupRule.ROOT),
        ("[[node.js]]", "node.js", LookupRule.ROOT),
        ("[[twin/Foo]]", "twin/Foo", LookupRule.ROOT),
        ("[x](a.md)", "d/a", LookupRule.RELATIVE),
        ("[x](../a.MD)", "a", LookupRule.RELATIVE),
        ("[x](e/c.mdx?q=1)", "e/c", LookupRule.ROOT),
        ("[x](../x%20y)", "x y", LookupRule.RELATIVE),
        ("[x](../guide/)", "guide/index", LookupRule.FOLDER),
    ],
)
def test_the_wiki_tries_one_way_after_the_other(text: str, name: str, way: LookupRule) -> None:
    assert meaning(text) == ResolvedLink(name, way)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[note]]", AmbiguousLink(("one/note", "two/deep/note"), LookupRule.SUFFIX)),
        ("[[twin/FOO]]", AmbiguousLink(("twin/Foo", "twin/foo"), LookupRule.SLUG)),
        ("[[alias]]", AmbiguousLink(("d/b", "e/c"), LookupRule.LABEL)),
        ("[[nope#h]]", MissingLink("nope", "h")),
        ("[x](nope.md#h)", MissingLink("d/nope", "h")),
        ("[x](../../../etc/passwd)", OutsideLink("../../../etc/passwd")),
        ("[[../../a]]", OutsideLink("../../a")),
        ("![x](p.png)", AssetLink("d/p.png")),
        ("[x](../f.pdf#page=2)", AssetLink("f.pdf", "page=2")),
        ("![[p.png]]", AssetLink("p.png")),
        ("[x](#h)", SamePageLink("h")),
        ("[x](/a.md)", ExternalUrl("/a.md")),
        ("[x](https://x.y/z#w)", ExternalUrl("https://x.y/z#w")),
        ("[x](//x.y)", ExternalUrl("//x.y")),
        ("[[mailto:a@b.c]]", ExternalUrl("mailto:a@b.c")),
        ("<https://x.y>", ExternalUrl("https://x.y")),
        ("[[Note: this]]", MissingLink("Note: this")),
        ("[[low:a]]", ExternalUrl("low:a")),
    ],
)
def test_a_link_that_finds_no_single_document_says_why(text: str, expected: LinkResolution) -> None:
    assert meaning(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[a]]", ResolvedLink("a", LookupRule.ROOT)),
        ("[[b]]", ResolvedLink("d/b", LookupRule.RELATIVE)),
        ("[[c?v=1]]", ResolvedLink("e/c", LookupRule.SUFFIX)),
        ("[[note]]", AmbiguousLink(("one/note", "two/deep/note"), LookupRule.SUFFIX)),
        ("[[nope]]", MissingLink("nope")),
        ("[[X-Y]]", MissingLink("X-Y")),
        ("[x](b.md#x)", ResolvedLink("d/b", LookupRule.RELATIVE, "x")),
        ("[x](e/c)", ResolvedLink("e/c", LookupRule.ROOT)),
        ("[x](/d/b.md)", ResolvedLink("d/b", LookupRule.ROOT)),
        ("[x](/b.md)", MissingLink("b")),
        ("[x](c)", MissingLink("d/c")),
        ("[[low:a|alias]]", ResolvedLink("a", LookupRule.ROOT, prefix="low")),
        ("[x](low:none.md)", MissingLink("none", prefix="low")),
        ("[x](low://host)", ExternalUrl("low://host")),
        ("[[low:../x]]", OutsideLink("../x")),
        ("[x](http:y)", ExternalUrl("http:y")),
    ],
)
def test_the_cascade_is_stricter_and_knows_layers(text: str, expected: LinkResolution) -> None:
    assert meaning(text, rules=LAYERS) == expected


def test_a_layer_may_be_named_like_a_scheme() -> None:
    rules = replace(CASCADE_RULES, prefixes=frozenset(["http"]))
    assert meaning("[[http:a]]", rules=rules) == ResolvedLink("a", LookupRule.ROOT, prefix="http")
    assert meaning("[x](http://a)", rules=rules) == ExternalUrl("http://a")


def test_names_that_went_are_found_no_more() -> None:
    names = NAMES.with_changes(remove=["e/c", "unknown"], add={"new/c": ["The Title"]})
    assert "e/c" not in names
    assert names.find_by_label("the title") == ("new/c",)
    assert names.find_by_suffix("c") == ("new/c",)
    assert NAMES.find_by_suffix("c") == ("e/c",)
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

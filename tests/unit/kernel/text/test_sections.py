"""Headings, keys, anchors and outlines."""

import pytest

from pecia.kernel.text.markdown.heading import read_heading
from pecia.kernel.text.markdown.sections import SectionRules, read_outline
from pecia.kernel.text.slug import SlugCounter, github_slug, name_slug


@pytest.mark.parametrize(
    ("source", "text", "anchor", "attributes"),
    [
        ("## Engine {#engine}", "Engine", "engine", {}),
        ("## Kept {#Kept override=none}", "Kept", "Kept", {"override": "none"}),
        ('## Kept {#kept override="none"}', "Kept", "kept", {"override": "none"}),
        ("## A {#a updated='2026-01-01'}", "A", "a", {"updated": "2026-01-01"}),
        ("## A {updated=2026-03-01} B", "A B", None, {"updated": "2026-03-01"}),
        ("## f({x})", "f({x})", None, {}),
        ("## `{#no}` {#yes}", "`{#no}`", "yes", {}),
        ("## A {x} {#b} {#c}", "A {x} {#c}", "b", {}),
        ("## A {}", "A {}", None, {}),
        ("## A ##", "A", None, {}),
        ("## A#", "A#", None, {}),
        ("##", "", None, {}),
        ("## ##", "", None, {}),
        ("  ##   New   Section  ", "New   Section", None, {}),
    ],
)
def test_a_heading_is_its_words_and_its_attributes(
    source: str, text: str, anchor: str | None, attributes: dict[str, str]
) -> None:
    heading = read_heading(source + "\r\n", 2, underlined=False)
    assert (heading.text, heading.anchor, heading.attributes) == (text, anchor, attributes)
    assert heading.source == source


def test_a_clean_heading_keeps_its_anchor_only() -> None:
    heading = read_heading("## Rollback {#rollback override=none}\n", 2, underlined=False)
    assert heading.clean == "## Rollback {#rollback}"


def test_an_underlined_heading_may_take_several_lines() -> None:
    heading = read_heading("A long\n  title {#t}\n---\n", 2, underlined=True)
    assert (heading.text, heading.anchor) == ("A long title", "t")


def test_plain_words_have_no_links_and_no_emphasis() -> None:
    heading = read_heading(
        "# [The *x*](y.md) `z` [[a|b]] snake_case _u_ \\* &amp;\n", 1, underlined=False
    )
    assert heading.plain == "The x z b snake_case u \\ &"


def test_sections_are_cut_at_every_heading() -> None:
    text = "---\ntype: note\n---\npre\n\n# One\n\na\n\n### Three\nb\n## Two {#two}\n"
    outline = read_outline(text)
    assert outline.head.of(text) == "---\ntype: note\n---\n"
    assert [it.body.of(text) for it in outline.sections] == ["pre\n\n", "\na\n\n", "b\n", ""]
    assert [it.path for it in outline.sections] == [
        (),
        ("One",),
        ("One", "Three"),
        ("One", "Two"),
    ]


def test_keys_keep_spaces_and_repeated_ones_are_numbered() -> None:
    text = "x\n# New   Section\n# Dup\n# Dup\n# dup {#Anchor}\n#\n"
    keys = [it.key for it in read_outline(text).sections]
    assert keys == ["", "new section", "dup", "dup-1", "anchor", "-1"]


def test_a_fence_a_list_and_a_quote_start_no_section() -> None:
    text = "# A\n```\n# B\n```\n> # C\n\n- # D\n\n    # E\n"
    assert len(read_outline(text).sections) == 1


def test_underlined_headings_count_only_where_the_rules_say_so() -> None:
    text = "Title\n===\n\n# Other\n"
    assert [it.key for it in read_outline(text).sections] == ["title", "other"]
    plain = read_outline(text, SectionRules(underlined=False))
    assert [it.key for it in plain.sections] == ["", "other"]


@pytest.mark.parametrize(
    ("anchor", "key"),
    [
        ("set-up", "set-up"),
        ("SET-UP", "set-up"),
        ("first-steps", "first steps"),
        ("First Steps", "first steps"),
        ("first-steps-1", "first steps-1"),
        ("été", "été !"),
        ("ete", "été !"),
        ("how-to", "set-up"),
        ("nothing", None),
    ],
)
def test_an_anchor_is_found_by_name_slug_or_words(anchor: str, key: str | None) -> None:
    text = "# How to {#set-up}\n## First steps\n## First steps\n## Été !\n"
    found = read_outline(text).find(anchor)
    assert (found.key if found else None) == key


@pytest.mark.parametrize(
    ("heading", "github", "name"),
    [
        ("Hello, World!", "hello-world", "hello-world"),
        ("A  B", "a--b", "a-b"),
        ("snake_case", "snake_case", "snake-case"),
        ("Café Olé", "café-olé", "cafe-ole"),
        ("日本 語", "日本-語", "日本-語"),
        ("v1.2", "v12", "v1-2"),
        ("!!!", "", ""),
        ("😀 ok", "-ok", "ok"),
        ("한국", "한국", "한국"),
        ("हिन्दी", "हिन्दी", "हनद"),
    ],
)
def test_slugs_come_in_two_kinds(heading: str, github: str, name: str) -> None:
    assert github_slug(heading) == github
    assert name_slug(heading) == name


def test_numbering_never_gives_a_name_twice() -> None:
    numbering = SlugCounter()
    given = [numbering.deduplicate(it) for it in ["a", "a", "a-1", "a", "a-1", "b"]]
    assert given == ["a", "a-1", "a-1-1", "a-2", "a-1-2", "b"]

"""An outline loses nothing, and no two sections of a document have the same name."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.text.markdown.sections import SectionRules, read_outline
from pecia.kernel.text.slug import name_slug

ROWS = (
    *(
        "# One",
        "## Two {#two}",
        "## Two",
        "### `{x}` {#A override=none}",
        "#",
        "Title",
        "===",
        "---",
    ),
    *(
        "text",
        "",
        "```",
        "# in a fence?",
        "> # quoted",
        "- # listed",
        "two-1",
        "## two-1",
        "\ufeff",
    ),
    *("<!--", "-->", "    # code", "# Été !", "## {#x} {#y}", "type: note"),
)


def document(rows: list[str], line_end: str) -> str:
    return line_end.join(rows)


documents = st.builds(
    document, st.lists(st.sampled_from(ROWS), max_size=12), st.sampled_from(["\n", "\r\n", "\r"])
)
rules = st.sampled_from([SectionRules(), SectionRules(underlined=False, slug=name_slug)])


@settings(max_examples=100, deadline=None)
@given(documents, rules)
def test_head_and_sections_joined_are_the_document(text: str, rules: SectionRules) -> None:
    outline = read_outline(text, rules)
    pieces = [outline.head.of(text), *(it.span.of(text) for it in outline.sections)]
    assert "".join(pieces) == text


@settings(max_examples=100, deadline=None)
@given(documents, rules)
def test_a_section_is_its_heading_and_its_body(text: str, rules: SectionRules) -> None:
    for section in read_outline(text, rules).sections:
        lines = text[section.span.start : section.body.start]
        source = section.heading.source if section.heading else ""
        assert lines.rstrip("\r\n") == source
        assert section.body.end == section.span.end


@settings(max_examples=100, deadline=None)
@given(documents, rules)
def test_keys_and_slugs_are_distinct(text: str, rules: SectionRules) -> None:
    sections = read_outline(text, rules).sections
    assert len({it.key for it in sections}) == len(sections)
    headed = [it.slug for it in sections if it.heading]
    assert len(set(headed)) == len(headed)


@settings(max_examples=100, deadline=None)
@given(documents)
def test_every_section_is_found_by_its_slug(text: str) -> None:
    outline = read_outline(text)
    anchors = [it.anchor.lower() for it in outline.sections if it.heading]
    for section in outline.sections:
        if section.heading and section.slug and anchors.count(section.anchor.lower()) == 1:
            assert outline.find(section.anchor) == section

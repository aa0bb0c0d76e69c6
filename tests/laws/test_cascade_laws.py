"""What holds of every cascade: of its merge, its links, its documents and its readers."""

from itertools import permutations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pecia.features.cascade.core.links import extract_links, extract_target_leaves, path_leaf
from pecia.features.cascade.core.render import effective_json, render_markdown
from pecia.features.cascade.core.resolve import resolve
from pecia.features.cascade.core.view import CascadeView, RankedLayer
from pecia.features.cascade.layers.layer import LayerContent
from pecia.features.cascade.model import ConceptDocument, Contribution, LayerRank
from pecia.features.cascade.okf.document import (
    UnreadableDocument,
    parse_document,
    parse_okf,
    parse_sections,
    sections_of,
)
from pecia.features.cascade.okf.fast_frontmatter import parse_head_fast, parse_nested_fast
from pecia.features.cascade.okf.fast_sections import parse_sections_fast
from pecia.kernel.text.markdown.frontmatter import find_body_start, read_frontmatter
from pecia.kernel.text.yaml.reader import load_yaml
from tests.soak import SOAK

COUNT = 2_000 if SOAK else 60

HEADINGS = ("## One", "## One {#one}", "## Two {#two}", "## New Section", "## N {#new-section}")
TOMBS = ("## One {#one override=none}", "## Two {#two updated=2026-01-02 override=none}")
TEXTS = ("same", "other", "- a\n- b", "* a\n* b  ", "", "see [[b]] and [c](c.md)", "[x](../y)")
LINKED = ("[[a]]", "[[b]] [[d/a]]", "[b](b.md)", "[c](/c.md)")
KEYS = ("type: note", "type: rule", "title: A", "tags: [x]", "override: full", "owner: o")
DAYS = ("", "updated: 2026-01-01", "updated: 2026-02-02", "updated: someday")


def written(keys: list[str], day: str, parts: list[tuple[str, str]]) -> str:
    head = "\n".join(it for it in (*keys, day) if it)
    body = "\n\n".join(f"{heading}\n\n{text}" for heading, text in parts)
    return f"---\n{head}\n---\n\n{body}"


sections = st.tuples(st.sampled_from((*HEADINGS, *TOMBS)), st.sampled_from(TEXTS))
keys = st.lists(st.sampled_from(KEYS), max_size=3, unique_by=lambda it: it.partition(":")[0])
documents = st.builds(written, keys, st.sampled_from(DAYS), st.lists(sections, max_size=4))
linking = st.builds(
    written,
    keys,
    st.sampled_from(DAYS),
    st.lists(st.tuples(st.sampled_from(HEADINGS), st.sampled_from(LINKED)), min_size=1, max_size=2),
)
stacks = st.lists(st.tuples(documents, st.integers(0, 2)), min_size=1, max_size=4)


def contributions(stack: list[tuple[str, int]], concept: str = "a") -> list[Contribution]:
    return [
        Contribution(LayerRank(f"l{n}", level, n), parse_document(concept, f"{concept}.md", text))
        for n, (text, level) in enumerate(stack)
    ]


@settings(max_examples=COUNT, deadline=None)
@given(stacks)
def test_the_order_in_which_layers_are_read_never_changes_the_result(
    stack: list[tuple[str, int]],
) -> None:
    found = contributions(stack)
    expected = effective_json(resolve("a", found))
    assert all(effective_json(resolve("a", it)) == expected for it in permutations(found))


@settings(max_examples=COUNT, deadline=None)
@given(stacks)
def test_every_section_key_comes_once_and_a_tombstone_silences(
    stack: list[tuple[str, int]],
) -> None:
    found = resolve("a", contributions(stack))
    keys = [it.key for it in found.sections]
    assert len(keys) == len(set(keys))
    for it in found.sections:
        if it.section.is_tombstone:
            assert it.suppressed
            assert it.content == ""
            assert not it.conflicts
    shown = [it.suppressed for it in found.sections]
    assert shown == sorted(shown)


@settings(max_examples=COUNT, deadline=None)
@given(stacks)
def test_a_tombstone_on_top_hides_the_section_from_every_reader(
    stack: list[tuple[str, int]],
) -> None:
    tomb = parse_document("a", "a.md", "---\ntitle: T\n---\n\n## One {#one override=none}\n")
    top = Contribution(LayerRank("top", 9, 99), tomb)
    found = resolve("a", [*contributions(stack), top])
    hidden = [it for it in found.sections if it.key == "one"]
    assert [(it.suppressed, it.layer, it.conflicts) for it in hidden] == [(True, "top", ())]
    assert "override=none" not in render_markdown(found)


@settings(max_examples=COUNT, deadline=None)
@given(stacks)
def test_what_layers_say_is_all_there_is(stack: list[tuple[str, int]]) -> None:
    found = contributions(stack)
    said = {section.content for it in found for section in sections_of(it.document)}
    effective = resolve("a", found)
    for it in effective.sections:
        assert it.content in said | {""}
        assert {dissent.content for dissent in it.conflicts} <= said | {""}
    assert {it.layer for it in effective.contributors} == {it.layer for it in found}


def view_of(stacks_by_id: dict[str, list[tuple[str, int]]], layers: set[str]) -> CascadeView:
    """The view of some layers, which are named by their place in the stacks."""
    held: list[RankedLayer] = []
    for n in range(4):
        here: dict[str, ConceptDocument] = {}
        for concept, stack in stacks_by_id.items():
            if n < len(stack):
                here[concept] = parse_document(concept, f"{concept}.md", stack[n][0])
        if f"l{n}" in layers:
            held.append(RankedLayer(LayerRank(f"l{n}", n % 3, n), LayerContent(here)))
    return CascadeView(held)


worlds = st.dictionaries(st.sampled_from(["a", "b", "c", "d/a"]), stacks, min_size=1)
layer_sets = st.sets(st.sampled_from(["l0", "l1", "l2", "l3"]))


@settings(max_examples=COUNT, deadline=None)
@given(worlds)
def test_effective_links_are_among_those_that_layers_hold(
    world: dict[str, list[tuple[str, int]]],
) -> None:
    view = view_of(world, {"l0", "l1", "l2", "l3"})
    for concept in view.ids:
        texts = [it.document.text for it in view.contributions(concept)]
        held = {link.span.of(text) for text in texts for link in extract_links(text)}
        assert {str(it["raw"]) for it in view.outgoing_links(concept)} <= held


@settings(max_examples=COUNT, deadline=None)
@given(worlds)
def test_who_points_back_is_who_points_there(world: dict[str, list[tuple[str, int]]]) -> None:
    view = view_of(world, {"l0", "l1", "l2", "l3"})
    back = {
        (it.id, target) for target in view.ids for it in view.incoming_links(target) if it.effective
    }
    out = {
        (source, str(it["id"]))
        for source in view.ids
        for it in view.outgoing_links(source)
        if it["layers"] and it["id"] != source
    }
    assert back == out


@settings(max_examples=COUNT, deadline=None)
@given(worlds, layer_sets)
def test_a_layer_that_is_not_read_changes_nothing(
    world: dict[str, list[tuple[str, int]]], layers: set[str]
) -> None:
    """A view of some layers is what the cascade would be if the others had never been."""
    seen = view_of(world, layers)
    numbers = {int(it[1:]) for it in layers}
    bare = {
        concept: [it if n in numbers else ("", 0) for n, it in enumerate(stack)]
        for concept, stack in world.items()
    }
    for concept in seen.ids:
        kept = [it for it in contributions_of(bare[concept], concept) if it.layer in layers]
        assert effective_json(seen.effective(concept)) == effective_json(resolve(concept, kept))


@settings(max_examples=COUNT, deadline=None)
@given(worlds, st.integers(-1, 9), st.booleans(), documents)
def test_a_layer_without_a_concept_changes_nothing_of_it(
    world: dict[str, list[tuple[str, int]]], level: int, is_empty: bool, text: str
) -> None:
    before = view_of(world, {"l0", "l1", "l2", "l3"})
    other = {} if is_empty else {"elsewhere": parse_document("elsewhere", "elsewhere.md", text)}
    more = RankedLayer(LayerRank("more", level, 9), LayerContent(other))
    after = CascadeView([*before._held.values(), more])  # pyright: ignore[reportPrivateUsage] - the same layers, and one.
    for concept in before.ids:
        assert effective_json(after.effective(concept)) == effective_json(before.effective(concept))
        assert after.card(concept) == before.card(concept)
        assert after.outgoing_links(concept) == before.outgoing_links(concept)
        if is_empty:
            assert after.incoming_links(concept) == before.incoming_links(concept)


def contributions_of(stack: list[tuple[str, int]], concept: str) -> list[Contribution]:
    return [
        Contribution(LayerRank(f"l{n}", n % 3, n), parse_document(concept, f"{concept}.md", text))
        for n, (text, _) in enumerate(stack)
        if text
    ]


@settings(max_examples=COUNT, deadline=None)
@given(worlds, layer_sets, st.sampled_from(["a", "b"]), linking)
def test_a_view_kept_in_step_is_the_view_made_anew(
    world: dict[str, list[tuple[str, int]]], layers: set[str], concept: str, text: str
) -> None:
    view = view_of(world, layers)
    for it in view.ids:
        view.incoming_links(it)
    after = {**world, concept: [(text, 0), *world.get(concept, [])[1:]]}
    fresh = view_of(after, layers)
    readings = {name: fresh._held[name].content for name in layers}  # pyright: ignore[reportPrivateUsage] - the law is about what is kept.
    view.update(readings, {concept})
    assert view.list_cards() == fresh.list_cards()
    for it in fresh.ids:
        assert view.incoming_links(it) == fresh.incoming_links(it)
        assert view.outgoing_links(it) == fresh.outgoing_links(it)


ROWS = ("# One", "## Two {#two}", "text", "", "```", "---", "type: note", "\ufeff", "k: {a: b}")


def joined(rows: list[str], line_end: str) -> str:
    return line_end.join(rows)


texts = st.builds(
    joined,
    st.lists(st.sampled_from(ROWS), max_size=10),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@settings(max_examples=COUNT, deadline=None)
@given(texts)
def test_a_document_that_was_only_read_is_written_back_byte_for_byte(text: str) -> None:
    try:
        found = parse_okf(text)
    except UnreadableDocument:
        return
    assert found.render() == text


YAML_ROWS = (
    *("a: 1", "b:", "  c: x", "  d: 2026-01-01", "- id: s", "  - id: s", "    resource: y"),
    *("  resource: y", "e: [x, y]", "f: {a: b}", "# c", "", "  # c", "g: 'q'", "  - z", "- z"),
    *("h: |", "  text", "b: again", "    deep: 1", "i: x: y", "  k: &a v", "j: *a", " odd: 1"),
    *("# c\rl: 1", "# \x07", "# \x85m: 1"),
)


@settings(max_examples=COUNT * 5, deadline=None)
@example(["# c\rl: 1", "b:", "  c: x"])
@example(["# \x07", "b:", "  c: x"])
@given(st.lists(st.sampled_from(YAML_ROWS), max_size=7))
def test_the_quick_reader_says_what_the_full_one_says(rows: list[str]) -> None:
    text = "\n".join(rows)
    quick = parse_nested_fast(text)
    if quick is None:
        return
    full = load_yaml(text)
    assert (full.value, full.repeated) == (quick, ())
    assert list(read_frontmatter(f"---\n{text}\n---\n").values) == list(quick)


HEAD_ROWS = (
    *("---", "--- ", "----", "---\t", "--- x", " ---", "...", "a: 1", "b:", "  c: x", "c: é", ""),
    *("text", "# h", "# c\r---", "a: 1\r", "\ufeff", "d: [x, y]", "---\u2028", "- id: s"),
)


@settings(max_examples=COUNT * 10, deadline=None)
@example("---\n", ["# c\r---", "b:", "  c: x"], "\n", "\n---\n")
@given(
    st.sampled_from(["---\n", "---\na: 0\n", "--- \n", "---\r\n", "\ufeff---\n", "----\n", ""]),
    st.lists(st.sampled_from(HEAD_ROWS), max_size=6),
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.sampled_from(["", "\n", "\n---", "\n---\n", "\n---\n\n## One\n"]),
)
def test_a_head_read_quickly_is_the_head_that_the_full_reader_finds(
    opening: str, rows: list[str], line_end: str, tail: str
) -> None:
    text = opening + line_end.join(rows) + tail
    quick = parse_head_fast(text)
    if quick is None:
        return
    values, start = quick
    full = read_frontmatter(text)
    assert (repr(values), start) == (repr(full.values), find_body_start(text))
    assert full.repeated == ()


BODY_ROWS = (
    *("# One", "## One", "## Two {#two}", "##", "###### Six", "####### Seven", "#no", "#\tTab"),
    *("## One {#one override=none}", "## C ##", "## `a` {x}", "text", "", " ", "\f", "\x0b# x"),
    *(
        "- item",
        " # one",
        "  # in it",
        "   # three",
        "    # code",
        "\t# tab",
        "> # quoted",
        "> text",
        "---",
    ),
    *("===", "1. one", "1) # x", "- # x", "| a |", "|---|", "```", "~~~", "<div>", "\r", "\u2028"),
)


@settings(max_examples=COUNT * 10, deadline=None)
@given(
    st.sampled_from(["", "---\ntype: note\n---\n", "\ufeff---\na: b\n---", "\n"]),
    st.lists(st.sampled_from(BODY_ROWS), max_size=8),
    st.sampled_from(["", "\n", "\n\n"]),
)
def test_the_quick_reader_finds_the_sections_that_the_full_one_finds(
    head: str, rows: list[str], tail: str
) -> None:
    text = head + "\n".join(rows) + tail
    quick = parse_sections_fast(text, find_body_start(text))
    assert quick is None or quick == parse_sections(text)


LINKS = ("[a](x/b.md)", "[[x/b|c]]", "[a](<x y/b c.md>)", "[r][d]", "[d]: x/b.md 't'", "`[[no]]`")
MORE = ("[p](a(b).md)", "[e](x%20y.md)", "![i](x.md)", "\n", " ", "text", "[l:x/b](y)", "[[l:z#q]]")


@settings(max_examples=COUNT * 2, deadline=None)
@given(st.lists(st.sampled_from((*LINKS, *MORE)), max_size=8))
def test_the_cheap_look_misses_no_link(parts: list[str]) -> None:
    text = "".join(parts)
    assert {path_leaf(it.target.path) for it in extract_links(text)} <= extract_target_leaves(text)

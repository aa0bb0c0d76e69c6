"""A document is cut and joined without loss; a change to its frontmatter is that change only."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.errors import Json
from pecia.kernel.text.markdown.frontmatter import (
    split_document,
)
from pecia.kernel.text.yaml.fast_reader import read_plain_yaml
from pecia.kernel.text.yaml.patch import merge_patch, patch_yaml
from pecia.kernel.text.yaml.reader import compose_yaml, load_yaml
from pecia.kernel.text.yaml.writer import dump_yaml

ODD = "abz09 -_:#'\"\\,[]{}\n\té€😀\u2028.&*!|>%@`?~="
words = st.text("ab :#", max_size=4) | st.text(ODD, max_size=12)
tricky = st.sampled_from(["", "null", "yes", "007", "1e3", "2026-01-01", "12:30", "- a", "0x1F"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | tricky
)
keys = st.sampled_from(["a", "b", "title", "tags", "x y", "1", "no"]) | words
values: st.SearchStrategy[Json] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
mappings = st.dictionaries(keys, values, max_size=5)

PLAIN_LINES = (
    *("a: b", "a: 1", "b: [x, y]", "b: []", "c:", "  - one", "- two", "  - 'it'", "d: x: y", "# c"),
    *(
        "",
        "e: https://x.y/#z",
        "f: a #c",
        "g: a#b",
        "h: 'q'",
        'i: "q\\n"',
        "j: [a, 'b', 3]",
        "k: ~",
    ),
    *("l: -1", "m: [a, ]", "n: a ", "  o: p", "q : r", "s: yes", "t: 2026-01-01", "u:v", "w: é"),
)
yaml_texts = st.lists(st.sampled_from(PLAIN_LINES), max_size=6).map("\n".join)

DOCUMENT_PARTS = ("---", "--- ", "----", "a: 1", "", "text", "\ufeff", " ---", "...", "# h")


def document(parts: list[str], line_end: str) -> str:
    return line_end.join(parts)


documents = st.builds(
    document,
    st.lists(st.sampled_from(DOCUMENT_PARTS), max_size=7),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@settings(max_examples=100, deadline=None)
@given(documents | st.text(alphabet="-\r\n \ufeffa:", max_size=20))
def test_a_document_split_and_joined_is_the_document(text: str) -> None:
    assert split_document(text).join() == text


@settings(max_examples=100, deadline=None)
@given(mappings)
def test_what_is_dumped_is_what_is_loaded(mapping: dict[str, Json]) -> None:
    loaded = load_yaml(dump_yaml(mapping)).value
    assert repr(loaded) == repr(mapping)


@settings(max_examples=100, deadline=None)
@given(yaml_texts)
def test_the_quick_reader_never_disagrees_with_the_full_one(text: str) -> None:
    quick = read_plain_yaml(text)
    if quick is not None:
        node = compose_yaml(text)
        assert node is not None
        assert repr(node.value) == repr(quick)


@settings(max_examples=100, deadline=None)
@given(mappings, mappings)
def test_a_patched_text_says_what_the_patch_asks_for(
    before: dict[str, Json], patch: dict[str, Json]
) -> None:
    after = load_yaml(patch_yaml(dump_yaml(before), patch)).value or {}
    assert after == merge_patch(before, patch)


@settings(max_examples=100, deadline=None)
@given(mappings)
def test_a_patch_that_changes_nothing_changes_no_character(mapping: dict[str, Json]) -> None:
    rest = dump_yaml(mapping) if mapping else ""
    text = f"# kept\nodd:   'x'  # why\nlist: [p,   q]\n{rest}\n"
    same: dict[str, Json] = {"odd": "x", "list": ["p", "q"]}
    assert patch_yaml(text, same | without_nulls(mapping)) == text


def without_nulls(mapping: dict[str, Json]) -> dict[str, Json]:
    """A patch that agrees with the mapping: in a patch, null means to remove."""
    return {
        key: without_nulls(it) if isinstance(it, dict) else it
        for key, it in mapping.items()
        if it is not None
    }

"""Writing and editing a text: what is asked for changes, and nothing else."""

import pytest

from pecia.features.wiki.core.edit import (
    Position,
    Replacement,
    apply_replacement,
    apply_write,
    count_occurrences,
)
from pecia.features.wiki.core.suggest import find_parent_candidates
from pecia.features.wiki.core.summary import parse_summary
from pecia.features.wiki.core.text.frontmatter import patch_frontmatter
from pecia.features.wiki.core.text.section import write_section
from pecia.kernel.errors import Conflict, InvalidInput, NotFound
from pecia.kernel.text.links.name_index import NameIndex

HEAD = "---\ntitle: A\n---\n"


@pytest.mark.parametrize(
    ("old", "given", "where", "after"),
    [
        (None, "new", "append", "new"),
        (f"{HEAD}old\n", "new\n", "replace", f"{HEAD}new\n"),
        (f"{HEAD}old\n", "---\na: 1\n---\nnew", "replace", "---\na: 1\n---\nnew"),
        ("old\n", "new\n", "append", "old\n\nnew\n"),
        ("old", "new", "append", "old\n\nnew"),
        ("old\n\n\n", "new", "append", "old\n\n\nnew"),
        (f"{HEAD}old\n", "new\n", "prepend", f"{HEAD}new\n\nold\n"),
        (f"{HEAD}old\n", "---\na: 1\n---\nnew", "append", f"{HEAD}old\n\nnew"),
        ("a\r\n", "b\r\n", "append", "a\r\n\r\nb\r\n"),
        (HEAD, "new\n", "append", f"{HEAD}new\n"),
        ("  kept  \n", "  kept too  ", "append", "  kept  \n\n  kept too  "),
    ],
)
def test_a_write_gives_the_text_that_was_asked_for(
    old: str | None, given: str, where: str, after: str
) -> None:
    assert apply_write(old, given, where) == after  # pyright: ignore[reportArgumentType] - one of three words


def test_the_first_place_is_edited_unless_another_is_named() -> None:
    text = "one two one two one"
    assert apply_replacement(text, Replacement("one", "1")).text == "1 two one two one"
    assert (
        apply_replacement(text, Replacement("one", "1", occurrence=2)).text == "one two 1 two one"
    )
    assert apply_replacement(text, Replacement("one", "1", offset=16)).text == "one two one two 1"
    assert apply_replacement(text, Replacement("one", "1", every=True)).text == "1 two 1 two 1"
    assert apply_replacement(text, Replacement("one", "1", every=True)).offsets == (0, 6, 12)


def test_words_that_are_not_there_are_not_found() -> None:
    with pytest.raises(NotFound):
        apply_replacement("text", Replacement("other", "x"))
    with pytest.raises(NotFound):
        apply_replacement("one", Replacement("one", "x", occurrence=2))


def test_an_offset_with_other_words_by_now_is_a_conflict() -> None:
    with pytest.raises(Conflict):
        apply_replacement("one two", Replacement("two", "x", offset=3))


@pytest.mark.parametrize("find", ["title", "A\n---\nbo", "---\nbody", "---\n"])
def test_words_in_the_frontmatter_or_over_its_edge_are_refused(find: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        apply_replacement(f"{HEAD}body: here\n---\n", Replacement(find, "x"))
    assert "write_document" in str(caught.value.fields["hint"])


def test_prose_that_looks_like_frontmatter_can_be_edited() -> None:
    text = f"{HEAD}Note: this\n\n---\n\nmore"
    assert (
        apply_replacement(text, Replacement("Note: this", "Note: that")).text
        == f"{HEAD}Note: that\n\n---\n\nmore"
    )
    assert apply_replacement(text, Replacement("\n---\n\nmore", "")).text == f"{HEAD}Note: this\n"


@pytest.mark.requirement("wiki.summary.cut_at_80", "wiki.summary.truncated_from")
def test_a_long_summary_is_cut_and_says_so() -> None:
    found = parse_summary("x" * 81)
    assert found is not None
    assert found.value == "x" * 79 + "…"
    assert found.to_json()["truncatedFrom"] == 81
    whole = parse_summary("y" * 80)
    assert whole is not None
    assert whole.to_json() == {"value": "y" * 80}


@pytest.mark.requirement("wiki.summary.blank_is_absent")
@pytest.mark.parametrize("text", [None, "", "   ", "\n\t "])
def test_a_blank_summary_is_none(text: str | None) -> None:
    assert parse_summary(text) is None


def test_line_ends_in_a_summary_become_spaces() -> None:
    found = parse_summary("one\r\ntwo\u2028three")
    assert found is not None
    assert found.value == "one two three"


def test_documents_that_speak_for_the_folders_above_could_link_to_a_new_one() -> None:
    names = ["README", "a/index", "a/b/b", "a/b/x", "a/b/README", "index"]
    found = find_parent_candidates("a/b/new", NameIndex.of(names))
    assert found == ["a/b/README", "a/b/b", "a/index"]
    assert find_parent_candidates("README", NameIndex.of(names)) == ["index"]
    assert find_parent_candidates("z/new", NameIndex.of([])) == []


CRLF = "---\r\ntitle: T\r\n---\r\n# A\r\n\r\na.\r\n\r\n## B\r\n\r\nb.\r\n"


def ends(text: str) -> tuple[int, int]:
    return text.count("\n"), text.count("\r\n")


def test_a_line_end_of_the_text_to_find_is_also_crlf() -> None:
    done = apply_replacement(CRLF, Replacement("a.\n\n## B", "new\nlines\n\n## C"))
    assert done.text == CRLF.replace("a.\r\n\r\n## B", "new\r\nlines\r\n\r\n## C")
    assert done.text[done.offsets[0] :].startswith("new")
    at = CRLF.index("a.")
    placed = Replacement("a.\n\n## B", "x", offset=at)
    assert apply_replacement(CRLF, placed).text == CRLF.replace("a.\r\n\r\n## B", "x")
    assert count_occurrences(CRLF, "\n\n") == 3
    # And the other way round, for programs that send CRLF.
    assert apply_replacement("a\nb\n", Replacement("a\r\nb", "c")).text == "c\n"
    # Lines that end differently stay so.
    assert apply_replacement("a\r\nb\nc\n", Replacement("b\nc", "d\ne")).text == "a\r\nd\ne\n"


@pytest.mark.parametrize("where", ["append", "prepend", "replace"])
def test_what_is_written_has_the_line_ends_of_the_document(where: Position) -> None:
    for text in (
        apply_write(CRLF, "one\ntwo\n", where),
        write_section(CRLF, "B", "one\ntwo\n", where),
        patch_frontmatter(CRLF, {"tags": ["a", "b"], "title": "Another", "more": {"deep": 1}}),
        patch_frontmatter("# A\r\n\r\na.\r\n", {"title": "T", "tags": ["a"]}),
    ):
        lines, crlf = ends(text)
        assert lines == crlf, text

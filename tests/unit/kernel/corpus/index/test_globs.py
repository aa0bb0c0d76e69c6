"""A path filter that no file could fit is an error, not an empty answer."""

import pytest

from pecia.kernel.corpus.index.globs import well_formed
from pecia.kernel.corpus.question import Ask, narrowed, read_query
from pecia.kernel.errors import InvalidFormat


@pytest.mark.parametrize(
    ("glob", "why"),
    [
        ("[a", "does not close"),
        ("docs/[a/b]", "does not close"),
        ("a[", "does not close"),
        ("[]", "empty"),
        ("[]a]", "empty"),
        ("[!]", "empty"),
        ("[!", "does not close"),
        ("[z-a]", "backwards"),
        ("[!z-a]", "backwards"),
        ("[bz-a]", "backwards"),
        ("a\0", "NUL"),
    ],
)
def test_a_malformed_glob_is_refused_with_its_field_and_what_is_allowed(
    glob: str, why: str
) -> None:
    with pytest.raises(InvalidFormat, match=why) as caught:
        well_formed(glob, field="path")
    told = caught.value.payload()
    assert (told["field"], told["got"]) == ("path", glob)
    assert {"expected", "hint"} <= {*told}


@pytest.mark.parametrize(
    "glob",
    ["**", "a/*.md", "[ab]?", "[!a-z]*", "[[]a]", "a]", "[-a]", "[a-]", "[!!]", "/a/", "[[]"],
)
def test_other_globs_stay_as_they_are(glob: str) -> None:
    assert well_formed(glob, field="path") == glob


def test_a_glob_in_the_query_is_held_to_the_same_and_named_as_the_query() -> None:
    read = read_query("heron path:[z-a]")
    with pytest.raises(InvalidFormat) as caught:
        narrowed(Ask("heron path:[z-a]"), read.within)
    assert caught.value.payload()["field"] == "query"

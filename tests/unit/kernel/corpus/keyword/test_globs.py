"""A path filter that no file could fit is an error, not an empty answer."""

import pytest

from pecia.kernel.corpus.keyword.query.globs import validate_glob, validate_search_glob
from pecia.kernel.corpus.search.plan import SearchRequest, merge_filters, parse_strict_query
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
        validate_glob(glob, field="path")
    told = caught.value.payload()
    assert (told["field"], told["got"]) == ("path", glob)
    assert {"expected", "hint"} <= {*told}


@pytest.mark.parametrize(
    "glob",
    ["**", "a/*.md", "[ab]?", "[!a-z]*", "[[]a]", "a]", "[-a]", "[a-]", "[!!]", "/a/", "[[]"],
)
def test_other_globs_stay_as_they_are(glob: str) -> None:
    assert validate_glob(glob, field="path") == glob


def test_a_glob_in_the_query_is_held_to_the_same_and_named_as_the_query() -> None:
    read = parse_strict_query("heron path:[z-a]")
    with pytest.raises(InvalidFormat) as caught:
        merge_filters(SearchRequest("heron path:[z-a]"), read.within)
    assert caught.value.payload()["field"] == "query"


@pytest.mark.parametrize(
    ("glob", "why"),
    [
        ("a" * 513, "513 signs"),
        ("*a" * 480 + "b", "961 signs"),
        ("*a" * 17, "17 wildcards"),
        ("*a" + "?" * 14, "too complex"),
        ("**/a/*/*/*/*/*/*", "too complex"),
        ("**/*" + "a" * 300, "too complex"),
        ("*[!" + "".join(map(chr, range(0x4E00, 0x4F80, 2))) + "]" + "?a?a?", "too complex"),
    ],
)
@pytest.mark.parametrize("field", ["path", "query"])
def test_a_glob_that_takes_the_server_long_is_refused_with_what_is_allowed(
    glob: str, why: str, field: str
) -> None:
    ask = (
        SearchRequest("heron", path=glob)
        if field == "path"
        else SearchRequest(f"heron path:{glob}")
    )
    with pytest.raises(InvalidFormat, match=why) as caught:
        merge_filters(ask, parse_strict_query(ask.query).within)
    answer = caught.value.payload()
    assert (answer["field"], answer["got"]) == (field, glob[:200])
    assert {"expected", "hint"} <= {*answer}


@pytest.mark.parametrize(
    "glob",
    [
        "reports/**",
        "**/*report*2024*.pdf",
        "src/**/tests/**/test_*.py",
        "**/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*.md",
        "????-??-??*.md",
        "a" * 500 + "/**",
        "**/" + "name/" * 18 + "end.md",
    ],
)
def test_globs_that_people_write_are_searched_by(glob: str) -> None:
    assert validate_search_glob(glob, field="path") == glob


def test_several_double_stars_in_a_row_are_one() -> None:
    assert validate_search_glob("**/" * 330 + "x", field="path") == "**/x"
    assert validate_search_glob("a**/**/**/**", field="path") == "a**/**/**"

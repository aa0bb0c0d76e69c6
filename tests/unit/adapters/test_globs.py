"""Patterns of relative paths."""

import pytest

from pecia.adapters.connectors.filesystem.glob import compile_globs
from pecia.kernel.errors import InvalidFormat


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.md", "a.md", True),
        ("*.md", "deep/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "deep/er/a.md", True),
        ("docs/**", "docs/a/b.txt", True),
        ("docs/**", "docs", False),
        ("docs/**/a.md", "docs/a.md", True),
        ("a?.md", "ab.md", True),
        ("a?.md", "a/.md", False),
        ("[ab].md", "b.md", True),
        ("[a-c].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("[!ab].md", "c.md", True),
        ("a[!b]c", "a/c", False),
        ("a+b.md", "aab.md", False),
        ("[].md", "[].md", True),
        ("[^].md", "^.md", True),
        ("*", ".hidden", True),
        ("a\n*", "a\nb", True),
    ],
)
def test_a_pattern_fits_these_paths_and_not_those(pattern: str, path: str, fits: bool) -> None:
    assert bool(compile_globs([pattern], field="path").fullmatch(path)) is fits


def test_no_pattern_fits_nothing() -> None:
    assert not compile_globs([], field="path").fullmatch("")


@pytest.mark.parametrize("pattern", ["", "/a", "a/", "a//b", "../a", "a/./b", "[z-a].md"])
def test_a_pattern_that_means_no_path_names_the_field(pattern: str) -> None:
    with pytest.raises(InvalidFormat) as caught:
        compile_globs([pattern], field="exclude")
    assert caught.value.fields["field"] == "exclude"

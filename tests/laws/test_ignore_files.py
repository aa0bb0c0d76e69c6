"""Ignore files mean what they mean to git, and none of their lines holds up the server."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.features.wiki.core.ignore import IgnoreRules
from tests.laws.test_source_globs import CPU_SECONDS, hostile_globs, hostile_paths, within
from tests.soak import SOAK

tries = settings(
    max_examples=1200 if SOAK else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

# Not `a**/`: git takes it for `a*/` or for `a/**/`, depending on what stands before it.
SEGMENTS = [
    *("a", "b", "ab", "*", "a*", "*b", "*a*", "?", "**", "***", "**a", "a b"),
    *("[ab]", "[!a]", "[^a]", "[a-b]", "[]a]", "[!]]", r"[\]]"),
    *(r"\a", r"\*", r"\!a", r"\#", "#", "a ", r"b\ ", r"a\\ ", "a\t"),
]
NAMES = ["a", "b", "ab", "ba", "a b", "*", "!a", "]", "a ", "b ", "#", "a\\", "a\t"]


@st.composite
def ignore_lines(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3))
    before = draw(st.sampled_from(["", "", "!", "/", "!/"]))
    after = draw(st.sampled_from(["", "", "/", " ", "\r"]))
    return f"{before}{'/'.join(names)}{after}"


files = st.lists(ignore_lines(), min_size=1, max_size=4).map("\n".join)
paths = st.lists(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join),
    min_size=1,
    max_size=60,
)


@pytest.fixture(scope="module")
def ignored_by_git(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., set[str]]:
    """What git leaves out, given the text of an ignore file at the top and of one in `a`."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    (root / "a").mkdir()

    def ignored(top: str, nested: str, asked: list[str]) -> set[str]:
        write(root / ".gitignore", top)
        write(root / "a" / ".gitignore", nested)
        found = subprocess.run(
            ["git", "check-ignore", "--no-index", "-z", "--stdin"],
            cwd=root,
            input="\0".join(asked).encode(),
            capture_output=True,
            check=False,
        )
        assert found.returncode in (0, 1), found.stderr
        return {it for it in found.stdout.decode().split("\0") if it}

    return ignored


def write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


@tries
@example("a/**\n!a/b", "", ["a/b", "a/ab", "a"])
@example("[^a]", "", ["b", "a"])
@example("*\n!*/", "!b", ["a/b", "b"])
@given(files, files, paths)
def test_a_path_is_left_out_when_git_leaves_it_out(
    ignored_by_git: Callable[..., set[str]], top: str, nested: str, asked: list[str]
) -> None:
    rules = IgnoreRules().with_file(top).with_file(nested, "a")
    # `a` is a folder there.
    asked = [it for it in asked if it != "a"]
    ours = {it for it in asked if rules.is_path_matched(it)}
    assert ours == ignored_by_git(top, nested, asked)


@tries
@example("*a" * 14 + "b", "a" * 120 + ".txt")
@example("**/*a/" * 40 + "b", "a/" * 200 + "c")
@example("[" * 1_000_000, "a")
@example("[" * 1000 + r"\]", "a")
@example(" " * 1_000_000 + "a", "a")
@given(hostile_globs(), hostile_paths())
def test_no_line_takes_long_however_many_stars_it_has(line: str, path: str) -> None:
    with within(CPU_SECONDS):
        IgnoreRules().with_file(line).is_path_matched(path)

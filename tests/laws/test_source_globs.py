"""A source's globs mean what they say, and no glob holds up the worker of all tenants."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.adapters.connectors.filesystem.glob import compile_globs
from pecia.kernel.corpus.keyword.query.globs import validate_glob
from pecia.kernel.errors import InvalidFormat
from tests.laws.test_keyword_index import glob_fits
from tests.soak import SOAK

tries = settings(
    max_examples=5000 if SOAK else 300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

# Of processor time, for matches that take some milliseconds.
CPU_SECONDS = 5

SEGMENTS = ["**", "*", "*a", "a*", "*a*", "*a*b", "?", "?*b", "a", "[ab]", "[!a]*", "ab", "*\n*"]
NAMES = ["a", "b", "ab", "ba", "aab", "a\n", "abab"]
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6).map("/".join)
globs = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=5).map("/".join)

PARTS = ["*", "**/", "*a", "**/*a/", "**/a/", "?*", "*[ab]", "*[!b]?", "a", "[ab]*/", "*a/**/"]


@st.composite
def hostile_globs(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4))
    end = draw(st.sampled_from(["b", "x", "**", "[!a]"]))
    return ("".join(parts) * draw(st.integers(1, 60)))[:1000] + end


@st.composite
def hostile_paths(draw: st.DrawFn) -> str:
    name = (draw(st.sampled_from(NAMES)) * draw(st.integers(1, 250)))[:250]
    end = draw(st.sampled_from(["", ".txt", "c"]))
    return "/".join([name] * draw(st.integers(1, 500)))[:4000] + end


@contextmanager
def within(cpu_seconds: int) -> Generator[None]:
    """The engine of `re` looks for signals while it works, so that it can be stopped."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"not done after {cpu_seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@tries
@example(["**/a/**"], "a/a\n/a/b")
@example(["**/*a/*b/**/*a*b"], "a/b/aa/bb/a/aab")
@example(["*a*b", "**/a"], "b/a")
@given(st.lists(globs, max_size=4), paths)
def test_a_path_fits_when_one_of_the_globs_fits_it(patterns: list[str], path: str) -> None:
    wanted = any(glob_fits(it, path) for it in patterns)
    assert bool(compile_globs(patterns, field="include").fullmatch(path)) is wanted


@tries
@example(["*a" * 14 + "b"], "a" * 120 + ".txt")
@example(["**/*a/" * 40 + "b"], "a/" * 200 + "c")
@example(["**/" + "a/**/" * 40 + "b"], "a/" * 200 + "c")
@given(st.lists(hostile_globs(), min_size=1, max_size=8), hostile_paths())
def test_no_glob_takes_long_however_many_stars_it_has(patterns: list[str], path: str) -> None:
    try:
        accepted = [it for it in patterns if validate_glob(it, field="include")]
        fits = compile_globs(accepted, field="include").fullmatch
    except InvalidFormat:
        return
    with within(CPU_SECONDS):
        fits(path)

"""Globs of relative paths: one parser, and a regular expression for each engine. Pure.

`*` and `?` stay within one folder, `**` as a whole segment is any number of folders, `[ab]`,
`[a-z]` and `[!ab]` are sets. A glob is matched against the whole path: `*.md` is the top folder,
`**/*.md` every folder. `docs/**` is everything below `docs`, not `docs` itself. In the shell's
syntax, which ignore files share, a backslash escapes, and `[^ab]` is a negated set too.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TypeAlias


class Wildcard(Enum):
    """`*` and `?`."""

    STAR = "*"
    ANY_CHARACTER = "?"


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """`[a-c]` or `[!a-c]`. A range that runs backwards holds nothing."""

    ranges: tuple[tuple[str, str], ...]
    is_negated: bool

    @property
    def is_backwards(self) -> bool:
        return any(high < low for low, high in self.ranges)


GlobToken: TypeAlias = str | Wildcard | CharacterSet
"""A literal character, a wildcard or a set."""
GlobSegment: TypeAlias = tuple[GlobToken, ...]
Glob: TypeAlias = tuple[GlobSegment | None, ...]
"""Segments between slashes; None is `**`."""


@lru_cache(4096)
def parse_glob(glob: str, *, shell: bool = False) -> Glob:
    """Every text is a glob: a set that is not closed is taken literally."""
    return tuple(
        None if (_SHELL_ANY.fullmatch(it) if shell else it == "**") else parse_segment(it, shell)
        for it in glob.split("/")
    )


def parse_segment(text: str, shell: bool = False) -> GlobSegment:
    """The tokens of one name."""
    return tuple(map(_token, (_SHELL_TOKEN if shell else _TOKEN).finditer(text)))


@lru_cache(256)
def to_postgres_regex(glob: str) -> str:
    """For `~`: PostgreSQL's engine is no backtracking one, so the plain form is quick."""
    return rf"\A{_plain(parse_glob(glob), _POSTGRES)}\Z"


@lru_cache(256)
def to_tantivy_regex(glob: str) -> str | None:
    """For the keyword index, which knows neither anchors nor lookahead.

    None where no path can match: it has no expression for that.
    """
    parsed = parse_glob(glob)
    tokens = (token for segment in parsed for token in segment or ())
    if any(isinstance(it, CharacterSet) and _is_empty(it) for it in tokens):
        return None
    return _plain(parsed, _TANTIVY)


@lru_cache(4096)
def compile_glob(glob: str, *, shell: bool = False) -> re.Pattern[str]:
    """For `fullmatch`."""
    return re.compile(_linear(parse_glob(glob, shell=shell)))


def compile_any(globs: Iterable[str], *, shell: bool = False) -> re.Pattern[str]:
    """One expression for all of them; without any it matches nothing."""
    each = (_linear(parse_glob(it, shell=shell)) for it in globs)
    return re.compile("|".join(rf"(?:{it}\Z)" for it in each) or "(?!)")


@lru_cache(4096)
def compile_name_glob(pattern: str, *, fold: bool = False) -> re.Pattern[str]:
    """The shell's pattern of one text, in which a slash is a character as any other."""
    expression = _linear_segment(parse_segment(pattern, shell=True), _PYTHON_NAME)
    return re.compile(expression, re.IGNORECASE if fold else 0)


def _token(found: re.Match[str]) -> GlobToken:
    if found["members"]:
        ranges = (_SHELL_RANGE if found.re is _SHELL_TOKEN else _RANGE).findall(found["members"])
        pairs = ((low[-1], (high or low)[-1]) for low, high in ranges)
        return CharacterSet(tuple(pairs), bool(found["not"]))
    text = found[0]
    if text.startswith("*"):
        return Wildcard.STAR
    # The last character: the first may be a backslash that escapes it.
    return Wildcard.ANY_CHARACTER if text == "?" else text[-1]


def _is_empty(it: CharacterSet) -> bool:
    return not it.is_negated and all(high < low for low, high in it.ranges)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How an engine writes one character. No character of a name is a slash."""

    literal: Callable[[str], str]
    character_set: str
    """A set of one or more ranges, at `{}`."""
    negated_set: str
    anything: str
    """At least one character, slashes included."""
    any_character: str = "[^/]"

    def token(self, token: GlobToken) -> str:
        if isinstance(token, str):
            return self.literal(token)
        if isinstance(token, Wildcard):
            return self.any_character + ("*" if token is Wildcard.STAR else "")
        if _is_empty(token):
            return "(?!/)/"
        ranges = ((low, high) for low, high in token.ranges if low <= high)
        inside = "".join(f"{self.literal(low)}-{self.literal(high)}" for low, high in ranges)
        if token.is_negated and not inside:
            return self.any_character
        return (self.negated_set if token.is_negated else self.character_set).format(inside)


_POSTGRES = _Dialect(lambda it: rf"\U{ord(it):08X}", "(?!/)[{}]", "[^/{}]", ".+")
_TANTIVY = _Dialect(lambda it: rf"\x{{{ord(it):X}}}", "[{}&&[^/]]", "[^/{}]", "(?s:.+)")
_PYTHON = _Dialect(re.escape, "(?!/)[{}]", "[^/{}]", "(?s:.+)")
_PYTHON_NAME = _Dialect(re.escape, "[{}]", "[^{}]", "(?s:.+)", "(?s:.)")


def _plain(glob: Glob, dialect: _Dialect) -> str:
    *folders, last = (None if it is None else "".join(map(dialect.token, it)) for it in glob)
    head = "".join("(?:[^/]+/)*" if it is None else f"{it}/" for it in folders)
    return head + (dialect.anything if last is None else last)


def _linear(glob: Glob) -> str:
    """For Python, which backtracks: its time must not grow with the number of stars.

    Each run of segments between two `**` is taken where it first fits, and stays there: a later
    place could only leave less of the path to what follows. The last run stands at the end.
    """
    first, *others = _runs(glob)
    if not others:
        return "/".join(first)
    *between, last = others
    head = "".join(f"{it}/" for it in first)
    for run in between:
        head += f"(?>(?:[^/]+/)*?{''.join(f'{it}/' for it in run)})"
    return f"{head}(?:[^/]+/)*{'/'.join(last)}" if last else f"{head}(?s:.+)"


def _runs(glob: Glob) -> Iterator[list[str]]:
    """The segments, cut at each `**`. Several in a row are one."""
    run: list[str] = []
    for at, segment in enumerate(glob):
        if segment is not None:
            run.append(_linear_segment(segment, _PYTHON))
        elif at == 0 or glob[at - 1] is not None:
            yield run
            run = []
    yield run


def _linear_segment(segment: GlobSegment, dialect: _Dialect) -> str:
    """What stands between two stars is taken where it first fits, too."""
    parts = [""]
    for token in segment:
        if token is Wildcard.STAR:
            parts.append("")
        else:
            parts[-1] += dialect.token(token)
    first, *others = parts
    if not others:
        return first
    *between, last = others
    some = f"{dialect.any_character}*"
    return f"{first}{''.join(f'(?>{some}?{it})' for it in between)}{some}{last}"


# The first member may be `]`.
_TOKEN = re.compile(r"\[(?P<not>!?+)(?P<members>.[^\]]*)\]|\*+|.", re.DOTALL)
_RANGE = re.compile(r"(.)(?:-(.))?", re.DOTALL)
_SHELL_TOKEN = re.compile(
    r"\[(?P<not>[!^]?+)(?P<members>(?:\\.|[^\\])(?:\\.|[^\]\\])*)\]|\*+|\\.|.", re.DOTALL
)
_SHELL_RANGE = re.compile(r"(\\.|.)(?:-(\\.|.))?", re.DOTALL)
_SHELL_ANY = re.compile(r"\*\*+")

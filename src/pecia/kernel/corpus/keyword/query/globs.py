"""Globs as a filter may give them: one that nothing could fit is refused. Pure: reads no path.

It is as strict as both readers need, that of the keyword index and that of the database: what it
lets through means the same to them.
"""

import re

from pecia.kernel.corpus.keyword.query.glob_cost import is_costlier_than
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.text.glob import GlobSegment, parse_glob

GLOB_SYNTAX = "`*`, `?`, `**`, and the sets `[ab]`, `[a-z]` and `[!ab]`"
MAX_GLOB_CHARS = 512
MAX_WILDCARDS = 16
# Some ten milliseconds of the process that serves every tenant; a name of a file takes one or two.
MAX_GLOB_COST = 128
HINT = "for the sign `[` itself, write `[[]`"


def validate_glob(glob: str, *, field: str) -> str:
    """The glob as it came, or an error that names the field it came in."""
    fault = _fault(glob)
    if fault is None:
        return glob
    raise InvalidFormat(
        f'Field "{field}": the glob {glob[:200]!r} {fault}',
        field=field,
        got=glob[:200],
        expected=GLOB_SYNTAX,
        hint=HINT,
    )


def validate_search_glob(glob: str, *, field: str) -> str:
    """A glob to search by: well-formed, and quick to look for. Several `**` in a row are one."""
    plain = _REPEATED.sub("**/", validate_glob(glob, field=field))
    wildcards = sum(_count_wildcards(it) for it in parse_glob(plain))
    if len(plain) > MAX_GLOB_CHARS:
        fault, expected = f"is {len(plain)} signs long", f"at most {MAX_GLOB_CHARS} signs"
    elif wildcards > MAX_WILDCARDS:
        fault, expected = f"has {wildcards} wildcards", f"at most {MAX_WILDCARDS} wildcards"
    elif is_costlier_than(MAX_GLOB_COST, plain):
        fault = "is too complex"
        expected = "fewer wildcards, above all fewer `?` and sets behind a `*`, or a shorter end"
    else:
        return plain
    raise InvalidFormat(
        f'Field "{field}": the glob {glob[:200]!r} {fault}, allowed is: {expected}',
        field=field,
        got=glob[:200],
        expected=expected,
        hint="name the folder before the first wildcard, as in `reports/2024/**`",
    )


def _count_wildcards(segment: GlobSegment | None) -> int:
    return 1 if segment is None else sum(not isinstance(it, str) for it in segment)


def _fault(glob: str) -> str | None:
    if "\0" in glob:
        return "holds the sign NUL, which no path does"
    # No set reaches into the next folder.
    sets = (it for part in glob.split("/") for it in _SET.finditer(part))
    return next((fault for it in sets if (fault := _fault_of_set(it["signs"], it["end"]))), None)


def _fault_of_set(signs: str, end: str) -> str | None:
    if not end:
        return "opens a set with `[` and does not close it"
    if not signs:
        return "has an empty set"
    if any(high and high < low for low, high in _RANGE.findall(signs)):
        return "has a range that runs backwards"
    return None


_SET = re.compile(r"\[!?(?P<signs>[^\]]*)(?P<end>\]?)")
_RANGE = re.compile(r"(.)(?:-(.))?", re.DOTALL)
# Only whole segments: in `a**/` it is a star.
_REPEATED = re.compile(r"(?<![^/])(?:\*\*/){2,}")

"""Path patterns: `*`, `?` and `[ab]` within one name, `**` for any number of folders. Pure.

Linear in the length of pattern and path, regardless of the number of stars.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

ANY = "**"
MAX_BRACE_EXPANSIONS = 64


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern split at its slashes; None stands for any number of folders."""

    parts: tuple[re.Pattern[str] | None, ...]

    def matches(self, path: str) -> bool:
        """Whether the whole path matches."""
        return match_parts(self.parts, path.split("/"))


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> Glob:
    """Compile a glob."""
    return Glob(tuple(None if it == ANY else compile_name_pattern(it) for it in pattern.split("/")))


@lru_cache(maxsize=4096)
def compile_name_pattern(pattern: str, *, fold: bool = False) -> re.Pattern[str]:
    """A pattern for one name. A backslash escapes the next character."""
    plain = _ESCAPED.sub(lambda it: f"[{it[1]}]" if it[1] not in "[]^!" else it[1], pattern)
    return re.compile(translate(plain), re.IGNORECASE if fold else 0)


def has_magic(text: str) -> bool:
    """Whether it has wildcards."""
    return bool(_MAGIC.search(text))


def match_parts(parts: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Whether the names match the parts, in order."""
    reached = {0}
    for part in parts:
        if part is None:
            reached = set(range(min(reached, default=len(names) + 1), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and part.match(names[at])}
        if not reached:
            return False
    return len(names) in reached


def expand_braces(pattern: str) -> list[str]:
    """`{a,b}.md` is `a.md` and `b.md`. Braces that expand to too many are taken literally."""
    waiting, done = [pattern], list[str]()
    while waiting:
        it = waiting.pop(0)
        found = _BRACES.search(it)
        if not found:
            done.append(it)
            continue
        head, tail = it[: found.start()], it[found.end() :]
        waiting += [f"{head}{choice}{tail}" for choice in found[1].split(",")]
        if len(waiting) + len(done) > MAX_BRACE_EXPANSIONS:
            return [pattern]
    return done


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MAGIC = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

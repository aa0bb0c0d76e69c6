"""Globs as people write them in a space: with braces, and `specs/**` is the folder too. Pure."""

import re
from functools import lru_cache

from pecia.kernel.text.glob import compile_any

MAX_BRACE_EXPANSIONS = 64


@lru_cache(maxsize=4096)
def compile_folder_glob(pattern: str) -> re.Pattern[str]:
    """For `fullmatch`, in the shell's syntax. `specs/**` matches `specs` itself as well."""
    folder = "" if pattern == "**" else pattern.removesuffix("/**")
    return compile_any((pattern, folder), shell=True)


def has_magic(text: str) -> bool:
    """Whether it has wildcards."""
    return bool(_MAGIC.search(text))


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


_MAGIC = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

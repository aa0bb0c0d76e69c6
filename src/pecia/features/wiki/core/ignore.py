"""Ignore rules of a space: `.gitignore` and `.okignore`, one engine for both. Pure.

The last matching line wins, in whichever file; `!` negates. Everything in an ignored folder is
ignored with it. As git reads them, but for two things: a set that is not closed is literal, and
`[[:alpha:]]` is no class.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pecia.kernel.text.glob import compile_glob

IGNORE_FILES = (".gitignore", ".okignore")
SKIPPED_FOLDERS = frozenset(
    (
        *("node_modules", ".venv", "venv", "env", "__pycache__", "vendor", "dist", "build", "out"),
        *("output", ".next", ".nuxt", ".svelte-kit", ".astro", ".turbo", ".cache"),
        *(".parcel-cache", "coverage"),
    )
)
"""Top-level folders without documents."""
MAX_LINE_CHARS = 1000
"""Longer lines are skipped: anyone who may write to the space chooses what is compiled here."""


@dataclass(frozen=True, slots=True)
class IgnorePattern:
    """One pattern, and the folder of its file: empty, or with a slash at its end."""

    base: str
    expression: re.Pattern[str]
    is_negated: bool
    folders_only: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        if (self.folders_only and not is_folder) or not path.startswith(self.base):
            return False
        return self.expression.fullmatch(path, len(self.base)) is not None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """All rules so far, lowest precedence first."""

    lines: tuple[IgnorePattern, ...] = ()

    def with_file(self, text: str, folder: str = "") -> "IgnoreRules":
        """With the rules of a file in that folder."""
        base = f"{folder}/" if folder else ""
        lines = (it.removesuffix("\r") for it in text.removeprefix("\ufeff").split("\n"))
        found = [line for it in lines if (line := parse_ignore_line(it, base))]
        return replace(self, lines=(*self.lines, *found)) if found else self

    def is_ignored(self, path: str, *, is_folder: bool) -> bool:
        """Whether this entry is ignored, given that its folder is not."""
        return (is_folder and _is_skipped_folder(path)) or self._is_matched(path, is_folder)

    def is_path_ignored(self, path: str) -> bool:
        """Whether a file is ignored, by itself or with a parent folder."""
        return any(self.is_ignored(it, is_folder=it != path) for it in _with_parents(path))

    def is_path_matched(self, path: str) -> bool:
        """The same by the lines alone: folders of tools count as others."""
        return any(self._is_matched(it, it != path) for it in _with_parents(path))

    def _is_matched(self, path: str, is_folder: bool) -> bool:
        for line in reversed(self.lines):
            if line.matches(path, is_folder=is_folder):
                return not line.is_negated
        return False


def parse_ignore_line(text: str, base: str) -> IgnorePattern | None:
    """Parse one line; None where it is blank, a comment, or too long."""
    pattern = _strip_trailing_spaces(text)
    if pattern.startswith("#") or len(pattern) > MAX_LINE_CHARS:
        return None
    is_negated = pattern.startswith("!")
    pattern = pattern[is_negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    if not pattern:
        return None
    glob = pattern.lstrip("/") if "/" in pattern else f"**/{pattern}"
    return IgnorePattern(base, compile_glob(glob, shell=True), is_negated, folders_only)


def _strip_trailing_spaces(line: str) -> str:
    """Without the spaces at its end, unless a backslash escapes the first of them."""
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 and kept != line else kept


def _is_skipped_folder(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".") or name == "node_modules" or path in SKIPPED_FOLDERS


def _with_parents(path: str) -> Iterator[str]:
    """The folders above it from the top, then the path itself."""
    yield from (path[: it.start()] for it in re.finditer("/", path))
    yield path

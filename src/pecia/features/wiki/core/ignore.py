"""Ignore rules of a space: `.gitignore` and `.okignore`, one engine for both. Pure.

The last matching line wins, in whichever file; `!` negates. Everything in an ignored folder is
ignored with it.
"""

import re
from dataclasses import dataclass, replace

from pecia.features.wiki.core.globs import compile_name_pattern, match_parts

IGNORE_FILES = (".gitignore", ".okignore")
SKIPPED_FOLDERS = frozenset(
    (
        *("node_modules", ".venv", "venv", "env", "__pycache__", "vendor", "dist", "build", "out"),
        *("output", ".next", ".nuxt", ".svelte-kit", ".astro", ".turbo", ".cache"),
        *(".parcel-cache", "coverage"),
    )
)
"""Top-level folders without documents."""


@dataclass(frozen=True, slots=True)
class IgnorePattern:
    """One pattern, and the folder of its file."""

    base: tuple[str, ...]
    parts: tuple[re.Pattern[str] | None, ...]
    is_negated: bool
    folders_only: bool

    def matches(self, names: list[str], *, is_folder: bool) -> bool:
        depth = len(self.base)
        if (self.folders_only and not is_folder) or tuple(names[:depth]) != self.base:
            return False
        return len(names) > depth and match_parts(self.parts, names[depth:])


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """All rules so far, lowest precedence first."""

    lines: tuple[IgnorePattern, ...] = ()

    def with_file(self, text: str, folder: str = "") -> "IgnoreRules":
        """With the rules of a file in that folder."""
        base = tuple(folder.split("/")) if folder else ()
        found = [line for it in text.splitlines() if (line := parse_ignore_line(it, base))]
        return replace(self, lines=(*self.lines, *found)) if found else self

    def is_ignored(self, path: str, *, is_folder: bool) -> bool:
        """Whether this entry is ignored, given that its folder is not."""
        names = path.split("/")
        if is_folder and self._is_skipped_folder(names):
            return True
        for line in reversed(self.lines):
            if line.matches(names, is_folder=is_folder):
                return not line.is_negated
        return False

    def _is_skipped_folder(self, names: list[str]) -> bool:
        is_of_tools = len(names) == 1 and names[0] in SKIPPED_FOLDERS
        return is_of_tools or names[-1].startswith(".") or names[-1] == "node_modules"

    def is_path_ignored(self, path: str) -> bool:
        """Whether a file is ignored, by itself or with a parent folder."""
        names = path.split("/")
        folders = ("/".join(names[:depth]) for depth in range(1, len(names)))
        return any(self.is_ignored(it, is_folder=True) for it in folders) or self.is_ignored(
            path, is_folder=False
        )


def parse_ignore_line(text: str, base: tuple[str, ...]) -> IgnorePattern | None:
    """Parse one line; None where it is blank or a comment."""
    pattern = _TRAILING.sub("", text)
    if not pattern or pattern.startswith("#"):
        return None
    takes_back = pattern.startswith("!")
    pattern = pattern[takes_back:]
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    if not pattern:
        return None
    anchored = "/" in pattern
    names = pattern.lstrip("/").split("/") if anchored else ["**", pattern]
    parts = tuple(None if it == "**" else compile_name_pattern(it) for it in names)
    return IgnorePattern(base, parts, takes_back, folders_only)


_TRAILING = re.compile(r"(?<!\\)[ \t]+$")

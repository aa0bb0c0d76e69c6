"""What a space leaves out: the lines of `.gitignore` and `.okignore`, one engine for both. Pure.

The last line that fits decides, whichever file it stands in; `!` takes back. What lies in a folder
that is left out is left out with it.
"""

import re
from dataclasses import dataclass, replace

from pecia.rooms.wiki.globs import fits_parts, name_pattern

FILES = (".gitignore", ".okignore")
SKIPPED = frozenset(
    (
        *("node_modules", ".venv", "venv", "env", "__pycache__", "vendor", "dist", "build", "out"),
        *("output", ".next", ".nuxt", ".svelte-kit", ".astro", ".turbo", ".cache"),
        *(".parcel-cache", "coverage"),
    )
)
"""Folders at the top that hold no documents of ours."""
OURS = frozenset((".git", ".pecia", ".ok"))
"""Never documents, wherever they lie."""


@dataclass(frozen=True, slots=True)
class Line:
    """One pattern, and the folder of the file that it stands in."""

    base: tuple[str, ...]
    parts: tuple[re.Pattern[str] | None, ...]
    takes_back: bool
    folders_only: bool

    def fits(self, names: list[str], *, is_folder: bool) -> bool:
        depth = len(self.base)
        if (self.folders_only and not is_folder) or tuple(names[:depth]) != self.base:
            return False
        return len(names) > depth and fits_parts(self.parts, names[depth:])


@dataclass(frozen=True, slots=True)
class Ignored:
    """All lines so far, the weakest first."""

    lines: tuple[Line, ...] = ()

    def adding(self, text: str, folder: str = "") -> "Ignored":
        """With the lines of a file in that folder."""
        base = tuple(folder.split("/")) if folder else ()
        found = [line for it in text.splitlines() if (line := read_line(it, base))]
        return replace(self, lines=(*self.lines, *found)) if found else self

    def covers(self, path: str, *, is_folder: bool) -> bool:
        """Whether this entry is left out, given that the folder it lies in is not."""
        names = path.split("/")
        if is_folder and self._is_passed(names):
            return True
        for line in reversed(self.lines):
            if line.fits(names, is_folder=is_folder):
                return not line.takes_back
        return False

    def _is_passed(self, names: list[str]) -> bool:
        is_of_tools = len(names) == 1 and names[0] in SKIPPED
        return is_of_tools or names[-1].startswith(".") or names[-1] == "node_modules"

    def covers_below(self, path: str) -> bool:
        """Whether a file is left out, by itself or with a folder above it."""
        names = path.split("/")
        folders = ("/".join(names[:depth]) for depth in range(1, len(names)))
        return any(self.covers(it, is_folder=True) for it in folders) or self.covers(
            path, is_folder=False
        )


def read_line(text: str, base: tuple[str, ...]) -> Line | None:
    """One line; None where it says nothing."""
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
    parts = tuple(None if it == "**" else name_pattern(it) for it in names)
    return Line(base, parts, takes_back, folders_only)


_TRAILING = re.compile(r"(?<!\\)[ \t]+$")

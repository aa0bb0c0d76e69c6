"""The files that a command may read, as a tree with root `/`. Nothing outside it is addressable."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pecia.features.wiki.core.document import decode_any_charset
from pecia.features.wiki.core.globs import compile_folder_glob, has_magic
from pecia.features.wiki.shell.parse import CommandRefused, ShellWord
from pecia.features.wiki.storage import disk
from pecia.kernel.errors import PeciaError

MAX_READ_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file: its size and mtime."""

    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class DiskReader:
    """Files below a folder; links are not followed."""

    root: Path
    generated: Mapping[str, str] = field(default_factory=dict[str, str])
    """Virtual files, with their texts."""

    def __call__(self, path: str) -> bytes:
        if path in self.generated:
            return self.generated[path].encode()
        return disk.read(self.root, path)


class NeedsTimeout(Exception):
    """The operation could take long, and cannot be killed here."""


@dataclass(slots=True)
class FileTree:
    """`files` are all files, by their paths from the root. Folders are derived from them."""

    files: Mapping[str, TreeFile]
    read_bytes: Callable[[str], bytes]
    home: str = ""
    """The real path of the root: a path that begins with it is the same file."""
    paths: Sequence[str] = field(init=False)
    folders: frozenset[str] = field(init=False)
    bytes_left: int = MAX_READ_BYTES
    has_timeout: bool = False
    """Whether this runs where it can be killed."""

    def __post_init__(self) -> None:
        self.paths = sorted(self.files)
        self.folders = frozenset(folder for it in self.files for folder in _parents(it))

    def resolve(self, text: str) -> str:
        """The path of an argument; empty for the root. CommandRefused where it escapes."""
        if self.home and (text == self.home or text.startswith(f"{self.home}/")):
            text = text[len(self.home) :]
        parts: list[str] = []
        for part in text.split("/"):
            if part == "..":
                if not parts:
                    raise CommandRefused(
                        "path_traversal", f"{text[:200]!r} leads outside the space"
                    )
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        return "/".join(parts)

    def is_file(self, path: str) -> bool:
        return path in self.files

    def is_folder(self, path: str) -> bool:
        return not path or path in self.folders

    def read(self, path: str) -> str | None:
        """The text of a file; None if it is gone or unreadable."""
        if path not in self.files:
            return None
        self.bytes_left -= self.files[path].size_bytes
        if self.bytes_left < 0:
            raise CommandRefused(
                "output_overflow", f"the command reads more than {MAX_READ_BYTES} bytes"
            )
        try:
            body = self.read_bytes(path)
        except PeciaError:
            return None
        text = decode_any_charset(body)
        return body.decode(errors="replace") if text is None else text

    def below(self, folder: str) -> Sequence[str]:
        """All files below a folder, in order."""
        if not folder:
            return self.paths
        start = bisect_left(self.paths, f"{folder}/")
        return self.paths[start : bisect_left(self.paths, f"{folder}0")]

    def children(self, folder: str) -> list[str]:
        """The names in a folder, in order."""
        lead = f"{folder}/" if folder else ""
        names = {it[len(lead) :].partition("/")[0] for it in self.below(folder)}
        return sorted(names)

    def walk(self, folder: str) -> Iterator[str]:
        """A folder and everything below it, parents first."""
        yield folder
        for name in self.children(folder):
            path = f"{folder}/{name}" if folder else name
            if path in self.folders:
                yield from self.walk(path)
            else:
                yield path

    def expand(self, word: ShellWord) -> list[str]:
        """The paths that match a glob; the word itself if it is none, or matches nothing."""
        if not has_magic(_strip_escaped(word.pattern)):
            return [word.text]
        lead = "/" if word.pattern.startswith("/") else ""
        wanted = [it for it in word.pattern.split("/") if it not in ("", ".")]
        if ".." in wanted:
            return [word.text]
        fits = compile_folder_glob("/".join(wanted)).fullmatch
        show_hidden = any(it.startswith(".") for it in wanted)
        found = [
            it
            for it in sorted({*self.paths, *self.folders})
            if fits(it) and (show_hidden or "/." not in f"/{it}")
        ]
        dotted = "./" if word.pattern.startswith("./") else ""
        return [f"{lead}{dotted}{it}" for it in found] or [word.text]


def _parents(path: str) -> Iterator[str]:
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def _strip_escaped(pattern: str) -> str:
    """Only the unquoted parts."""
    kept: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 2
            continue
        kept.append(pattern[at])
        at += 1
    return "".join(kept)

"""`ls`: the entries of a folder, one name per line."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pecia.features.wiki.shell.commands.io import CommandIo
from pecia.features.wiki.shell.options import OptionSpec, ParsedOptions, parse_options
from pecia.features.wiki.shell.tree import FileTree

OPTIONS = OptionSpec(
    flags="laA1RhtrSdpFC",
    long={
        "all": "a",
        "almost-all": "A",
        "recursive": "R",
        "human-readable": "h",
        "reverse": "r",
        "directory": "d",
        "classify": "F",
        "color": "1",
    },
)


def ls(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    operands = given.operands or ["."]
    files: list[str] = []
    folders: list[str] = []
    for it in sorted(operands):
        path = io.tree.resolve(it)
        if io.tree.is_folder(path) and not given.has("d"):
            folders.append(it)
        elif io.tree.is_file(path) or io.tree.is_folder(path):
            files.append(it)
        else:
            io.fail(f"cannot access '{it}': No such file or directory", 2)
    _write_rows(io, given, [(it, io.tree.resolve(it)) for it in files])
    titled = len(operands) > 1 or given.has("R")
    for number, it in enumerate(folders):
        if files or number:
            io.write("\n")
        _folder(io, given, it, titled=titled)


def _folder(io: CommandIo, given: ParsedOptions, shown: str, *, titled: bool) -> None:
    path = io.tree.resolve(shown)
    if titled:
        io.write(f"{shown}:\n")
    names = [it for it in io.tree.children(path) if given.has("aA") or not it.startswith(".")]
    rows = [(it, f"{path}/{it}" if path else it) for it in names]
    _write_rows(io, given, [(".", path), ("..", path), *rows] if given.has("a") else rows)
    if given.has("R"):
        for name, below in rows:
            if io.tree.is_folder(below):
                io.write("\n")
                _folder(io, given, f"{shown.rstrip('/')}/{name}", titled=True)


def _write_rows(io: CommandIo, given: ParsedOptions, rows: Sequence[tuple[str, str]]) -> None:
    for name, path in _sort_rows(io.tree, given, rows):
        mark = "/" if given.has("pF") and io.tree.is_folder(path) else ""
        lead = f"{_long(io.tree, path, human=given.has('h'))} " if given.has("l") else ""
        io.write(f"{lead}{name}{mark}\n")


def _sort_rows(
    tree: FileTree, given: ParsedOptions, rows: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    found = sorted(rows)
    if given.has("S"):
        found.sort(key=lambda it: -_size_and_mtime(tree, it[1])[0])
    elif given.has("t"):
        found.sort(key=lambda it: -_size_and_mtime(tree, it[1])[1])
    return found[::-1] if given.has("r") else found


def _long(tree: FileTree, path: str, *, human: bool) -> str:
    size, mtime_ns = _size_and_mtime(tree, path)
    kind = "dr-xr-xr-x" if tree.is_folder(path) else "-r--r--r--"
    at = datetime.fromtimestamp(mtime_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
    return f"{kind} {_human(size) if human else size:>8} {at}"


def _size_and_mtime(tree: FileTree, path: str) -> tuple[int, int]:
    """Size and mtime; for a folder 0 and the latest mtime in it."""
    if path in tree.files:
        it = tree.files[path]
        return it.size_bytes, it.mtime_ns
    return 0, max((tree.files[it].mtime_ns for it in tree.below(path)), default=0)


def _human(size: float) -> str:
    for unit in ("", "K", "M", "G"):
        if size < 1024 or unit == "G":
            return f"{size:.0f}{unit}" if not unit or size >= 10 else f"{size:.1f}{unit}"
        size /= 1024
    raise AssertionError

"""`grep`: lines that match a pattern, with their positions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.wiki.shell.commands.io import CommandIo, lines_of
from pecia.features.wiki.shell.options import OptionSpec, ParsedOptions, UsageError, parse_options
from pecia.features.wiki.shell.regex import GrepPattern, compile_pattern, has_repetition
from pecia.features.wiki.shell.tree import NeedsTimeout
from pecia.kernel.text.glob import compile_name_glob

LONG_LINE_CHARS = 5000

OPTIONS = OptionSpec(
    flags="rRnivclLowxEFGPHhqsIaT",
    values="emABCXYZ",
    numbers="C",
    long={
        "regexp": "e",
        "recursive": "r",
        "dereference-recursive": "R",
        "line-number": "n",
        "ignore-case": "i",
        "invert-match": "v",
        "count": "c",
        "files-with-matches": "l",
        "files-without-match": "L",
        "only-matching": "o",
        "word-regexp": "w",
        "line-regexp": "x",
        "extended-regexp": "E",
        "fixed-strings": "F",
        "basic-regexp": "G",
        "perl-regexp": "P",
        "with-filename": "H",
        "no-filename": "h",
        "quiet": "q",
        "silent": "q",
        "no-messages": "s",
        "max-count": "m",
        "after-context": "A",
        "before-context": "B",
        "context": "C",
        "include": "X",
        "exclude": "Y",
        "exclude-dir": "Z",
        "color": "a",
        "colour": "a",
        "text": "a",
    },
)
SKIPPED_FOLDERS = frozenset(
    (
        *("node_modules", ".git", "dist", "build", ".next", ".turbo", ".nuxt", "coverage"),
        *(".cache", ".parcel-cache", ".vercel", ".ok", ".pecia", ".claude"),
    )
)
"""Folders skipped in a recursive search, unless named explicitly."""


@dataclass(frozen=True, slots=True)
class _Search:
    given: ParsedOptions
    pattern: re.Pattern[str]
    named: bool
    before: int
    after: int
    most: int
    longest: int
    """Longer lines are refused for this pattern, where it cannot be killed."""


def parse_grep(arguments: list[str]) -> tuple[GrepPattern, ParsedOptions]:
    """The pattern, and the remaining options."""
    given = parse_options(arguments, OPTIONS)
    operands = list(given.operands)
    patterns = list(given.values.get("e", ()))
    if not patterns:
        if not operands:
            raise UsageError("no pattern was given")
        patterns.append(operands.pop(0))
    kind = next((name for letter, name in _KINDS if given.has(letter)), "basic")
    looked = GrepPattern(tuple(patterns), kind, given.has("i"), given.has("w"), given.has("x"))
    return looked, ParsedOptions(given.flags, given.values, operands)


def grep(io: CommandIo, arguments: list[str]) -> None:
    looked, given = parse_grep(arguments)
    context = given.number("C", 0)
    recursive = given.has("rR")
    operands = list(given.operands) or (["."] if recursive else [])
    named = not given.has("h") and (recursive or len(operands) > 1 or given.has("H"))
    search = _Search(
        given,
        compile_pattern(looked),
        named,
        given.number("B", context),
        given.number("A", context),
        given.number("m", 1 << 60),
        LONG_LINE_CHARS if has_repetition(looked) and not io.tree.has_timeout else 1 << 60,
    )
    quiet, io.code = given.has("q"), 1
    found_any = False
    for shown, text in _texts(io, given, operands, recursive=recursive):
        if _search_file(io, search, shown, text):
            found_any = True
            if quiet:
                break
    if given.has("s"):
        io.err.clear()
    io.code = 2 if io.err and not found_any else 0 if found_any else 1


def _texts(
    io: CommandIo, given: ParsedOptions, operands: list[str], *, recursive: bool
) -> Iterator[tuple[str, str]]:
    if not recursive:
        for shown, text in io.inputs(operands):
            if not shown or _is_included(given, shown.rpartition("/")[2]):
                yield shown or "(standard input)", text
        return
    for it in operands:
        path = io.tree.resolve(it)
        if not io.tree.is_folder(path):
            text = io.text(it)
            if text is not None:
                yield it, text
            continue
        lead = "" if it in (".", "./", "/", "") else it.rstrip("/")
        for file in io.tree.below(path):
            below = file[len(path) + 1 :] if path else file
            if _is_entered(given, below):
                text = io.tree.read(file)
                if text is not None:
                    yield f"{lead}/{below}" if lead else below, text


def _is_entered(given: ParsedOptions, path: str) -> bool:
    *folders, leaf = path.split("/")
    own = given.values.get("Z")
    if own:
        fits = [compile_name_glob(it.strip("/")) for it in own]
        if any(it.fullmatch(folder) for folder in folders for it in fits):
            return False
    elif not SKIPPED_FOLDERS.isdisjoint(folders):
        return False
    return _is_included(given, leaf)


def _is_included(given: ParsedOptions, name: str) -> bool:
    included, excluded = given.values.get("X", ()), given.values.get("Y", ())
    if any(compile_name_glob(it).fullmatch(name) for it in excluded):
        return False
    return not included or any(compile_name_glob(it).fullmatch(name) for it in included)


def _search_file(io: CommandIo, search: _Search, shown: str, text: str) -> bool:
    """Write the matches of one file; whether there are any."""
    given = search.given
    lines = lines_of(text)
    hits: list[int] = []
    for at, line in enumerate(lines):
        if len(hits) >= search.most:
            break
        if len(line) > search.longest:
            raise NeedsTimeout
        if bool(search.pattern.search(line)) != given.has("v"):
            hits.append(at)
            if given.has("qlL"):
                break
    if given.has("q"):
        return bool(hits)
    if given.has("lL"):
        if bool(hits) == given.has("l"):
            io.write(f"{shown}\n")
        return bool(hits)
    if given.has("c"):
        io.write(f"{shown}:{len(hits)}\n" if search.named else f"{len(hits)}\n")
        return bool(hits)
    _lines(io, search, shown, lines, hits)
    return bool(hits)


def _lines(io: CommandIo, search: _Search, shown: str, lines: list[str], hits: list[int]) -> None:
    given = search.given
    if given.has("o"):
        for at in hits if not given.has("v") else ():
            for match in search.pattern.finditer(lines[at]):
                if match[0]:
                    io.write(f"{_line_prefix(search, shown, at, ':')}{match[0]}\n")
        return
    wanted_lines = {*hits}
    last = -1
    for at in _with_context(hits, search, len(lines)):
        if last >= 0 and at > last + 1 and (search.before or search.after):
            io.write("--\n")
        last = at
        io.write(
            f"{_line_prefix(search, shown, at, ':' if at in wanted_lines else '-')}{lines[at]}\n"
        )


def _with_context(hits: list[int], search: _Search, count: int) -> Iterator[int]:
    done = -1
    for hit in hits:
        start = max(done + 1, hit - search.before, 0)
        end = min(hit + search.after, count - 1)
        yield from range(start, end + 1)
        done = max(done, end)


def _line_prefix(search: _Search, shown: str, at: int, mark: str) -> str:
    name = f"{shown}{mark}" if search.named else ""
    return f"{name}{at + 1}{mark}" if search.given.has("n") else name


_KINDS = (("P", "perl"), ("F", "fixed"), ("E", "extended"), ("G", "basic"))

"""`find`: files and folders that pass tests of name, kind, size, age and depth."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pecia.features.wiki.shell.commands.grep import SKIPPED_FOLDERS
from pecia.features.wiki.shell.commands.io import CommandIo
from pecia.features.wiki.shell.options import UsageError, parse_integer
from pecia.features.wiki.shell.regex import GrepPattern, compile_pattern
from pecia.features.wiki.shell.tree import FileTree
from pecia.kernel.text.glob import compile_name_glob

DAY_NS = 86_400 * 1_000_000_000
TAKES_VALUE = frozenset(
    (
        *("-name", "-iname", "-path", "-wholename", "-ipath", "-type", "-size", "-mtime", "-mmin"),
        *("-newer", "-regex", "-iregex"),
    )
)
_UNITS = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class FindEntry:
    """A path as shown, the same from the root, and its depth below the start."""

    shown: str
    path: str
    depth: int


Test: TypeAlias = Callable[[FindEntry], bool]


def find(io: CommandIo, arguments: list[str]) -> None:
    starts, words = _split(arguments)
    asked = _Expression(io, words)
    test = asked.read()
    for start in starts:
        path = io.tree.resolve(start)
        if not (io.tree.is_folder(path) or io.tree.is_file(path)):
            io.fail(f"'{start}': No such file or directory")
            continue
        for it in _walk(io.tree, FindEntry(start, path, 0), asked):
            if it.depth >= asked.least and test(it) and not asked.prints:
                io.write(f"{it.shown}\n")


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    for at, it in enumerate(arguments):
        if it.startswith("-") or it in ("!", "(", ")"):
            return arguments[:at] or ["."], arguments[at:]
    return arguments or ["."], []


def _walk(tree: FileTree, start: FindEntry, asked: "_Expression") -> Iterator[FindEntry]:
    yield start
    if start.depth >= asked.most or not tree.is_folder(start.path) or start.path in asked.skipped:
        return
    for name in tree.children(start.path):
        path = f"{start.path}/{name}" if start.path else name
        if name in SKIPPED_FOLDERS and tree.is_folder(path) and not asked.chooses:
            continue
        yield from _walk(
            tree, FindEntry(f"{start.shown.rstrip('/')}/{name}", path, start.depth + 1), asked
        )


@dataclass(slots=True)
class _Expression:
    """Parses the tests: `or` binds weakest, then `and`, then `!`."""

    io: CommandIo
    words: list[str]
    least: int = 0
    most: int = 1 << 30
    prints: bool = False
    chooses: bool = False
    """Whether the caller's tests exclude folders by path."""
    skipped: set[str] = field(default_factory=set[str])

    def read(self) -> Test:
        self.chooses = bool({"-path", "-wholename", "-prune"} & {*self.words})
        if not self.words:
            return lambda _: True
        test = self._either()
        if self.words:
            raise UsageError(f"unexpected '{self.words[0]}'")
        return test

    def _either(self) -> Test:
        tests = [self._both()]
        while self.words and self.words[0] in ("-o", "-or"):
            self.words.pop(0)
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda it: any(test(it) for test in tests)

    def _both(self) -> Test:
        tests: list[Test] = []
        while self.words and self.words[0] not in ("-o", "-or", ")"):
            if self.words[0] in ("-a", "-and"):
                self.words.pop(0)
                continue
            tests.append(self._one())
        if not tests:
            raise UsageError("a test is missing")
        return lambda it: all(test(it) for test in tests)

    def _one(self) -> Test:
        word = self.words.pop(0)
        if word in ("!", "-not"):
            if not self.words:
                raise UsageError(f"nothing follows '{word}'")
            test = self._one()
            return lambda it: not test(it)
        if word == "(":
            test = self._either()
            if not self.words or self.words.pop(0) != ")":
                raise UsageError("a bracket is never closed")
            return test
        if word in ("-maxdepth", "-mindepth"):
            number = parse_integer(self._value(word), word[1:])
            if word == "-maxdepth":
                self.most = number
            else:
                self.least = number
            return lambda _: True
        return self._plain(word)

    def _plain(self, word: str) -> Test:
        match word:
            case "-print":
                self.prints = True
                return self._print
            case "-prune":
                return self._prune
            case "-empty":
                return self._is_empty
            case "-true":
                return lambda _: True
            case "-false":
                return lambda _: False
            case _ if word in TAKES_VALUE:
                return self._parse_valued(word, self._value(word))
            case _:
                raise UsageError(f"unknown predicate '{word[:50]}'")

    def _parse_valued(self, word: str, value: str) -> Test:
        match word:
            case "-name" | "-iname":
                name = compile_name_glob(value, fold=word == "-iname")
                return lambda it: bool(
                    name.fullmatch(it.shown.rstrip("/").rpartition("/")[2] or it.shown)
                )
            case "-path" | "-wholename" | "-ipath":
                whole = compile_name_glob(value, fold=word == "-ipath")
                return lambda it: bool(whole.fullmatch(it.shown))
            case "-regex" | "-iregex":
                return self._by_regex(value, fold=word == "-iregex")
            case "-type":
                return self._by_type(value)
            case "-size":
                return self._by_size(value)
            case "-newer":
                return self._newer(value)
            case _:
                return self._by_age(value, DAY_NS if word == "-mtime" else 60 * 1_000_000_000)

    def _value(self, word: str) -> str:
        if not self.words:
            raise UsageError(f"missing argument to '{word}'")
        return self.words.pop(0)

    def _print(self, it: FindEntry) -> bool:
        self.io.write(f"{it.shown}\n")
        return True

    def _prune(self, it: FindEntry) -> bool:
        self.skipped.add(it.path)
        return True

    def _is_empty(self, it: FindEntry) -> bool:
        entry = self.io.tree.files.get(it.path)
        return entry is not None and entry.size_bytes == 0

    def _by_type(self, value: str) -> Test:
        kinds = {*value.split(",")}
        if not kinds <= {"f", "d"}:
            raise UsageError(f"unknown argument to -type: {value[:20]}")
        return lambda it: ("d" if self.io.tree.is_folder(it.path) else "f") in kinds

    def _by_regex(self, value: str, *, fold: bool) -> Test:
        pattern = compile_pattern(GrepPattern((value,), "basic", fold, line=True))
        return lambda it: bool(pattern.search(it.shown))

    def _by_size(self, value: str) -> Test:
        found = re.fullmatch(r"([+-]?)(\d{1,15})([cwbkMG]?)", value)
        if found is None:
            raise UsageError(f"invalid -size '{value[:20]}'")
        unit, wanted = _UNITS[found[3]], int(found[2])

        def test(it: FindEntry) -> bool:
            entry = self.io.tree.files.get(it.path)
            return entry is not None and _compare(-(-entry.size_bytes // unit), found[1], wanted)

        return test

    def _by_age(self, value: str, unit_ns: int) -> Test:
        found = re.fullmatch(r"([+-]?)(\d{1,9})", value)
        if found is None:
            raise UsageError(f"invalid age '{value[:20]}'")
        now = time.time_ns()

        def test(it: FindEntry) -> bool:
            entry = self.io.tree.files.get(it.path)
            return entry is not None and _compare(
                (now - entry.mtime_ns) // unit_ns, found[1], int(found[2])
            )

        return test

    def _newer(self, value: str) -> Test:
        other = self.io.tree.files.get(self.io.tree.resolve(value))
        if other is None:
            raise UsageError(f"'{value[:200]}': No such file or directory")

        def test(it: FindEntry) -> bool:
            entry = self.io.tree.files.get(it.path)
            return entry is not None and entry.mtime_ns > other.mtime_ns

        return test


def _compare(value: int, sign: str, wanted: int) -> bool:
    if sign == "+":
        return value > wanted
    return value < wanted if sign == "-" else value == wanted

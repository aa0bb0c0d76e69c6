"""Parses a command line as a shell would; refuses everything that does more than read. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

RefusalCategory: TypeAlias = Literal[
    "unknown_command",
    "write_blocked",
    "shell_construct_blocked",
    "path_traversal",
    "output_overflow",
    "security_invariant_violation",
]
COMMANDS = ("cat", "ls", "grep", "find", "head", "tail", "wc", "sort", "uniq", "cut")

_WRITES = ("|&", ">&", "<&", ">>", ">", "<")
_CONSTRUCTS = ("<<-", "<<", "<(", ">(", "&&", "||", ";;", "&", ";", "(", ")", "\n")
# Longest first, so that `<<` is not taken for two `<`.
_OPERATORS = sorted((*_WRITES, *_CONSTRUCTS, "|"), key=len, reverse=True)
_EXPANSIONS = ("`", "$(", "${", "$'")
_WRITING_FIND = frozenset(
    ("-exec", "-execdir", "-delete", "-fprint", "-fprintf", "-fprint0", "-fls", "-ok", "-okdir")
)
_OUTPUT = ("--output", "--output-file")
# Commands where `-o` is harmless: only-matching, and `or`.
_HARMLESS_O = ("grep", "find")


class CommandRefused(Exception):
    """Why a command line is refused."""

    def __init__(self, category: RefusalCategory, message: str) -> None:
        super().__init__(message)
        self.category: RefusalCategory = category
        self.message = message


@dataclass(slots=True)
class ShellWord:
    """An argument. `pattern` is the same with every quoted special character escaped."""

    text: str = ""
    pattern: str = ""

    def add(self, text: str, *, quoted: bool) -> None:
        self.text += text
        self.pattern += (
            "".join(f"\\{it}" if it in _SPECIAL else it for it in text) if quoted else text
        )


@dataclass(frozen=True, slots=True)
class PipelineStage:
    """One command of a pipeline, with its arguments."""

    name: str
    words: tuple[ShellWord, ...] = field(default=())


def parse(line: str) -> tuple[PipelineStage, ...]:
    """The pipeline, or CommandRefused with its category."""
    stages: list[list[ShellWord]] = [[]]
    for token in _tokens(line.strip()):
        if isinstance(token, ShellWord):
            stages[-1].append(token)
        elif token == "|":
            stages.append([])
        elif token in _WRITES:
            _refuse("write_blocked", f"`{token}` redirects: only pipes are supported")
        else:
            shown = "a line end" if token == "\n" else f"`{token}`"
            _refuse("shell_construct_blocked", f"{shown} is not supported: use commands and `|`")
    if stages == [[]]:
        _refuse("unknown_command", f"the command is empty; available: {', '.join(COMMANDS)}")
    return tuple(_stage(words) for words in stages)


def _stage(words: list[ShellWord]) -> PipelineStage:
    if not words:
        _refuse("shell_construct_blocked", "a stage of the pipeline is empty")
    name, *rest = words
    if name.text not in COMMANDS:
        shown = name.text[:100]
        _refuse("unknown_command", f"unknown command {shown!r}; available: {', '.join(COMMANDS)}")
    for word in words:
        for sign in _EXPANSIONS:
            if sign in word.text:
                _refuse("shell_construct_blocked", f"`{sign}` would run or expand something")
    _require_read_only(name.text, [it.text for it in rest])
    return PipelineStage(name.text, tuple(rest))


def _require_read_only(name: str, arguments: list[str]) -> None:
    for it in arguments:
        if it == "--" and name != "find":
            break
        if name == "find" and it in _WRITING_FIND:
            _refuse("write_blocked", f"find {it} changes files or runs programs")
        if it.partition("=")[0] in _OUTPUT:
            _refuse("write_blocked", f"{name} {it.partition('=')[0]} writes a file")
        if name not in _HARMLESS_O and _is_output_flag(it):
            _refuse("write_blocked", f"{name} -o writes a file")


def _is_output_flag(argument: str) -> bool:
    return argument == "-o" or (argument.startswith("-o") and not argument.startswith("--"))


def _tokens(line: str) -> Iterator[ShellWord | str]:
    """Words, and operators as plain strings."""
    at, word = 0, None
    while at < len(line):
        sign = line[at]
        if sign in " \t\r":
            if word is not None:
                yield word
            word, at = None, at + 1
            continue
        operator = next((it for it in _OPERATORS if line.startswith(it, at)), None)
        if operator is not None:
            if word is not None:
                yield word
            word, at = None, at + len(operator)
            yield operator
            continue
        if sign == "#" and word is None:
            _refuse("shell_construct_blocked", "comments are not supported: quote the `#`")
        word = word or ShellWord()
        at = _read_word_piece(word, line, at)
    if word is not None:
        yield word


def _read_word_piece(word: ShellWord, line: str, at: int) -> int:
    """Consume the next piece of a word; returns the offset after it."""
    sign = line[at]
    if sign == "'":
        end = line.find("'", at + 1)
        if end < 0:
            _refuse("shell_construct_blocked", "unclosed single quote")
        word.add(line[at + 1 : end], quoted=True)
        return end + 1
    if sign == '"':
        return _read_double_quoted(word, line, at + 1)
    if sign == "\\":
        if at + 1 >= len(line):
            _refuse("shell_construct_blocked", "the line ends in a backslash")
        word.add(line[at + 1], quoted=True)
        return at + 2
    if sign == "$" and line[at + 1 : at + 2] == "'":
        _refuse("shell_construct_blocked", "`$'` would run or expand something")
    word.add(sign, quoted=False)
    return at + 1


def _read_double_quoted(word: ShellWord, line: str, at: int) -> int:
    while at < len(line):
        sign = line[at]
        if sign == '"':
            word.add("", quoted=True)
            return at + 1
        if sign == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            word.add(line[at + 1], quoted=True)
            at += 2
            continue
        word.add(sign, quoted=True)
        at += 1
    raise CommandRefused("shell_construct_blocked", "unclosed double quote")


def _refuse(category: RefusalCategory, message: str) -> NoReturn:
    raise CommandRefused(category, message)


_SPECIAL = frozenset("*?[]\\!^")

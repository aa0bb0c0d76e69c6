"""Option parsing, short and long. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class UsageError(Exception):
    """Invalid usage of a command. The message goes to its stderr."""


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """Flags without a value, options with one, and long names for either."""

    flags: str = ""
    values: str = ""
    long: Mapping[str, str] = field(default_factory=dict[str, str])
    """Long names, and the letter of each."""
    numbers: str = ""
    """The letter that `-5` is short for, if any."""


@dataclass(frozen=True, slots=True)
class ParsedOptions:
    flags: frozenset[str]
    values: Mapping[str, Sequence[str]]
    operands: Sequence[str]

    def has(self, letters: str) -> bool:
        return not self.flags.isdisjoint(letters)

    def last(self, letter: str) -> str | None:
        found = self.values.get(letter)
        return found[-1] if found else None

    def number(self, letter: str, default: int) -> int:
        text = self.last(letter)
        return default if text is None else parse_integer(text, letter)


def parse_integer(text: str, letter: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise UsageError(f"invalid number for -{letter}: '{text[:50]}'")
    return int(text)


def parse_options(arguments: Sequence[str], known: OptionSpec) -> ParsedOptions:
    """The parsed options; UsageError for unknown ones."""
    flags: set[str] = set()
    values: dict[str, list[str]] = {}
    operands: list[str] = []
    waiting = list(arguments)
    while waiting:
        it = waiting.pop(0)
        if it == "--":
            operands += waiting
            break
        if it.startswith("--"):
            _long(it, known, waiting, flags, values)
        elif known.numbers and it[:1] == "-" and it[1:].isdigit():
            values.setdefault(known.numbers, []).append(it[1:])
        elif it.startswith("-") and len(it) > 1:
            _short(it[1:], known, waiting, flags, values)
        else:
            operands.append(it)
    return ParsedOptions(frozenset(flags), values, operands)


def _long(
    text: str, known: OptionSpec, waiting: list[str], flags: set[str], values: dict[str, list[str]]
) -> None:
    name, equals, value = text[2:].partition("=")
    letter = known.long.get(name)
    if letter is None:
        raise UsageError(f"unrecognized option '--{name[:50]}'")
    if letter in known.values:
        if not equals and not waiting:
            raise UsageError(f"option '--{name}' requires an argument")
        values.setdefault(letter, []).append(value if equals else waiting.pop(0))
    else:
        flags.add(letter)


def _short(
    letters: str,
    known: OptionSpec,
    waiting: list[str],
    flags: set[str],
    values: dict[str, list[str]],
) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in known.values:
            if not letters and not waiting:
                raise UsageError(f"option requires an argument -- '{letter}'")
            values.setdefault(letter, []).append(letters or waiting.pop(0))
            return
        if letter not in known.flags:
            raise UsageError(f"invalid option -- '{letter}'")
        flags.add(letter)

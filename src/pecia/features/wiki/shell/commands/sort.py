"""`sort`: all lines in order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pecia.features.wiki.shell.commands.io import CommandIo, lines_of
from pecia.features.wiki.shell.options import (
    OptionSpec,
    ParsedOptions,
    UsageError,
    parse_integer,
    parse_options,
)

OPTIONS = OptionSpec(
    flags="rnufhVbgsdi",
    values="kt",
    long={
        "reverse": "r",
        "numeric-sort": "n",
        "unique": "u",
        "ignore-case": "f",
        "human-numeric-sort": "h",
        "version-sort": "V",
        "ignore-leading-blanks": "b",
        "general-numeric-sort": "g",
        "stable": "s",
        "key": "k",
        "field-separator": "t",
        "dictionary-order": "d",
    },
)
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True)
class SortKey:
    """A part of a line, and how it is compared."""

    first: int
    letter: int
    last: int | None
    letters: str


def sort(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    lines = [line for _, text in io.inputs(given.operands) for line in lines_of(text)]
    keys = [_key(it) for it in given.values.get("k", ())]
    separator = given.last("t")
    if separator is not None and len(separator) != 1:
        raise UsageError("the separator must be one character")
    if not given.has("su"):
        # Ties by key are ordered by the whole line.
        lines.sort(reverse=given.has("r"))
    for key in reversed(keys):
        letters = key.letters or _ordering_letters(given)
        lines.sort(
            key=lambda it, key=key, letters=letters: _comparison_key(
                _part(it, key, separator), letters
            ),
            reverse="r" in letters,
        )
    if not keys:
        letters = _ordering_letters(given)
        lines.sort(key=lambda it: _comparison_key(it, letters), reverse=given.has("r"))
    if given.has("u"):
        lines = _deduplicate(lines, given, keys, separator)
    io.write("".join(f"{it}\n" for it in lines))


def _deduplicate(
    lines: Sequence[str], given: ParsedOptions, keys: Sequence[SortKey], separator: str | None
) -> list[str]:
    kept: dict[Any, str] = {}
    for it in lines:
        mark = tuple(
            _comparison_key(_part(it, key, separator), key.letters or _ordering_letters(given))
            for key in keys
        )
        kept.setdefault(mark if keys else _comparison_key(it, _ordering_letters(given)), it)
    return [*kept.values()]


def _ordering_letters(given: ParsedOptions) -> str:
    return "".join(it for it in "rnfhVbgd" if given.has(it))


def _comparison_key(text: str, letters: str) -> Any:
    if "b" in letters or "n" in letters or "h" in letters:
        text = text.lstrip()
    if "n" in letters or "g" in letters:
        found = _NUMBER.match(text)
        return float(found[0]) if found else 0.0
    if "h" in letters:
        found = _SIZE.match(text)
        return float(found[1]) * _SIZES[found[2].upper()] if found else 0.0
    if "d" in letters:
        text = "".join(it for it in text if it.isalnum() or it.isspace())
    if "V" in letters:
        pieces = _DIGITS.split(text)
        return [(it.isdigit(), int(it) if it.isdigit() else 0, it) for it in pieces]
    return text.upper() if "f" in letters else text


def _part(line: str, key: SortKey, separator: str | None) -> str:
    fields = line.split(separator) if separator else _BLANK_FIELDS.findall(line)
    chosen = fields[key.first - 1 : key.last]
    return (separator or "").join(chosen)[key.letter - 1 :]


def _key(text: str) -> SortKey:
    found = _KEY.fullmatch(text)
    if found is None:
        raise UsageError(f"invalid key '{text[:50]}'")
    first = parse_integer(found[1], "k")
    last = parse_integer(found[4], "k") if found[4] else None
    if first < 1 or last == 0:
        raise UsageError(f"invalid key '{text[:50]}'")
    letter = parse_integer(found[2], "k") if found[2] else 1
    return SortKey(first, max(1, letter), last, (found[3] or "") + (found[6] or ""))


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|-?\.\d+")
_SIZE = re.compile(r"(-?\d+(?:\.\d+)?)\s*([KMGTkmgt]?)")
_DIGITS = re.compile(r"(\d+)")
_BLANK_FIELDS = re.compile(r"[ \t]*[^ \t]+")
_KEY = re.compile(
    r"(\d{1,9})(?:\.(\d{1,9}))?([rnfhVbgd]*)(?:,(\d{1,9})(?:\.(\d{1,9}))?([rnfhVbgd]*))?"
)

"""`cut`: parts of every line, by field, character or byte."""

from collections.abc import Sequence

from pecia.features.wiki.shell.commands.io import CommandIo, lines_of
from pecia.features.wiki.shell.options import (
    OptionSpec,
    ParsedOptions,
    UsageError,
    parse_integer,
    parse_options,
)

OPTIONS = OptionSpec(
    flags="sn!",
    values="dfcbO",
    long={
        "delimiter": "d",
        "fields": "f",
        "characters": "c",
        "bytes": "b",
        "only-delimited": "s",
        "complement": "!",
        "output-delimiter": "O",
    },
)
Range = tuple[int, int]


def cut(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    asked = [it for it in "fcb" if given.last(it) is not None]
    if len(asked) != 1:
        raise UsageError("you must specify one list of bytes, characters, or fields")
    ranges = _ranges(given.last(asked[0]) or "")
    delimiter = given.last("d") or "\t"
    if len(delimiter) != 1:
        raise UsageError("the delimiter must be a single character")
    for _, text in io.inputs(given.operands):
        for line in lines_of(text):
            if asked[0] == "f":
                if delimiter in line or not given.has("s"):
                    io.write(f"{_fields(line, delimiter, ranges, given)}\n")
            else:
                io.write(f"{_characters(line, ranges, given, as_bytes=asked[0] == 'b')}\n")


def _fields(line: str, delimiter: str, ranges: Sequence[Range], given: ParsedOptions) -> str:
    if delimiter not in line:
        return line
    parts = line.split(delimiter)
    kept = [it for at, it in enumerate(parts, start=1) if _is_in(at, ranges, given)]
    joint = given.last("O")
    return (delimiter if joint is None else joint).join(kept)


def _characters(line: str, ranges: Sequence[Range], given: ParsedOptions, *, as_bytes: bool) -> str:
    if as_bytes:
        body = bytes(
            it for at, it in enumerate(line.encode(), start=1) if _is_in(at, ranges, given)
        )
        return body.decode(errors="replace")
    return "".join(it for at, it in enumerate(line, start=1) if _is_in(at, ranges, given))


def _is_in(at: int, ranges: Sequence[Range], given: ParsedOptions) -> bool:
    return any(low <= at <= high for low, high in ranges) != given.has("!")


def _ranges(text: str) -> list[Range]:
    found: list[Range] = []
    for it in text.split(","):
        low, dash, high = it.partition("-")
        if not low and not high:
            raise UsageError(f"invalid range '{text[:50]}'")
        start = parse_integer(low, "f") if low else 1
        end = (parse_integer(high, "f") if high else 1 << 60) if dash else start
        if start < 1 or end < start:
            raise UsageError(f"invalid range '{text[:50]}'")
        found.append((start, end))
    return found

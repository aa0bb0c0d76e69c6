"""`cut`: parts of every line, by field, letter or byte."""

from collections.abc import Sequence

from pecia.rooms.wiki.shell.commands.io import Io, lines_of
from pecia.rooms.wiki.shell.options import Given, Known, Misused, read_options, whole_number

KNOWN = Known(
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


def cut(io: Io, arguments: list[str]) -> None:
    given = read_options(arguments, KNOWN)
    asked = [it for it in "fcb" if given.last(it) is not None]
    if len(asked) != 1:
        raise Misused("you must specify one list of bytes, characters, or fields")
    ranges = _ranges(given.last(asked[0]) or "")
    delimiter = given.last("d") or "\t"
    if len(delimiter) != 1:
        raise Misused("the delimiter must be a single character")
    for _, text in io.inputs(given.operands):
        for line in lines_of(text):
            if asked[0] == "f":
                if delimiter in line or not given.has("s"):
                    io.say(f"{_fields(line, delimiter, ranges, given)}\n")
            else:
                io.say(f"{_signs(line, ranges, given, as_bytes=asked[0] == 'b')}\n")


def _fields(line: str, delimiter: str, ranges: Sequence[Range], given: Given) -> str:
    if delimiter not in line:
        return line
    parts = line.split(delimiter)
    kept = [it for at, it in enumerate(parts, start=1) if _is_in(at, ranges, given)]
    joint = given.last("O")
    return (delimiter if joint is None else joint).join(kept)


def _signs(line: str, ranges: Sequence[Range], given: Given, *, as_bytes: bool) -> str:
    if as_bytes:
        body = bytes(
            it for at, it in enumerate(line.encode(), start=1) if _is_in(at, ranges, given)
        )
        return body.decode(errors="replace")
    return "".join(it for at, it in enumerate(line, start=1) if _is_in(at, ranges, given))


def _is_in(at: int, ranges: Sequence[Range], given: Given) -> bool:
    return any(low <= at <= high for low, high in ranges) != given.has("!")


def _ranges(text: str) -> list[Range]:
    found: list[Range] = []
    for it in text.split(","):
        low, dash, high = it.partition("-")
        if not low and not high:
            raise Misused(f"invalid range '{text[:50]}'")
        start = whole_number(low, "f") if low else 1
        end = (whole_number(high, "f") if high else 1 << 60) if dash else start
        if start < 1 or end < start:
            raise Misused(f"invalid range '{text[:50]}'")
        found.append((start, end))
    return found

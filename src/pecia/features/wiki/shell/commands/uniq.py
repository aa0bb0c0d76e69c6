"""`uniq`: adjacent repeated lines, once."""

from itertools import groupby

from pecia.features.wiki.shell.commands.io import CommandIo, lines_of
from pecia.features.wiki.shell.options import OptionSpec, ParsedOptions, parse_options
from pecia.features.wiki.shell.parse import CommandRefused

OPTIONS = OptionSpec(
    flags="cdui",
    values="fsw",
    long={
        "count": "c",
        "repeated": "d",
        "unique": "u",
        "ignore-case": "i",
        "skip-fields": "f",
        "skip-chars": "s",
        "check-chars": "w",
    },
)


def uniq(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    if len(given.operands) > 1:
        raise CommandRefused("write_blocked", "uniq would write to its second file")
    for _, text in io.inputs(given.operands):
        for _, lines in groupby(lines_of(text), key=lambda it: _key(it, given)):
            same = [*lines]
            if (given.has("d") and len(same) == 1) or (given.has("u") and len(same) > 1):
                continue
            lead = f"{len(same):7d} " if given.has("c") else ""
            io.write(f"{lead}{same[0]}\n")


def _key(line: str, given: ParsedOptions) -> str:
    for _ in range(given.number("f", 0)):
        line = line.lstrip(" \t")
        line = line[len(line.split(None, 1)[0]) :] if line else line
    line = line[given.number("s", 0) :]
    line = line[: given.number("w", len(line))]
    return line.casefold() if given.has("i") else line

"""`wc`: counts lines, words, characters and bytes."""

from pecia.features.wiki.shell.commands.io import CommandIo, lines_of
from pecia.features.wiki.shell.options import OptionSpec, ParsedOptions, parse_options

OPTIONS = OptionSpec(
    flags="lwcmL",
    long={"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L"},
)


def wc(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    totals: list[int] = []
    rows = 0
    for shown, text in io.inputs(given.operands):
        counts = _counts(text, given)
        rows += 1
        totals = [a + b for a, b in zip(totals, counts, strict=True)] if totals else counts
        _write_counts(io, counts, shown)
    if rows > 1:
        _write_counts(io, totals, "total")


def _counts(text: str, given: ParsedOptions) -> list[int]:
    asked = given.flags or frozenset("lwc")
    counts = {
        "l": text.count("\n"),
        "w": len(text.split()),
        "m": len(text),
        "c": len(text.encode()),
        "L": max(map(len, lines_of(text)), default=0),
    }
    return [value for letter, value in counts.items() if letter in asked]


def _write_counts(io: CommandIo, counts: list[int], shown: str) -> None:
    numbers = f"{counts[0]}" if len(counts) == 1 else " ".join(f"{it:7d}" for it in counts)
    io.write(f"{numbers} {shown}\n" if shown else f"{numbers}\n")

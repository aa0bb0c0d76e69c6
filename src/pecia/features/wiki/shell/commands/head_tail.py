"""`head` and `tail`: the beginning or the end of files."""

from collections.abc import Iterator

from pecia.features.wiki.shell.commands.io import CommandIo
from pecia.features.wiki.shell.options import (
    OptionSpec,
    ParsedOptions,
    parse_integer,
    parse_options,
)

OPTIONS = OptionSpec(
    flags="qv",
    values="nc",
    numbers="n",
    long={"lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v"},
)
DEFAULT_LINES = 10


def head(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    for text in _with_titles(io, given):
        count, sign = _count(given, "c")
        if count is not None:
            body = text.encode()
            part = body[: len(body) - count] if sign == "-" else body[:count]
            io.write(part.decode(errors="replace"))
            continue
        lines = _split_lines(text)
        count, sign = _count(given, "n")
        wanted = DEFAULT_LINES if count is None else count
        end = max(0, len(lines) - wanted) if sign == "-" else wanted
        io.write("".join(lines[:end]))


def tail(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    for text in _with_titles(io, given):
        count, sign = _count(given, "c")
        if count is not None:
            body = text.encode()
            part = body[max(0, count - 1) :] if sign == "+" else body[max(0, len(body) - count) :]
            io.write(part.decode(errors="replace"))
            continue
        lines = _split_lines(text)
        count, sign = _count(given, "n")
        wanted = DEFAULT_LINES if count is None else count
        start = max(0, wanted - 1) if sign == "+" else max(0, len(lines) - wanted)
        io.write("".join(lines[start:]))


def _with_titles(io: CommandIo, given: ParsedOptions) -> Iterator[str]:
    """Each text, after a title line if there are several."""
    named = (len(given.operands) > 1 or given.has("v")) and not given.has("q")
    for number, (shown, text) in enumerate(io.inputs(given.operands)):
        if named:
            lead = "\n" if number else ""
            io.write(f"{lead}==> {shown or 'standard input'} <==\n")
        yield text


def _count(given: ParsedOptions, letter: str) -> tuple[int | None, str]:
    text = given.last(letter)
    if text is None:
        return None, ""
    sign = text[0] if text[:1] in "+-" and text else ""
    return parse_integer(text.lstrip("+-"), letter), sign


def _split_lines(text: str) -> list[str]:
    """Lines with their line breaks."""
    pieces = text.split("\n")
    return [f"{it}\n" for it in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])

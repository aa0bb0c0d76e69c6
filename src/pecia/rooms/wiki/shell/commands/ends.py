"""`head` and `tail`: the beginning or the end of files."""

from collections.abc import Iterator

from pecia.rooms.wiki.shell.commands.io import Io
from pecia.rooms.wiki.shell.options import Given, Known, read_options, whole_number

KNOWN = Known(
    flags="qv",
    values="nc",
    numbers="n",
    long={"lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v"},
)
DEFAULT = 10


def head(io: Io, arguments: list[str]) -> None:
    given = read_options(arguments, KNOWN)
    for text in _titled(io, given):
        count, sign = _count(given, "c")
        if count is not None:
            body = text.encode()
            part = body[: len(body) - count] if sign == "-" else body[:count]
            io.say(part.decode(errors="replace"))
            continue
        lines = _kept(text)
        count, sign = _count(given, "n")
        wanted = DEFAULT if count is None else count
        end = max(0, len(lines) - wanted) if sign == "-" else wanted
        io.say("".join(lines[:end]))


def tail(io: Io, arguments: list[str]) -> None:
    given = read_options(arguments, KNOWN)
    for text in _titled(io, given):
        count, sign = _count(given, "c")
        if count is not None:
            body = text.encode()
            part = body[max(0, count - 1) :] if sign == "+" else body[max(0, len(body) - count) :]
            io.say(part.decode(errors="replace"))
            continue
        lines = _kept(text)
        count, sign = _count(given, "n")
        wanted = DEFAULT if count is None else count
        start = max(0, wanted - 1) if sign == "+" else max(0, len(lines) - wanted)
        io.say("".join(lines[start:]))


def _titled(io: Io, given: Given) -> Iterator[str]:
    """Each text, after a line that names it where there are several."""
    named = (len(given.operands) > 1 or given.has("v")) and not given.has("q")
    for number, (shown, text) in enumerate(io.inputs(given.operands)):
        if named:
            lead = "\n" if number else ""
            io.say(f"{lead}==> {shown or 'standard input'} <==\n")
        yield text


def _count(given: Given, letter: str) -> tuple[int | None, str]:
    text = given.last(letter)
    if text is None:
        return None, ""
    sign = text[0] if text[:1] in "+-" and text else ""
    return whole_number(text.lstrip("+-"), letter), sign


def _kept(text: str) -> list[str]:
    """Lines with their ends."""
    pieces = text.split("\n")
    return [f"{it}\n" for it in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])

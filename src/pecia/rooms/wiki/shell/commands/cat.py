"""`cat`: files one after the other."""

from pecia.rooms.wiki.shell.commands.io import Io
from pecia.rooms.wiki.shell.options import Known, read_options

KNOWN = Known(
    flags="nbsEATuvet",
    long={"number": "n", "number-nonblank": "b", "squeeze-blank": "s", "show-ends": "E"},
)


def cat(io: Io, arguments: list[str]) -> None:
    given = read_options(arguments, KNOWN)
    number = 0
    was_blank = False
    for _, text in io.inputs(given.operands):
        if not given.has("nbsEATet"):
            io.say(text)
            continue
        for line in _lines(text):
            blank = not line.strip("\r\n")
            if given.has("s") and blank and was_blank:
                continue
            was_blank = blank
            if (given.has("b") and not blank) or (given.has("n") and not given.has("b")):
                number += 1
                io.say(f"{number:6d}\t")
            io.say(_marked(line, ends=given.has("EAe"), tabs=given.has("TAt")))


def _lines(text: str) -> list[str]:
    pieces = text.split("\n")
    return [f"{it}\n" for it in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _marked(line: str, *, ends: bool, tabs: bool) -> str:
    if tabs:
        line = line.replace("\t", "^I")
    return line.replace("\n", "$\n") if ends else line

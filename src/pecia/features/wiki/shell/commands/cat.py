"""`cat`: files one after the other."""

from pecia.features.wiki.shell.commands.io import CommandIo
from pecia.features.wiki.shell.options import OptionSpec, parse_options

OPTIONS = OptionSpec(
    flags="nbsEATuvet",
    long={"number": "n", "number-nonblank": "b", "squeeze-blank": "s", "show-ends": "E"},
)


def cat(io: CommandIo, arguments: list[str]) -> None:
    given = parse_options(arguments, OPTIONS)
    number = 0
    was_blank = False
    for _, text in io.inputs(given.operands):
        if not given.has("nbsEATet"):
            io.write(text)
            continue
        for line in _lines(text):
            blank = not line.strip("\r\n")
            if given.has("s") and blank and was_blank:
                continue
            was_blank = blank
            if (given.has("b") and not blank) or (given.has("n") and not given.has("b")):
                number += 1
                io.write(f"{number:6d}\t")
            io.write(_mark_line(line, ends=given.has("EAe"), tabs=given.has("TAt")))


def _lines(text: str) -> list[str]:
    pieces = text.split("\n")
    return [f"{it}\n" for it in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _mark_line(line: str, *, ends: bool, tabs: bool) -> str:
    if tabs:
        line = line.replace("\t", "^I")
    return line.replace("\n", "$\n") if ends else line

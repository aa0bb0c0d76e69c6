"""A pipeline, run over a tree of files. It can read that tree, and do nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pecia.rooms.wiki.shell.commands.cat import cat
from pecia.rooms.wiki.shell.commands.cut import cut
from pecia.rooms.wiki.shell.commands.ends import head, tail
from pecia.rooms.wiki.shell.commands.find import TAKES_VALUE, find
from pecia.rooms.wiki.shell.commands.grep import grep
from pecia.rooms.wiki.shell.commands.grep import wanted as grep_wanted
from pecia.rooms.wiki.shell.commands.io import Io
from pecia.rooms.wiki.shell.commands.ls import ls
from pecia.rooms.wiki.shell.commands.sort import sort
from pecia.rooms.wiki.shell.commands.uniq import uniq
from pecia.rooms.wiki.shell.commands.wc import wc
from pecia.rooms.wiki.shell.options import Misused
from pecia.rooms.wiki.shell.parse import Stage
from pecia.rooms.wiki.shell.regex import may_take_long
from pecia.rooms.wiki.shell.tree import Tree

RUN: dict[str, Callable[[Io, list[str]], None]] = {
    "cat": cat,
    "cut": cut,
    "find": find,
    "grep": grep,
    "head": head,
    "ls": ls,
    "sort": sort,
    "tail": tail,
    "uniq": uniq,
    "wc": wc,
}


@dataclass(frozen=True, slots=True)
class Ran:
    """What came out at the end. `arguments` are those of every stage, patterns expanded."""

    stdout: str
    stderr: tuple[str, ...]
    code: int
    arguments: tuple[tuple[str, ...], ...]


def run(stages: Sequence[Stage], tree: Tree) -> Ran:
    """Every stage in turn, each fed with what the one before it said."""
    stdin: str | None = None
    stderr: list[str] = []
    expanded: list[tuple[str, ...]] = []
    code = 0
    for stage in stages:
        io = Io(stage.name, tree, stdin)
        arguments = _expanded(stage, tree)
        expanded.append(tuple(arguments))
        try:
            RUN[stage.name](io, arguments)
        except Misused as error:
            io.fail(str(error), 2)
        stdin, code = "".join(io.out), io.code
        stderr += io.err
    return Ran(stdin or "", tuple(stderr), code, tuple(expanded))


def needs_a_leash(stages: Sequence[Stage]) -> bool:
    """Whether a stage matches by a pattern that could take very long on some line."""
    for stage in stages:
        texts = [it.text for it in stage.words]
        if stage.name == "find" and {"-regex", "-iregex"} & {*texts}:
            return True
        if stage.name == "grep":
            try:
                if may_take_long(grep_wanted(texts)[0]):
                    return True
            except Misused:
                continue
    return False


def _expanded(stage: Stage, tree: Tree) -> list[str]:
    found: list[str] = []
    before = ""
    for word in stage.words:
        # A pattern for find to match with, quoted or not, is not for us to expand.
        keeps = stage.name == "find" and (before in TAKES_VALUE or word.text.startswith("-"))
        found += [word.text] if keeps else tree.expand(word)
        before = word.text
    return found

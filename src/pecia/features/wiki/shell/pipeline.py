"""Runs a pipeline over a tree of files. It can only read that tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pecia.features.wiki.shell.commands.cat import cat
from pecia.features.wiki.shell.commands.cut import cut
from pecia.features.wiki.shell.commands.find import TAKES_VALUE, find
from pecia.features.wiki.shell.commands.grep import grep
from pecia.features.wiki.shell.commands.grep import parse_grep as grep_wanted
from pecia.features.wiki.shell.commands.head_tail import head, tail
from pecia.features.wiki.shell.commands.io import CommandIo
from pecia.features.wiki.shell.commands.ls import ls
from pecia.features.wiki.shell.commands.sort import sort
from pecia.features.wiki.shell.commands.uniq import uniq
from pecia.features.wiki.shell.commands.wc import wc
from pecia.features.wiki.shell.options import UsageError
from pecia.features.wiki.shell.parse import PipelineStage
from pecia.features.wiki.shell.regex import may_backtrack
from pecia.features.wiki.shell.tree import FileTree

COMMAND_BY_NAME: dict[str, Callable[[CommandIo, list[str]], None]] = {
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
class PipelineResult:
    """The result. `arguments` are those of every stage, with globs expanded."""

    stdout: str
    stderr: tuple[str, ...]
    code: int
    arguments: tuple[tuple[str, ...], ...]


def run_pipeline(stages: Sequence[PipelineStage], tree: FileTree) -> PipelineResult:
    """Every stage in turn, each fed with the output of the previous one."""
    stdin: str | None = None
    stderr: list[str] = []
    expanded: list[tuple[str, ...]] = []
    code = 0
    for stage in stages:
        io = CommandIo(stage.name, tree, stdin)
        arguments = _expand_arguments(stage, tree)
        expanded.append(tuple(arguments))
        try:
            COMMAND_BY_NAME[stage.name](io, arguments)
        except UsageError as error:
            io.fail(str(error), 2)
        stdin, code = "".join(io.out), io.code
        stderr += io.err
    return PipelineResult(stdin or "", tuple(stderr), code, tuple(expanded))


def needs_timeout(stages: Sequence[PipelineStage]) -> bool:
    """Whether a stage uses a pattern that could take very long on some line."""
    for stage in stages:
        texts = [it.text for it in stage.words]
        if stage.name == "find" and {"-regex", "-iregex"} & {*texts}:
            return True
        if stage.name == "grep":
            try:
                if may_backtrack(grep_wanted(texts)[0]):
                    return True
            except UsageError:
                continue
    return False


def _expand_arguments(stage: PipelineStage, tree: FileTree) -> list[str]:
    found: list[str] = []
    before = ""
    for word in stage.words:
        # Patterns of find are matched by find itself, quoted or not: never expanded here.
        keeps = stage.name == "find" and (before in TAKES_VALUE or word.text.startswith("-"))
        found += [word.text] if keeps else tree.expand(word)
        before = word.text
    return found

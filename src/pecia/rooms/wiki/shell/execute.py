"""Runs a pipeline in a thread, or in a process that can be ended where a pattern may run wild."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import anyio
from anyio import to_process, to_thread

from pecia.rooms.wiki.shell.parse import Category, Refused, Stage, parse
from pecia.rooms.wiki.shell.run import Ran, needs_a_leash, run
from pecia.rooms.wiki.shell.tree import DiskReader, Entry, NeedsLeash, Tree

LEASH_S = 10.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """A refusal, in a form that goes from process to process."""

    category: Category
    message: str


async def execute(
    line: str, reader: DiskReader, files: Mapping[str, Entry], home: str
) -> tuple[tuple[Stage, ...], Ran]:
    """The command line over these files; Refused where it is not to be run."""
    stages = parse(line)
    tree = Tree(dict(files), reader, home)
    if not needs_a_leash(stages):
        try:
            return stages, _ran(await to_thread.run_sync(_work, stages, tree))
        except NeedsLeash:
            pass
    work = partial(_work, stages, replace(tree, leashed=True))
    with anyio.move_on_after(LEASH_S):
        return stages, _ran(await to_process.run_sync(work, cancellable=True))
    raise Refused("shell_construct_blocked", f"the pattern took longer than {LEASH_S:g} s")


def _work(stages: tuple[Stage, ...], tree: Tree) -> Ran | Stopped:
    try:
        return run(stages, tree)
    except Refused as error:
        return Stopped(error.category, error.message)


def _ran(found: Ran | Stopped) -> Ran:
    if isinstance(found, Stopped):
        raise Refused(found.category, found.message)
    return found

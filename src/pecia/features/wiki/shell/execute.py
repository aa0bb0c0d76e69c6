"""Runs a pipeline in a thread, or in a killable process where a pattern may backtrack."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import anyio
from anyio import to_process, to_thread

from pecia.features.wiki.shell.parse import CommandRefused, PipelineStage, RefusalCategory, parse
from pecia.features.wiki.shell.pipeline import PipelineResult, needs_timeout, run_pipeline
from pecia.features.wiki.shell.tree import DiskReader, FileTree, NeedsTimeout, TreeFile

EXEC_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class SerializedRefusal:
    """A refusal that can be pickled."""

    category: RefusalCategory
    message: str


async def execute(
    line: str, reader: DiskReader, files: Mapping[str, TreeFile], home: str
) -> tuple[tuple[PipelineStage, ...], PipelineResult]:
    """Run the command line over these files; CommandRefused where it is not allowed."""
    stages = parse(line)
    tree = FileTree(dict(files), reader, home)
    if not needs_timeout(stages):
        try:
            return stages, _unwrap(await to_thread.run_sync(_run_pipeline, stages, tree))
        except NeedsTimeout:
            pass
    work = partial(_run_pipeline, stages, replace(tree, has_timeout=True))
    with anyio.move_on_after(EXEC_TIMEOUT_S):
        return stages, _unwrap(await to_process.run_sync(work, cancellable=True))
    raise CommandRefused(
        "shell_construct_blocked", f"the pattern took longer than {EXEC_TIMEOUT_S:g} s"
    )


def _run_pipeline(
    stages: tuple[PipelineStage, ...], tree: FileTree
) -> PipelineResult | SerializedRefusal:
    try:
        return run_pipeline(stages, tree)
    except CommandRefused as error:
        return SerializedRefusal(error.category, error.message)


def _unwrap(found: PipelineResult | SerializedRefusal) -> PipelineResult:
    if isinstance(found, SerializedRefusal):
        raise CommandRefused(found.category, found.message)
    return found

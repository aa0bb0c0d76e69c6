"""A progress bar on stderr."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from pecia.interfaces.cli.output.terminal import Terminal

TableProgress: TypeAlias = Callable[[str, int, int], None]


@contextmanager
def progress_bar(terminal: Terminal, unit: str = "tables") -> Generator[TableProgress]:
    """A progress bar on a terminal, nothing in a log."""
    if terminal.as_json or not sys.stderr.isatty():
        yield lambda name, done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(unit, total=None)

        def report(name: str, done: int, of: int) -> None:
            progress.update(task, description=name, completed=done, total=of)

        yield report

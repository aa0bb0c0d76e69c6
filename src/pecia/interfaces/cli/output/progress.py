"""A progress bar on stderr: what is done, how fast, and how long it will take."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pecia.interfaces.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from rich.progress import Progress

ReportCounts: TypeAlias = Callable[[str, int, int | None], None]
"""What is being done, how much of it is done, and how much there is; None while that is unknown."""


@dataclass(slots=True)
class MonotonicProgress:
    """What a bar shows of counts that may shrink, and of totals that may grow: it never goes
    back."""

    fraction: float = 0.0

    def advance(self, done: int, of: int) -> float:
        """How much to show as done."""
        now = min(1.0, done / of) if of > 0 else 1.0
        self.fraction = max(self.fraction, now)
        return self.fraction * of


@contextmanager
def progress_bar(terminal: Terminal, unit: str = "tables") -> Generator[ReportCounts]:
    """A progress bar on a terminal, nothing in a log."""
    if terminal.as_json or not sys.stderr.isatty():
        yield lambda name, done, of: None
        return
    shown = MonotonicProgress()
    with _build_bar(unit) as progress:
        task = progress.add_task("", total=None)

        def report(name: str, done: int, of: int | None) -> None:
            if of is None:
                progress.update(task, description=name)
            else:
                completed = shown.advance(done, of)
                progress.update(task, description=name, completed=completed, total=of)

        yield report


def _build_bar(unit: str) -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Files, rows or memories a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} {unit}/s" if speed else "")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )

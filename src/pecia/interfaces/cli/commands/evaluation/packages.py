"""`pecia eval ckf`: what compiled packages get right, on labelled passages."""

from pathlib import Path

import typer

from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import terminal_of
from pecia.kernel.errors import Json


def packages(
    ctx: typer.Context,
    labels: Path = typer.Argument(help="The folder of labels.jsonl and texts.json."),
    texts: Path = typer.Argument(help="The folder of the labelled texts, NAME.txt each."),
    half: str = typer.Option("development", help="Which half of the texts."),
) -> None:
    """Measure compiled packages on labelled passages: precision, recall, calibration per kind."""
    from pecia.app.evaluation.ckf_kinds import measure_kinds

    found = measure_kinds(labels, texts, half)
    rows: list[Json] = [{"kind": kind, **figures} for kind, figures in found["kinds"].items()]
    terminal_of(ctx).print_result(found, lambda it: show_document(it, {**found, "kinds": rows}))

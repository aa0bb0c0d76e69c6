"""`pecia eval`: search quality, measured on judged collections and questions."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from pecia.interfaces.cli.commands.evaluation.packages import packages
from pecia.interfaces.cli.commands.evaluation.questions import questions
from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import InternalError, InvalidEnum

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

MODES = ("lexical", "hybrid")


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Measure search and compiled packages.")
    group.command()(retrieval)
    group.command()(questions)
    group.command("ckf")(packages)
    app.add_typer(group, name="eval")


def retrieval(
    ctx: typer.Context,
    folder: Path = typer.Argument(help="corpus.jsonl, queries.jsonl and qrels/test.tsv."),
    mode: str = typer.Option("hybrid", help="lexical or hybrid."),
    split: str = typer.Option("test", help="Which file of qrels/ holds the judgements."),
) -> None:
    """Measure search on a folder in the layout of BEIR, in a temporary install."""
    import anyio

    from pecia.kernel.store.cluster import ClusterOptions, remove_cluster

    terminal = terminal_of(ctx)
    if mode not in MODES:
        raise InvalidEnum(f'"mode" must be one of {", ".join(MODES)}', field="mode", got=mode)
    with TemporaryDirectory(prefix="pecia-eval-") as home:
        settings = load_settings(terminal, {"home": home, "mode": "local"})
        try:
            found = anyio.run(_measure, terminal, settings, folder, split, mode)
        finally:
            remove_cluster(Path(home), ClusterOptions().system)
    terminal.print_result(found, lambda it: show_document(it, found))


async def _measure(
    terminal: Terminal, settings: "Settings", folder: Path, split: str, mode: str
) -> dict[str, Any]:
    from pecia.app.app import open_app
    from pecia.app.evaluation.beir import read_collection
    from pecia.app.evaluation.search_quality import REQUEST_CONTEXT, SearchEvaluation
    from pecia.interfaces.cli.server.oidc import make_oidc_fetch
    from pecia.kernel.corpus.search.search import SearchMode
    from pecia.kernel.identity.caller import Caller

    collection = read_collection(folder, split)
    told = _ProgressReporter(terminal)
    fetch = make_oidc_fetch(settings.kernel)
    async with open_app(settings, fetch=fetch, report=terminal.info) as app:
        owner = await app.authenticate(None, REQUEST_CONTEXT)
        if not isinstance(owner, Caller):
            raise InternalError("a scratch install has no owner")
        measured = await SearchEvaluation(app, owner, told.step).run(collection, SearchMode(mode))
    counts = {"documents": len(collection.documents), "queries": len(collection.queries)}
    return {"collection": folder.name, "split": split, "mode": mode, **counts, **measured}


class _ProgressReporter:
    """Prints progress, once per step and per tenth of it."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._last = ("", -1)

    def step(self, what: str, done: int, of: int) -> None:
        now = (what, 10 * done // of if of else 0)
        if now != self._last:
            self._last = now
            self._terminal.info(f"{what}: {done} of {of}")

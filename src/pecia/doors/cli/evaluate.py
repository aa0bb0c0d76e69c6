"""`pecia eval`: how good search is, measured on collections and questions that people judged."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.questions import questions
from pecia.doors.cli.render import show
from pecia.doors.cli.terminal import Terminal, terminal_of
from pecia.kernel.errors import InternalError, InvalidEnum

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

MODES = ("lexical", "hybrid")


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Measure search on judged collections.")
    group.command()(retrieval)
    group.command()(questions)
    app.add_typer(group, name="eval")


def retrieval(
    ctx: typer.Context,
    folder: Path = typer.Argument(help="corpus.jsonl, queries.jsonl and qrels/test.tsv."),
    mode: str = typer.Option("hybrid", help="lexical or hybrid."),
    split: str = typer.Option("test", help="Which file of qrels/ holds the judgements."),
) -> None:
    """Measure search on a folder in the layout of BEIR, in a Pecia made for it and thrown away."""
    import anyio

    from pecia.kernel.store.cluster import Options, remove_cluster

    terminal = terminal_of(ctx)
    if mode not in MODES:
        raise InvalidEnum(f'"mode" must be one of {", ".join(MODES)}', field="mode", got=mode)
    with TemporaryDirectory(prefix="pecia-eval-") as home:
        settings = settled(terminal, {"home": home, "mode": "local"})
        try:
            found = anyio.run(_measured, terminal, settings, folder, split, mode)
        finally:
            remove_cluster(Path(home), Options().system)
    terminal.give(found, lambda it: show(it, found))


async def _measured(
    terminal: Terminal, settings: "Settings", folder: Path, split: str, mode: str
) -> dict[str, Any]:
    from pecia.adapters.beir import read_collection
    from pecia.app.app import open_app
    from pecia.app.evaluation import VISIT, Evaluation
    from pecia.doors.cli.opening import fetching
    from pecia.kernel.corpus.search import Mode
    from pecia.kernel.identity.caller import Caller

    collection = read_collection(folder, split)
    told = _Told(terminal)
    fetch = fetching(settings.kernel)
    async with open_app(settings, fetch=fetch, report=terminal.say) as app:
        owner = await app.admit(None, VISIT)
        if not isinstance(owner, Caller):
            raise InternalError("a scratch install has no owner")
        measured = await Evaluation(app, owner, told.step).run(collection, Mode(mode))
    counts = {"documents": len(collection.documents), "queries": len(collection.queries)}
    return {"collection": folder.name, "split": split, "mode": mode, **counts, **measured}


class _Told:
    """Says what is being done, once for each step and each tenth of it."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._last = ("", -1)

    def step(self, what: str, done: int, of: int) -> None:
        now = (what, 10 * done // of if of else 0)
        if now != self._last:
            self._last = now
            self._terminal.say(f"{what}: {done} of {of}")

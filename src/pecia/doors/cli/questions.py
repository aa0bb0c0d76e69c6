"""`pecia eval questions`: questions whose pages are known, put through the tools of agents."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.reach import Tools, reached
from pecia.doors.cli.render import show
from pecia.doors.cli.terminal import Terminal, terminal_of
from pecia.kernel.errors import InvalidEnum, Json, NotFound

if TYPE_CHECKING:
    from pecia.app.questions import Asked, Lake, Talked, Tool
    from pecia.kernel.corpus.questions import Question
    from pecia.kernel.settings.load import Settings

MODES = ("lexical", "hybrid", "agentic")
EVERY = 10
"""After so many questions it is said how far it is."""


def questions(
    ctx: typer.Context,
    file: Path = typer.Argument(help="Questions with their document and pages, as JSON lines."),
    source: str = typer.Option(..., help="The source that holds the documents."),
    mode: str = typer.Option("hybrid", help="lexical, hybrid or agentic."),
    turns: int = typer.Option(8, min=1, max=50, help="Steps a model may take, when agentic."),
) -> None:
    """Put questions to a source through the tools that agents use; say which pages were found.

    Agentic: the configured chat model searches, reads and answers by itself.
    """
    import anyio

    from pecia.kernel.corpus.questions import read_questions

    terminal = terminal_of(ctx)
    if mode not in MODES:
        allowed: list[Json] = [*MODES]
        message = f'"mode" must be one of {", ".join(MODES)}'
        raise InvalidEnum(message, field="mode", got=mode, allowed=allowed)
    every = read_questions(_text(file))
    settings = settled(terminal)
    with reached(terminal, settings) as tools:
        asking = _Asking(terminal, settings, tools, source, turns)
        found = anyio.run(asking.run, every, mode)
    found = {"file": file.name, "source": source, "mode": mode, "questions": len(every), **found}
    brief = {name: value for name, value in found.items() if name != "each"}
    terminal.give(found, lambda it: show(it, brief))


@dataclass(frozen=True, slots=True)
class _Asking:
    """Where questions are put, and who is told how far it is."""

    terminal: Terminal
    settings: "Settings"
    tools: Tools
    source_id: str
    turns: int

    async def run(self, every: "Sequence[Question]", mode: str) -> dict[str, Any]:
        from pecia.app.questions import Lake

        lake = Lake(_calling(self.tools), self.source_id)
        if mode == "agentic":
            return await self._by_model(lake, every)
        return await self._by_search(lake, every, mode)

    async def _by_search(
        self, lake: "Lake", every: "Sequence[Question]", mode: str
    ) -> dict[str, Any]:
        from pecia.app.questions import ask_once
        from pecia.kernel.corpus.questions import shares

        found: list[Asked] = []
        for question in every:
            found.append(await ask_once(lake, question, mode))
            self._tell(len(found), len(every))
        degraded = dict.fromkeys(why for it in found for why in it.degraded)
        each = [asdict(it.found) for it in found]
        return {**shares([it.found for it in found]), "degraded": [*degraded], "each": each}

    async def _by_model(self, lake: "Lake", every: "Sequence[Question]") -> dict[str, Any]:
        from pecia.app.questions import Talk, configured_model, talked
        from pecia.rooms.ckf.settings import CkfSettings

        model, key = configured_model(self.settings.part(CkfSettings))
        found: list[Talked] = []
        for question in every:
            found.append(await Talk(lake, model, key, self.turns).answer(question))
            self._tell(len(found), len(every))
        each = [asdict(it) for it in found]
        return {"model": model.name, **talked(found), "each": each}

    def _tell(self, done: int, of: int) -> None:
        if done % EVERY == 0 or done == of:
            self.terminal.say(f"asked: {done} of {of}")


def _calling(tools: Tools) -> "Tool":
    """The tools of the lake by their bare names, each call in a thread."""
    from anyio.to_thread import run_sync

    known = {it.name: it for it in tools.listing() if it.room == "lake"}

    async def call(name: str, arguments: Mapping[str, Json]) -> Json:
        return await run_sync(tools.call, known[name], arguments)

    return call


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{file} cannot be read: {error}", field="file") from None

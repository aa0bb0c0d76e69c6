"""`pecia eval questions`: questions with known pages, run through the tools of agents."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.settings import load_settings
from pecia.interfaces.cli.tools.backend import ToolBackend, open_backend
from pecia.kernel.errors import InvalidEnum, Json, NotFound

if TYPE_CHECKING:
    from pecia.app.evaluation.questions import AgentAnswer, CallTool, LakeClient, QuestionResult
    from pecia.kernel.corpus.evaluation.questions import EvaluationQuestion
    from pecia.kernel.settings.load import Settings

MODES = ("lexical", "hybrid", "agentic")
REPORT_EVERY = 10
"""Progress is printed after this many questions."""


def questions(
    ctx: typer.Context,
    file: Path = typer.Argument(help="Questions with their document and pages, as JSON lines."),
    source: str = typer.Option(..., help="The source that holds the documents."),
    mode: str = typer.Option("hybrid", help="lexical, hybrid or agentic."),
    turns: int = typer.Option(8, min=1, max=50, help="Steps a model may take, when agentic."),
) -> None:
    """Run questions on a source through the tools that agents use; report which pages were found.

    Agentic: the configured chat model searches, reads and answers by itself.
    """
    import anyio

    from pecia.kernel.corpus.evaluation.questions import read_questions

    terminal = terminal_of(ctx)
    if mode not in MODES:
        allowed: list[Json] = [*MODES]
        message = f'"mode" must be one of {", ".join(MODES)}'
        raise InvalidEnum(message, field="mode", got=mode, allowed=allowed)
    every = read_questions(_read_text(file))
    settings = load_settings(terminal)
    with open_backend(terminal) as tools:
        asking = _QuestionRun(terminal, settings, tools, source, turns)
        found = anyio.run(asking.run, every, mode)
    found = {"file": file.name, "source": source, "mode": mode, "questions": len(every), **found}
    brief = {name: value for name, value in found.items() if name != "each"}
    terminal.print_result(found, lambda it: show_document(it, brief))


@dataclass(frozen=True, slots=True)
class _QuestionRun:
    """Runs the questions, and reports progress."""

    terminal: Terminal
    settings: "Settings"
    tools: ToolBackend
    source_id: str
    turns: int

    async def run(self, every: "Sequence[EvaluationQuestion]", mode: str) -> dict[str, Any]:
        from pecia.app.evaluation.questions import LakeClient

        lake = LakeClient(_lake_caller(self.tools), self.source_id)
        if mode == "agentic":
            return await self._ask_by_model(lake, every)
        return await self._ask_by_search(lake, every, mode)

    async def _ask_by_search(
        self, lake: "LakeClient", every: "Sequence[EvaluationQuestion]", mode: str
    ) -> dict[str, Any]:
        from pecia.app.evaluation.questions import search_once
        from pecia.kernel.corpus.evaluation.questions import compute_hit_rates

        found: list[QuestionResult] = []
        for question in every:
            found.append(await search_once(lake, question, mode))
            self._report_progress(len(found), len(every))
        degraded = dict.fromkeys(why for it in found for why in it.degraded)
        each = [asdict(it.found) for it in found]
        return {
            **compute_hit_rates([it.found for it in found]),
            "degraded": [*degraded],
            "each": each,
        }

    async def _ask_by_model(
        self, lake: "LakeClient", every: "Sequence[EvaluationQuestion]"
    ) -> dict[str, Any]:
        from pecia.app.evaluation.questions import (
            AgentLoop,
            load_configured_model,
            summarize_answers,
        )
        from pecia.features.ckf.settings import CkfSettings

        model, key = load_configured_model(self.settings.part(CkfSettings))
        found: list[AgentAnswer] = []
        for question in every:
            found.append(await AgentLoop(lake, model, key, self.turns).answer(question))
            self._report_progress(len(found), len(every))
        each = [asdict(it) for it in found]
        return {"model": model.name, **summarize_answers(found), "each": each}

    def _report_progress(self, done: int, of: int) -> None:
        if done % REPORT_EVERY == 0 or done == of:
            self.terminal.info(f"asked: {done} of {of}")


def _lake_caller(tools: ToolBackend) -> "CallTool":
    """The lake tools by their bare names, each call in a thread."""
    from anyio.to_thread import run_sync

    known = {it.name: it for it in tools.list_tools() if it.feature == "lake"}

    async def call(name: str, arguments: Mapping[str, Json]) -> Json:
        return await run_sync(tools.call, known[name], arguments)

    return call


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{file} cannot be read: {error}", field="file") from None

"""`pecia source crawl`: starts the crawl of a source and, with --wait, shows its progress."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import typer

from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, Terminal, terminal_of
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.interfaces.cli.settings import load_settings
from pecia.interfaces.cli.tools.backend import ToolBackend, open_backend, require_tools
from pecia.kernel.errors import Json, Unavailable

if TYPE_CHECKING:
    from rich.progress import Progress

POLL_INTERVAL_S = 0.3
NO_WORKER_S = 3.0
NO_WORKER = (
    "no worker runs, so the crawl waits for one. Start one: pecia worker; in a local install: "
    "pecia stop, then pecia start FOLDER. Ctrl-C ends this command, the crawl stays requested"
)
RUNNING_STATES = ("waiting", "listing", "reading")


def add_to(group: typer.Typer) -> None:
    group.command()(crawl)


def crawl(
    ctx: typer.Context,
    source_id: str,
    wait: bool = typer.Option(False, help="Show progress, and return when it is done."),
) -> None:
    """Crawl a source now: find what is new, changed or gone. With --wait it exits 1 when that
    failed, or when files of the source cannot be read."""
    terminal = terminal_of(ctx)
    settings = load_settings(terminal)
    require_tools(terminal)
    if (
        wait
        and find_running_server(settings.kernel.home) is None
        and settings.kernel.mode == "local"
    ):
        raise Unavailable(
            "no server is running here, so no worker would crawl it", hint="pecia start FOLDER"
        )
    with open_backend(terminal) as tools:
        found = _call_tool(tools, "admin.crawl_source", source_id)
        if wait:
            found = _wait_for_crawl(terminal, tools, source_id, found)
    terminal.print_result(cast(Json, found), lambda it: show_document(it, cast(Json, found)))
    if found["problem"]:
        terminal.info(f"the crawl of {source_id!r} {found['state']}: {found['problem']}")
    if found["note"]:
        terminal.info(str(found["note"]))
    if wait and (found["state"] != "done" or found["unread"]):
        raise typer.Exit(EXIT_FAILED)


def _call_tool(tools: ToolBackend, name: str, source_id: str) -> Mapping[str, Any]:
    answer = tools.call(tools.find_tool(name), {"source_id": source_id})
    return cast(Mapping[str, Any], answer)


def _wait_for_crawl(
    terminal: Terminal, tools: ToolBackend, source_id: str, found: Mapping[str, Any]
) -> Mapping[str, Any]:
    is_told, unserved = False, 0
    with _progress_bar(terminal) as bar:
        task = bar.add_task(source_id, total=None) if bar else None
        while found["state"] in RUNNING_STATES:
            time.sleep(POLL_INTERVAL_S)
            found = _call_tool(tools, "admin.crawl_status", source_id)
            # A worker that is just starting is waited for.
            unserved = unserved + 1 if found["condition"] == "no_worker" else 0
            if unserved * POLL_INTERVAL_S >= NO_WORKER_S and not is_told:
                terminal.info(NO_WORKER)
                is_told = True
            if bar and task is not None:
                total = found["added"] + found["changed"] if found["listed_at"] else None
                bar.update(
                    task,
                    completed=found["read"],
                    total=total,
                    description=_describe_progress(found),
                )
    return found


def _progress_bar(terminal: Terminal) -> "AbstractContextManager[Progress | None]":
    if terminal.as_json or not terminal.is_terminal:
        return nullcontext(None)
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)


def _describe_progress(found: Mapping[str, Any]) -> str:
    return (
        f"{found['state']}: {found['seen']} seen, {found['added']} new, {found['changed']} changed,"
        f" {found['gone']} gone, {found['unread']} not readable"
        f"{_describe_underway(found['underway'])}"
    )


def _describe_underway(underway: Sequence[Mapping[str, Any]]) -> str:
    """The slow files, each with its progress."""
    return "".join(f"; {it['key']}: page {it['pages_read']} of {it['pages']}" for it in underway)

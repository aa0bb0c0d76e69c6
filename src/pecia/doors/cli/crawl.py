"""`pecia source crawl`: has a source crawled and, if asked to, shows how far that is."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.find import running
from pecia.doors.cli.reach import Tools, found_tool, reached, require_tools
from pecia.doors.cli.render import show
from pecia.doors.cli.terminal import FAILED, Terminal, terminal_of
from pecia.kernel.errors import Json, Unavailable

if TYPE_CHECKING:
    from rich.progress import Progress

LOOK_EVERY_S = 0.3
RUNNING = ("waiting", "listing", "reading")


def add_to(group: typer.Typer) -> None:
    group.command()(crawl)


def crawl(
    ctx: typer.Context,
    source_id: str,
    wait: bool = typer.Option(False, help="Show how far it is, and return when it is over."),
) -> None:
    """Crawl a source now: find what is new, changed or gone. With --wait it exits 1 when that
    failed, or when files of the source cannot be read."""
    terminal = terminal_of(ctx)
    settings = settled(terminal)
    require_tools(settings)
    if wait and running(settings.kernel.home) is None and settings.kernel.mode == "local":
        raise Unavailable("nobody would crawl it: no server runs here", hint="pecia start FOLDER")
    with reached(terminal, settings) as tools:
        found = _asked(tools, "office.crawl_source", source_id)
        if wait:
            found = _followed(terminal, tools, source_id, found)
    terminal.give(cast(Json, found), lambda it: show(it, cast(Json, found)))
    if found["note"]:
        terminal.say(str(found["note"]))
    if wait and (found["state"] != "done" or found["unread"]):
        raise typer.Exit(FAILED)


def _asked(tools: Tools, name: str, source_id: str) -> Mapping[str, Any]:
    answer = tools.call(found_tool(tools.listing(), name), {"source_id": source_id})
    return cast(Mapping[str, Any], answer)


def _followed(
    terminal: Terminal, tools: Tools, source_id: str, found: Mapping[str, Any]
) -> Mapping[str, Any]:
    with _bar(terminal) as bar:
        task = bar.add_task(source_id, total=None) if bar else None
        while found["state"] in RUNNING:
            time.sleep(LOOK_EVERY_S)
            found = _asked(tools, "office.crawl_status", source_id)
            if bar and task is not None:
                total = found["added"] + found["changed"] if found["listed_at"] else None
                bar.update(task, completed=found["read"], total=total, description=_said(found))
    return found


def _bar(terminal: Terminal) -> "AbstractContextManager[Progress | None]":
    if terminal.as_json or not terminal.is_terminal:
        return nullcontext(None)
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)


def _said(found: Mapping[str, Any]) -> str:
    return (
        f"{found['state']}: {found['seen']} seen, {found['added']} new, {found['changed']} changed,"
        f" {found['gone']} gone, {found['unread']} not readable{_long(found['underway'])}"
    )


def _long(underway: Sequence[Mapping[str, Any]]) -> str:
    """The files that take long, each with how far it is."""
    return "".join(f"; {it['key']}: page {it['pages_read']} of {it['pages']}" for it in underway)

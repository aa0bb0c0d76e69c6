"""`pecia source crawl`: starts the crawl of a source and, with --wait, shows its progress."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import typer

from pecia.interfaces.cli.output.progress import progress_bar
from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, Terminal, terminal_of
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.interfaces.cli.settings import load_settings
from pecia.interfaces.cli.tools.backend import ToolBackend, open_backend, require_tools
from pecia.kernel.errors import Json, Unavailable

POLL_INTERVAL_S = 0.3
NO_WORKER_S = 3.0
INDEX_STALL_S = 15.0
WAITS_FOR_INDEX = "the files are read; waiting until keyword search finds them"
INDEX_STALLED = (
    "the keyword index does not move: pecia index status and pecia doctor say more. Ctrl-C ends "
    "this command, the files stay read"
)
NO_WORKER = (
    "no worker runs, so the crawl waits for one. Start one: pecia worker{config}; in a local "
    "install: pecia stop, then pecia start FOLDER. Ctrl-C ends this command, the crawl stays "
    "requested"
)
RUNNING_STATES = ("waiting", "listing", "reading")


def add_to(group: typer.Typer) -> None:
    group.command()(crawl)


def crawl(
    ctx: typer.Context,
    source_id: str,
    wait: bool = typer.Option(False, help="Show progress, and return when search finds its files."),
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
            try:
                found = _wait_for_crawl(terminal, tools, source_id, found)
                found = _wait_for_index(terminal, tools, source_id, found)
            except KeyboardInterrupt:
                terminal.info(f"the crawl goes on: pecia source status {source_id} shows it,")
                terminal.info(f"pecia source stop {source_id} stops it")
                raise
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
    with progress_bar(terminal, "files") as report:
        while found["state"] in RUNNING_STATES:
            time.sleep(POLL_INTERVAL_S)
            found = _call_tool(tools, "admin.crawl_status", source_id)
            # A worker that is just starting is waited for.
            unserved = unserved + 1 if found["condition"] == "no_worker" else 0
            if unserved * POLL_INTERVAL_S >= NO_WORKER_S and not is_told:
                config = f" --config {shlex.quote(str(terminal.config))}" if terminal.config else ""
                terminal.info(NO_WORKER.format(config=config))
                is_told = True
            total = found["added"] + found["changed"] if found["listed_at"] else None
            report(_describe_progress(found), found["read"], total)
    return found


def _wait_for_index(
    terminal: Terminal, tools: ToolBackend, source_id: str, found: Mapping[str, Any]
) -> Mapping[str, Any]:
    if found["state"] == "done" and found["index_lag"]:
        terminal.info(WAITS_FOR_INDEX)
    moved_at, is_told = time.monotonic(), False
    while found["state"] == "done" and (lag := found["index_lag"]):
        time.sleep(POLL_INTERVAL_S)
        found = _call_tool(tools, "admin.crawl_status", source_id)
        if found["index_lag"] < lag:
            moved_at = time.monotonic()
        elif time.monotonic() - moved_at > INDEX_STALL_S and not is_told:
            terminal.info(INDEX_STALLED)
            is_told = True
    return found


def _describe_progress(found: Mapping[str, Any]) -> str:
    return (
        f"{found['state']}: {found['seen']} seen, {found['added']} new, {found['changed']} changed,"
        f" {found['gone']} gone, {found['unread']} not readable"
        f"{_describe_underway(found['underway'])}"
    )


def _describe_underway(underway: Sequence[Mapping[str, Any]]) -> str:
    """The slow files, each with its progress."""
    return "".join(f"; {it['key']}: page {it['pages_read']} of {it['pages']}" for it in underway)

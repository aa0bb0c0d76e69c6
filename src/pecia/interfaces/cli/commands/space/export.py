"""`pecia space export`: a space as a folder of Markdown, an OKF bundle, or HTML pages."""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import typer

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.transfer.exported_space import (
    ExportedSpace,
    ExportReport,
    is_recoded,
    read_documents,
)
from pecia.interfaces.cli.commands.space.export_folder import (
    ExportFolder,
    open_export,
    require_export_target,
)
from pecia.interfaces.cli.output.progress import ReportCounts, progress_bar
from pecia.interfaces.cli.output.render import show_rows
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.tools.backend import ToolBackend, open_backend
from pecia.interfaces.cli.tools.confirmation import require_yes
from pecia.kernel.errors import InvalidEnum, Json

FORMATS = ("markdown", "okf", "html")
MAX_ATTEMPTS = 3
"""A space that changes during an export is exported again, as often as this."""


def add_to(group: typer.Typer) -> None:
    group.command()(export)


def export(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="The space."),
    to: Path = typer.Option(..., help="The folder; a new or an empty one."),
    shape: str = typer.Option("markdown", "--format", help="markdown, okf or html."),
    replace: bool = typer.Option(False, help="Replace everything in the folder. Asks first."),
    yes: bool = typer.Option(False, help="Do not ask."),
) -> None:
    """Export what you may read of a space to a folder: Markdown, OKF or HTML."""
    terminal = terminal_of(ctx)
    if shape not in FORMATS:
        raise InvalidEnum(
            f"the format is {' or '.join(FORMATS)}, not {shape!r}",
            field="format",
            allowed=[*FORMATS],
            got=shape,
        )
    target = to.expanduser().absolute()
    require_export_target(target, replace=replace)
    if replace and target.is_dir() and (held := len([*target.iterdir()])) and not yes:
        question = f"Remove everything in {target} ({held} entries) and put the export there?"
        require_yes(terminal, question, hint="add --yes")
    with (
        open_backend(terminal) as tools,
        progress_bar(terminal, "files") as progress,
        open_export(target, replace=replace) as folder,
    ):
        fetched = fetch_space(tools, name, folder, progress)
        report = ExportReport(dropped=fetched.dropped)
        write_format(shape, name, fetched, folder, report)
    _print_report(terminal, name, target, shape, fetched, report)


@dataclass(slots=True)
class FetchedSpace:
    """Other files are in the export's folder already; documents are here."""

    documents: dict[str, bytes] = field(default_factory=dict[str, bytes])
    files: dict[str, int] = field(default_factory=dict[str, int])
    dropped: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    is_mixed: bool = False
    """Whether files changed during the last attempt too."""


def fetch_space(
    tools: ToolBackend, name: str, folder: ExportFolder, progress: ReportCounts
) -> FetchedSpace:
    """Everything that the caller may read, of one state of the space if it holds still."""
    found = FetchedSpace()
    for _ in range(MAX_ATTEMPTS):
        folder.clear()
        found = _fetch_once(tools, name, folder, progress)
        if not found.is_mixed:
            return found
    return found


def _fetch_once(
    tools: ToolBackend, name: str, folder: ExportFolder, progress: ReportCounts
) -> FetchedSpace:
    found = FetchedSpace()
    states: set[str] = set()
    done = 0
    for page in _pages(tools, name):
        states.add(str(page["state"]))
        found.dropped += page["dropped"]
        for row in cast(list[dict[str, Any]], page["files"]):
            _take(row, found, folder)
            done += row["offset"] == 0
            progress(str(row["path"]), done, int(page["total"]))
    found.is_mixed = len(states) > 1
    return found


def _pages(tools: ToolBackend, name: str) -> Iterator[Mapping[str, Any]]:
    tool = tools.find_tool("wiki.export_space")
    asked: dict[str, Json] = {"space": name}
    while True:
        page = cast(Mapping[str, Any], tools.call(tool, asked))
        yield page
        if not page.get("nextCursor"):
            return
        asked = {**asked, "cursor": str(page["nextCursor"])}


def _take(row: Mapping[str, Any], found: FetchedSpace, folder: ExportFolder) -> None:
    path, offset = str(row["path"]), int(row["offset"])
    part = row["text"].encode() if "text" in row else b64decode(row["base64"])
    if problem := folder.problem(path):
        if not offset:
            found.dropped.append({"path": path, "reason": problem})
        return
    if split_extension(path)[1]:
        found.documents[path] = found.documents.get(path, b"") + part if offset else part
        return
    if not offset and folder.has(path):
        reason = "this file system takes its name for that of another file"
        found.dropped.append({"path": path, "reason": reason})
        return
    if offset != found.files.get(path, 0):
        # A file that grew or shrank between two parts: the next attempt has it whole.
        found.is_mixed = True
        return
    found.files[path] = offset + len(part)
    folder.append(path, part)


def write_format(
    shape: str, name: str, fetched: FetchedSpace, folder: ExportFolder, report: ExportReport
) -> None:
    """Write the documents; what is only in other files is there already."""
    if shape == "markdown":
        _write_all(folder, fetched.documents, report)
        return
    space = read_documents(fetched.documents, fetched.files)
    kept = {it.path for it in space.documents.values()}
    for path in sorted(fetched.documents.keys() - kept):
        report.drop(path, "it is no text, or another document has its name")
    for path in sorted(kept):
        if is_recoded(fetched.documents[path]):
            report.change(path, "it is UTF-8 in the export")
    space = ExportedSpace(space.documents, dict.fromkeys(fetched.files))
    made = _make_okf(space, report) if shape == "okf" else _make_html(space, name, report)
    _write_all(folder, {path: text.encode() for path, text in made.items()}, report)


def _make_html(space: ExportedSpace, name: str, report: ExportReport) -> dict[str, str]:
    from pecia.interfaces.cli.commands.space.static_site import make_site

    return make_site(space, name, report)


def _make_okf(space: ExportedSpace, report: ExportReport) -> dict[str, str]:
    from pecia.features.cascade.okf.index import render_indexes
    from pecia.features.cascade.okf.lint.bundle import parse_bundle
    from pecia.features.cascade.okf.lint.runner import validate_bundle
    from pecia.features.wiki.transfer.okf_concepts import make_concepts

    concepts = make_concepts(space, report)
    bodies = {path: text.encode() for path, text in concepts.items()}
    indexes = render_indexes(parse_bundle(bodies, datetime.now(UTC)))
    made = {**concepts, **indexes}
    bundle = parse_bundle({path: text.encode() for path, text in made.items()}, datetime.now(UTC))
    for it in validate_bundle(bundle, strict=False):
        report.change(it.path, f"OKF: {it.message}")
    return made


def _write_all(folder: ExportFolder, files: Mapping[str, bytes], report: ExportReport) -> None:
    for path, body in files.items():
        try:
            folder.write(path, body)
        except FileExistsError:
            report.drop(path, "this file system takes its name for that of another file")


def _print_report(
    terminal: Terminal,
    name: str,
    target: Path,
    shape: str,
    fetched: FetchedSpace,
    report: ExportReport,
) -> None:
    if fetched.is_mixed:
        reason = "files changed during the export: some are older than others"
        report.change(".", reason)
    document: dict[str, Json] = {
        "space": name,
        "folder": str(target),
        "format": shape,
        "documents": len(fetched.documents),
        "files": len(fetched.files),
        "dropped": [{**it} for it in report.dropped],
        "changed": [{**it} for it in report.changed],
    }

    def show(it: Terminal) -> None:
        it.print_line(
            f"{len(fetched.documents)} documents and {len(fetched.files)} other files "
            f"are in {target}"
        )
        for title, rows in (("not exported", report.dropped), ("not as it was", report.changed)):
            if rows:
                it.print_line(f"{len(rows)} {title}:")
                show_rows(it, [{**row} for row in rows])

    terminal.print_result(document, show)

"""`pecia space import`: notes of another program, converted here and written by the server."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from pecia.features.wiki.core.names import find_path_problem
from pecia.interfaces.cli.output.progress import ReportCounts, progress_bar
from pecia.interfaces.cli.output.render import show_rows
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.tools.backend import ToolBackend, ToolInfo, open_backend, require_tools
from pecia.kernel.errors import InvalidEnum, InvalidFormat, Json

if TYPE_CHECKING:
    from pecia.adapters.importers.model import ConvertedExport, ImportedAttachment, ImportedNote

# Of a call: what the tool takes, and a server takes 10 MB.
MAX_ITEMS = 100
MAX_BATCH_CHARS = 2_000_000
MAX_NOTE_CHARS = 1_000_000
MAX_CALL_BYTES = 5_000_000
MAX_FILE_BYTES = 20_000_000
MAX_ORIGIN_CHARS = 900
KIND_HELP = "obsidian, notion, evernote, keep, roam, bear, confluence or onenote."


def add_to(group: typer.Typer) -> None:
    group.command("import")(import_)


def import_(
    ctx: typer.Context,
    kind: str = typer.Argument(..., help=KIND_HELP),
    path: Path = typer.Argument(..., help="The export: a file, or a folder."),
    into: str = typer.Option(..., help="The space."),
    folder: str = typer.Option("", help="A folder of the space to put everything in."),
    dry_run: bool = typer.Option(False, help="Only say what would be done."),
) -> None:
    """Import notes of another program into a space.

    What was imported before changes only if it changed in the source and nobody edited it here.
    """
    from pecia.adapters.importers.registry import KINDS, convert_export
    from pecia.adapters.importers.source_tree import open_tree

    terminal = terminal_of(ctx)
    if kind not in KINDS:
        raise InvalidEnum(
            f"the kind is one of {', '.join(KINDS)}, not {kind!r}",
            field="kind",
            allowed=[*KINDS],
            got=kind,
        )
    target = folder.strip("/")
    if target and (problem := find_path_problem(target)):
        raise InvalidFormat(f"the folder {folder!r} is not valid: {problem}", field="folder")
    require_tools(terminal)
    made = convert_export(KINDS[kind], open_tree(path.expanduser().absolute(), KINDS[kind].nested))
    run = ImportRun(into, f"{kind}:{target}", f"{target}/" if target else "", dry_run)
    with open_backend(terminal) as tools, progress_bar(terminal, "items") as progress:
        run.send(tools, made, progress)
    _print_report(terminal, kind, run, made)


@dataclass(slots=True)
class ImportRun:
    """The calls of one import, and what they did."""

    space: str
    source: str
    lead: str
    dry_run: bool
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def send(self, tools: ToolBackend, made: "ConvertedExport", progress: ReportCounts) -> None:
        tool = tools.find_tool("wiki.import_documents")
        total = len(made.notes) + len(made.attachments)
        named = [it for it in made.notes if self._has_name(it.name, made)]
        for batch in _note_batches(_unique(named, made), made):
            documents: list[Json] = [
                {"origin": _origin(it), "docName": self.lead + it.name, "markdown": it.markdown}
                for it in batch
            ]
            self._call(tools, tool, {"documents": documents})
            progress(batch[-1].name, len(self.rows), total)
        kept = [it for it in made.attachments if self._has_name(it.path, made)]
        for files in _file_batches(_unique(kept, made), made, self.lead):
            self._call(tools, tool, {"files": [*files]})
            progress(str(files[-1]["path"]), len(self.rows), total)

    def _has_name(self, path: str, made: "ConvertedExport") -> bool:
        problem = find_path_problem(self.lead + path)
        if problem:
            made.drop(path, f"its name is not valid here: {problem}")
        return not problem

    def _call(self, tools: ToolBackend, tool: ToolInfo, items: dict[str, Json]) -> None:
        asked: dict[str, Json] = {
            "space": self.space,
            "source": self.source,
            "dry_run": self.dry_run,
            **items,
        }
        done = cast(dict[str, Any], tools.call(tool, asked))
        self.rows += [it for it in done["items"] if it["outcome"] != "partial"]


def _origin(item: "ImportedNote | ImportedAttachment") -> str:
    """Its id, as long as a record takes."""
    if len(item.origin) <= MAX_ORIGIN_CHARS:
        return item.origin
    return sha256(item.origin.encode()).hexdigest()


def _unique(items: "Sequence[Any]", made: "ConvertedExport") -> list[Any]:
    """Items with an id of their own: of two the first counts."""
    seen: set[str] = set()
    kept: list[Any] = []
    for it in items:
        if it.origin in seen:
            made.drop(str(it.origin), "the export has another item with the same id")
            continue
        seen.add(it.origin)
        kept.append(it)
    return kept


def _note_batches(
    notes: "Sequence[ImportedNote]", made: "ConvertedExport"
) -> "Iterator[list[ImportedNote]]":
    batch: list[ImportedNote] = []
    held = 0
    for it in notes:
        size = len(it.markdown)
        if size > MAX_NOTE_CHARS:
            made.drop(it.name, f"it has over {MAX_NOTE_CHARS:,} characters: divide it")
            continue
        if batch and (len(batch) == MAX_ITEMS or held + size > MAX_BATCH_CHARS):
            yield batch
            batch, held = [], 0
        batch.append(it)
        held += size
    if batch:
        yield batch


def _file_batches(
    files: "Sequence[ImportedAttachment]", made: "ConvertedExport", lead: str
) -> Iterator[list[dict[str, Json]]]:
    from pecia.adapters.importers.source_tree import UnusableFile

    batch: list[dict[str, Json]] = []
    held = 0
    for it in files:
        try:
            body = it.load()
        except UnusableFile as error:
            made.drop(it.path, str(error))
            continue
        if len(body) > MAX_FILE_BYTES:
            reason = f"it is over {MAX_FILE_BYTES:,} bytes: copy it into the folder of the space"
            made.drop(it.path, reason)
            continue
        if batch and (len(batch) == MAX_ITEMS or held + len(body) > MAX_CALL_BYTES):
            yield batch
            batch, held = [], 0
        row: dict[str, Json] = {"origin": _origin(it), "path": lead + it.path}
        if len(body) > MAX_CALL_BYTES:
            yield from ([part] for part in _parts(row, body))
            continue
        batch.append({**row, "base64": b64encode(body).decode()})
        held += len(body)
    if batch:
        yield batch


def _parts(row: dict[str, Json], body: bytes) -> Iterator[dict[str, Json]]:
    """A long file, in parts of one call each."""
    for offset in range(0, len(body), MAX_CALL_BYTES):
        part = b64encode(body[offset : offset + MAX_CALL_BYTES]).decode()
        yield {**row, "base64": part, "offset": offset, "total": len(body)}


def _print_report(terminal: Terminal, kind: str, run: ImportRun, made: "ConvertedExport") -> None:
    counts = Counter(str(it["outcome"]) for it in run.rows)
    dropped = [
        *made.dropped,
        *({"item": it["path"], "reason": it["reason"]} for it in run.rows if _is_dropped(it)),
    ]
    kept = [
        {"path": it["path"], "reason": it["reason"]} for it in run.rows if it["outcome"] == "kept"
    ]
    outcomes = ("created", "updated", "unchanged")
    document: dict[str, Json] = {
        "kind": kind,
        "space": run.space,
        "dry_run": run.dry_run,
        **{it: counts.get(it, 0) for it in outcomes},
        "kept": [{**it} for it in kept],
        "dropped": [{**it} for it in dropped],
    }

    def show(it: Terminal) -> None:
        said = ", ".join(f"{counts.get(name, 0)} {name}" for name in outcomes)
        it.print_line(f"{'would be: ' if run.dry_run else ''}{said}")
        for title, rows in (("left as they are here", kept), ("not imported", dropped)):
            if rows:
                it.print_line(f"{len(rows)} {title}:")
                show_rows(it, [{**row} for row in rows])

    terminal.print_result(document, show)


def _is_dropped(row: dict[str, Any]) -> bool:
    return row["outcome"] == "dropped"

"""`pecia memory import` and `export`: memories from and to files of this machine."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import orjson
import typer

from pecia.interfaces.cli.output.progress import progress_bar
from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import terminal_of
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.kernel.errors import (
    Conflict,
    InvalidFormat,
    InvalidInput,
    Json,
    NotFound,
    PayloadTooLarge,
)

# Of a call: the tool takes 200, and a server takes 10 MB.
MAX_MEMORIES, MAX_BATCH_CHARS = 200, 500_000
MAX_FILE_BYTES = 2_000_000_000
# The file in an archive that ChatGPT and Claude send.
CONVERSATIONS = "conversations.json"


def add_to(group: typer.Typer) -> None:
    group.command("import")(import_)
    group.command()(export)


def import_(
    ctx: typer.Context,
    file: Path = typer.Argument(
        ...,
        help="An export of ChatGPT or Claude (the archive or its JSON), of mem0, or ours.",
    ),
    every_turn: bool = typer.Option(
        False, help="Every turn of a conversation, not only what you said that is worth keeping."
    ),
    dry_run: bool = typer.Option(
        False, help="Write nothing, and tell what would be imported and skipped."
    ),
) -> None:
    """Import memories of another product. What was imported before is skipped."""
    from pecia.features.memory.core.chat_export import parse_export

    terminal = terminal_of(ctx)
    parsed = parse_export(_read_document(file), every_turn=every_turn)
    imported, skipped, sent = 0, 0, 0
    with open_backend(terminal) as tools, progress_bar(terminal, "memories") as report:
        tool = tools.find_tool("memory.memory_import")
        for batch in _batches(parsed.memories):
            report(file.name, sent, len(parsed.memories))
            sent += len(batch)
            asked: dict[str, Json] = {"memories": [*batch], "dry_run": dry_run}
            done = cast(dict[str, Json], tools.call(tool, asked))
            imported += cast(int, done["imported"]) + cast(int, done["replaced"])
            skipped += len(cast(list[Json], done["skipped"]))
    found: Json = {
        "product": parsed.product,
        "memories": len(parsed.memories),
        "imported": imported,
        "skipped": skipped,
        "not_worth_keeping": parsed.left_out,
        "too_long": parsed.too_long,
    }
    terminal.print_result(found, lambda it: show_document(it, found))


def export(
    ctx: typer.Context,
    file: Path = typer.Argument(..., help="A new file."),
    all_projects: bool = typer.Option(False, help="Not only the project of this session."),
) -> None:
    """Export your memories, also what no longer holds, to a file that `import` reads."""
    terminal = terminal_of(ctx)
    if file.exists():
        raise Conflict(f"there is a file {file} already", field="file", hint="choose another name")
    memories: list[Json] = []
    with open_backend(terminal) as tools:
        tool = tools.find_tool("memory.memory_export")
        for kind in ("knowledge", "reasoning", "workspace"):
            cursor: Json = None
            while True:
                asked: dict[str, Json] = {"kind": kind, "all_projects": all_projects}
                page = cast(
                    dict[str, Json],
                    tools.call(tool, asked | ({"cursor": cursor} if cursor else {})),
                )
                memories += cast(list[Json], page["memories"])
                cursor = page.get("next_cursor")
                if cursor is None:
                    break
    document = {"format": "pecia-memories", "version": 1, "memories": memories}
    with file.open("xb") as out:
        out.write(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    found: Json = {"file": str(file), "memories": len(memories)}
    terminal.print_result(found, lambda it: show_document(it, found))


def _read_document(path: Path) -> Json:
    if not path.is_file():
        raise NotFound(f"there is no file {path}", field="file")
    try:
        text = _read_archive(path) if zipfile.is_zipfile(path) else path.read_bytes()
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidFormat(
            f"{path} is no JSON: {error}", field="file", expected="JSON, or an archive with it"
        ) from None
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", field="file") from None


def _read_archive(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        inside = [it for it in archive.infolist() if Path(it.filename).name == CONVERSATIONS]
        if not inside:
            raise InvalidFormat(
                f"{path} has no {CONVERSATIONS}", field="file", expected="an export archive"
            )
        if inside[0].file_size > MAX_FILE_BYTES:
            raise PayloadTooLarge(
                f"{CONVERSATIONS} is larger than {MAX_FILE_BYTES} bytes",
                field="file",
                max=MAX_FILE_BYTES,
            )
        return archive.read(inside[0])


def _batches(memories: Sequence[dict[str, Json]]) -> Iterator[list[dict[str, Json]]]:
    """Parts that one call takes."""
    batch: list[dict[str, Json]] = []
    held = 0
    for it in memories:
        size = len(str(it.get("text", "")))
        if batch and (len(batch) == MAX_MEMORIES or held + size > MAX_BATCH_CHARS):
            yield batch
            batch, held = [], 0
        batch.append(it)
        held += size
    if batch:
        yield batch

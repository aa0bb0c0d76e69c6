"""`pecia source upload`: sends files of this machine to a source of uploads."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import typer

from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import terminal_of
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.kernel.errors import InvalidInput, Json, NotFound


def add_to(group: typer.Typer) -> None:
    group.command()(upload)


def upload(
    ctx: typer.Context,
    source_id: str,
    files: list[Path] = typer.Argument(..., help="Files, or folders with everything in them."),
    under: str = typer.Option("", help="A folder of the source to put them in."),
) -> None:
    """Send files to a source of uploads. Those with the same names are replaced."""
    terminal = terminal_of(ctx)
    chosen = [*_files_by_key(files)]
    sent: list[Json] = []
    with open_backend(terminal) as tools:
        tool = tools.find_tool("admin.upload_file")
        for key, path in chosen:
            asked: dict[str, Json] = {
                "source_id": source_id,
                "key": str(PurePosixPath(under) / key),
                "content": b64encode(path.read_bytes()).decode(),
            }
            sent.append(tools.call(tool, asked))
    found: Json = {"files": sent}
    terminal.print_result(found, lambda it: show_document(it, found))


def _files_by_key(files: list[Path]) -> Iterator[tuple[str, Path]]:
    """Each file with its key: its name, or its path from the folder that was named."""
    for path in files:
        if path.is_dir():
            inside = sorted(it for it in path.rglob("*") if it.is_file() and not it.is_symlink())
            yield from ((it.relative_to(path.parent).as_posix(), it) for it in inside)
        elif path.is_file():
            yield path.name, path
        elif path.exists():
            raise InvalidInput(f"{path} is not a regular file", field="files", got=str(path))
        else:
            raise NotFound(f"there is no file {path}", field="files")

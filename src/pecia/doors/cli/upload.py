"""`pecia source upload`: sends files of this machine to a source of uploads."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.reach import found_tool, reached
from pecia.doors.cli.render import show
from pecia.doors.cli.terminal import terminal_of
from pecia.kernel.errors import InvalidInput, Json, NotFound


def add_to(group: typer.Typer) -> None:
    group.command()(upload)


def upload(
    ctx: typer.Context,
    source_id: str,
    files: list[Path] = typer.Argument(..., help="Files, or folders with all that is in them."),
    under: str = typer.Option("", help="A folder of the source to put them in."),
) -> None:
    """Send files to a source of uploads. Those with the same names are replaced."""
    terminal = terminal_of(ctx)
    chosen = [*_chosen(files)]
    sent: list[Json] = []
    with reached(terminal, settled(terminal)) as tools:
        tool = found_tool(tools.listing(), "office.upload_file")
        for key, path in chosen:
            asked: dict[str, Json] = {
                "source_id": source_id,
                "key": str(PurePosixPath(under) / key),
                "content": b64encode(path.read_bytes()).decode(),
            }
            sent.append(tools.call(tool, asked))
    found: Json = {"files": sent}
    terminal.give(found, lambda it: show(it, found))


def _chosen(files: list[Path]) -> Iterator[tuple[str, Path]]:
    """Each file with its key: its name, or its path from the folder that was named."""
    for path in files:
        if path.is_dir():
            inside = sorted(it for it in path.rglob("*") if it.is_file() and not it.is_symlink())
            yield from ((it.relative_to(path.parent).as_posix(), it) for it in inside)
        elif path.is_file():
            yield path.name, path
        elif path.exists():
            raise InvalidInput(f"{path} is no plain file", field="files", got=str(path))
        else:
            raise NotFound(f"there is no file {path}", field="files")

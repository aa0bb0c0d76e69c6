"""`pecia source upload`: sends files of this machine to a source of uploads."""

from base64 import b64encode
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import typer

from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import terminal_of
from pecia.interfaces.cli.server.client import is_utf8
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.kernel.errors import (
    Conflict,
    InvalidFormat,
    InvalidInput,
    Json,
    NotFound,
    PayloadTooLarge,
    PeciaError,
    Unavailable,
)

TOO_LARGE_HINT = (
    "a file travels in one request, which is a third longer than the file; start the server with a "
    "larger PECIA_BODY_LIMIT_BYTES, or add its folder: pecia source add NAME --folder FOLDER"
)


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
    chosen = _choose_files(files)
    sent: list[Json] = []
    with open_backend(terminal) as tools:
        tool = tools.find_tool("admin.upload_file")
        for key, path in chosen:
            with _named(path, f"{len(sent)} of {len(chosen)}"):
                asked: dict[str, Json] = {
                    "source_id": source_id,
                    "key": str(PurePosixPath(under) / key),
                    "content": b64encode(path.read_bytes()).decode(),
                }
                sent.append(tools.call(tool, asked))
    found: Json = {"files": sent}
    terminal.print_result(found, lambda it: show_document(it, found))


@contextmanager
def _named(path: Path, sent: str) -> Generator[None]:
    """What is wrong with one file says with which, and how many were sent before it."""
    try:
        yield
    except PeciaError as error:
        error.message = f"{path}: {error.message}"
        error.fields = {**error.fields, "sent": sent}
        if isinstance(error, PayloadTooLarge) and error.fields.get("field") == "body":
            error.fields = {**error.fields, "hint": TOO_LARGE_HINT}
        raise
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise Unavailable(f"{path} cannot be read: {why}", file=str(path), sent=sent) from error


def _choose_files(files: list[Path]) -> list[tuple[str, Path]]:
    """The files with their keys: each once, and no two with one key, for the second would replace
    the first."""
    chosen: dict[str, Path] = {}
    for key, path in _files_by_key(files):
        if not is_utf8(key):
            raise InvalidFormat(f"{str(path)!a} is not UTF-8", field="files", got=ascii(str(path)))
        other = chosen.setdefault(key, path)
        if not other.samefile(path):
            raise Conflict(
                f"{other} and {path} would both be {key}; nothing was sent",
                field="files",
                hint="name their folders, or send them one by one, each --under another folder",
            )
    return [*chosen.items()]


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

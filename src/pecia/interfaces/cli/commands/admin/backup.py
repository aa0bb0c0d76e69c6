"""`pecia backup`, `restore` and `export`: everything into one file, and back."""

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.interfaces.cli.output.progress import progress_bar
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import Conflict, Json, NotFound

if TYPE_CHECKING:
    from pecia.kernel.settings.kernel import KernelSettings
    from pecia.kernel.settings.load import Settings


def add_to(app: typer.Typer) -> None:
    app.command()(backup)
    app.command()(restore)
    app.command()(export)


def backup(
    ctx: typer.Context,
    file: Path | None = typer.Argument(
        None, help="The file to write. Unset: in backup_dir, named by the time."
    ),
    keys: Path | None = typer.Option(
        None, help="Copy the key file there too, apart from the backup."
    ),
) -> None:
    """Back up the whole database, while it is in use. Encrypted credentials need the key file."""
    import anyio

    terminal = terminal_of(ctx)
    kernel = load_settings(terminal).kernel
    require_home(kernel)
    target = _require_new(file) if file else _default_target(kernel)
    if keys is not None:
        _copy_keys(kernel.home / "keys.json", _require_new(keys))
    made = anyio.run(_backup, terminal, kernel, target)
    if keys is None:
        terminal.info("the key file is not in a backup; --keys FILE copies it, and keep it apart")
    terminal.print_result(made, lambda it: it.print_line(f"{made['rows']} rows in {target}"))


def restore(
    ctx: typer.Context, file: Path = typer.Argument(help="A file that `backup` made.")
) -> None:
    """Restore a backup into an empty database: a new PECIA_HOME, or an empty one of yours."""
    import anyio

    terminal = terminal_of(ctx)
    settings = load_settings(terminal)
    kernel = settings.kernel
    made = anyio.run(_restore, terminal, settings, file)
    if made["secrets"]:
        terminal.info(
            f"{made['secrets']} encrypted credentials need the old key file: "
            f"put it at {kernel.home / 'keys.json'} before you start"
        )
    terminal.print_result(made, lambda it: it.print_line(f"{made['rows']} rows restored"))


def export(
    ctx: typer.Context,
    tenant: str = typer.Argument(help="The tenant's name."),
    file: Path = typer.Argument(help="The zip to write."),
) -> None:
    """Write one tenant's rows as JSON lines, without secrets and hashes."""
    import anyio

    terminal = terminal_of(ctx)
    kernel = load_settings(terminal).kernel
    require_home(kernel)
    counts = anyio.run(_export, terminal, kernel, tenant, _require_new(file))
    document: Json = {"file": str(file), "tables": {**counts}}
    terminal.print_result(
        document, lambda it: it.print_line(f"{sum(counts.values())} rows in {file}")
    )


async def _backup(terminal: Terminal, kernel: "KernelSettings", target: Path) -> dict[str, Json]:
    from pecia.app.app import open_logins
    from pecia.kernel.store.backup.dump import back_up

    target.parent.mkdir(exist_ok=True, mode=0o700)
    async with open_logins(kernel, terminal.info) as logins:
        with progress_bar(terminal) as report:
            made = await back_up(logins.system, target, report)
    return {"file": str(target), "rows": made.rows, "tables": len(made.tables)}


async def _restore(terminal: Terminal, settings: "Settings", file: Path) -> dict[str, Json]:
    from pecia.app.app import migration_parts, open_logins
    from pecia.kernel.store.backup.archive import open_archive
    from pecia.kernel.store.backup.restore import restore as bring_back

    # An invalid backup is refused before a database is created for it.
    with open_archive(file):
        pass
    async with open_logins(settings.kernel, terminal.info) as logins:
        with progress_bar(terminal) as report:
            made = await bring_back(logins.owner, file, migration_parts(settings), report)
    secrets = sum(it.rows for it in made.tables if it.name == "kernel.secret")
    return {
        "file": str(file),
        "rows": made.rows,
        "secrets": secrets,
        "made_at": made.made_at,
        "made_by": made.pecia,
    }


async def _export(
    terminal: Terminal, kernel: "KernelSettings", tenant: str, file: Path
) -> dict[str, int]:
    from pecia.app.app import open_logins
    from pecia.kernel.store.backup.export import export_tenant as write_out

    async with open_logins(kernel, terminal.info) as logins:
        with progress_bar(terminal) as report:
            return await write_out(logins.system, tenant, file, report)


def _default_target(kernel: "KernelSettings") -> Path:
    from pecia.app.operator.backups import next_backup

    return next_backup(kernel)


def _require_new(path: Path) -> Path:
    """A backup never overwrites a file, and makes no folder: a disk may not be mounted."""
    if path.exists():
        raise Conflict(
            f"{path} exists already",
            file=str(path),
            hint="Name another file, or remove this one first: it is not replaced.",
        )
    if not path.parent.is_dir():
        raise NotFound(
            f"there is no folder {path.parent}",
            file=str(path),
            hint=f"mount or make it (mkdir -p {shlex.quote(str(path.parent))}), or name another",
        )
    return path


def _copy_keys(source: Path, target: Path) -> None:
    if not source.exists():
        raise NotFound(f"there is no key file at {source}", file=str(source))
    target.touch(mode=0o600, exist_ok=False)
    shutil.copyfile(source, target)

"""`pecia serve`: server mode, with tenants and tokens, behind a proxy that speaks TLS."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.doors.cli.configured import settled, warn
from pecia.doors.cli.find import running
from pecia.doors.cli.lock import ServerLock, claimed
from pecia.doors.cli.terminal import Misuse, Terminal, terminal_of, with_config
from pecia.kernel.errors import Conflict, InvalidInput, Json, MissingField
from pecia.kernel.settings.account import make_home

if TYPE_CHECKING:
    from pecia.app.app import App
    from pecia.kernel.settings.load import Settings

ONE_PROCESS = (
    "a node runs one API process: it owns its wiki spaces and its keyword index; "
    "run more nodes, or `pecia worker` for background work"
)


def add_to(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    ctx: typer.Context,
    config: Path | None = typer.Option(None, help="The configuration file of the server."),
    port: int | None = typer.Option(None, help="The port to listen on."),
    host: str | None = typer.Option(None, help="The address to listen on."),
    workers: int | None = typer.Option(None, hidden=True, help=ONE_PROCESS),
) -> None:
    """Serve tenants, with tokens, for as long as it runs."""
    if workers is not None:
        raise Misuse(InvalidInput(f"--workers is not taken: {ONE_PROCESS}", field="workers"))
    terminal = with_config(terminal_of(ctx), config)
    if terminal.config is None:
        raise Misuse(MissingField("serve needs --config FILE", field="config"))
    settings = settled(terminal, {"mode": "server", "port": port, "host": host})
    warn(terminal, settings)
    _warn_of_shared(terminal, settings)
    make_home(settings.kernel.home)
    with claimed(settings.kernel.home) as ours:
        if not ours:
            raise _taken(settings)
        _serve(terminal, settings)


def _warn_of_shared(terminal: Terminal, settings: "Settings") -> None:
    """Lists that hold for a local install: here each tenant has one of its own."""
    from pecia.rooms.hub.settings import HubSettings
    from pecia.rooms.lake.settings import LakeSettings

    lake, hub = settings.part(LakeSettings), settings.part(HubSettings)
    shared = (
        ("lake.folders", "folder", lake.folders),
        ("lake.trusted_hosts", "host", lake.trusted_hosts),
        ("hub.trusted_hosts", "host", hub.trusted_hosts),
    )
    for name, option, values in shared:
        if values:
            terminal.say(
                f"warning: {name} gives nothing to the tenants of a server; "
                f"give it to each: pecia tenant allow TENANT --{option} {values[0]}"
            )


def _serve(terminal: Terminal, settings: "Settings") -> None:
    from pecia.doors.cli.hosting import Hosting, host
    from pecia.doors.cli.listen import reserve

    reserved = reserve(settings.kernel.host, settings.kernel.port, exact=True)

    def ready(lock: ServerLock, _: Json) -> None:
        terminal.give(lock.as_json(), lambda it: it.line(f"Pecia {lock.version} is at {lock.url}"))
        terminal.out.flush()

    host(terminal, Hosting(settings, reserved, ready, check=require_way_in, with_worker=False))


async def require_way_in(app: "App") -> None:
    """Beyond this machine nobody is served unless somebody can prove who they are."""
    from pecia.app.tenants import has_way_in
    from pecia.kernel.settings.kernel import is_loopback

    kernel = app.settings.kernel
    if is_loopback(kernel.host) or kernel.oidc_issuer or await has_way_in(app.store):
        return
    raise Conflict(
        f"{kernel.host} can be reached from outside, and no authentication is configured: "
        "there is neither an identity provider nor a token",
        setting="oidc_issuer",
        hint="set oidc_issuer, or make a tenant and its first token with: pecia tenant add NAME",
    )


def _taken(settings: "Settings") -> Conflict:
    found = running(settings.kernel.home)
    where = f" at {found.lock.url}, pid {found.lock.pid}" if found else ""
    return Conflict(
        f"a server has {settings.kernel.home} already{where}", hint="pecia stop, or another home"
    )

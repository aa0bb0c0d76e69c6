"""`pecia serve`: server mode, with tenants and tokens, behind a proxy that speaks TLS."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.interfaces.cli.output.terminal import (
    CommandUsageError,
    Terminal,
    terminal_of,
    with_config,
)
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.interfaces.cli.server.lock import ServerLock, claim_home
from pecia.interfaces.cli.settings import load_settings, print_warnings
from pecia.kernel.errors import Conflict, InvalidInput, Json, MissingField
from pecia.kernel.settings.account import create_home

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
    """Serve tenants, with tokens, until stopped."""
    if workers is not None:
        raise CommandUsageError(
            InvalidInput(f"--workers is not supported: {ONE_PROCESS}", field="workers")
        )
    terminal = with_config(terminal_of(ctx), config)
    if terminal.config is None:
        raise CommandUsageError(
            MissingField("serve needs --config FILE", field="config", hint="pecia serve --help")
        )
    settings = load_settings(terminal, {"mode": "server", "port": port, "host": host})
    print_warnings(terminal, settings)
    _warn_local_lists(terminal, settings)
    create_home(settings.kernel.home)
    with claim_home(settings.kernel.home) as ours:
        if not ours:
            raise _home_conflict(settings)
        _serve(terminal, settings)


def _warn_local_lists(terminal: Terminal, settings: "Settings") -> None:
    """Lists that apply to a local install: here each tenant has its own."""
    from pecia.features.hub.settings import HubSettings
    from pecia.features.lake.settings import LakeSettings

    lake, hub = settings.part(LakeSettings), settings.part(HubSettings)
    shared = (
        ("lake.folders", "folder", lake.folders),
        ("lake.trusted_hosts", "host", lake.trusted_hosts),
        ("hub.trusted_hosts", "host", hub.trusted_hosts),
    )
    for name, option, values in shared:
        if values:
            terminal.info(
                f"warning: {name} has no effect on the tenants of a server; "
                f"give it to each: pecia tenant allow TENANT --{option} {values[0]}"
            )


def _serve(terminal: Terminal, settings: "Settings") -> None:
    from pecia.interfaces.cli.server.host import HostPlan, run_server
    from pecia.interfaces.cli.server.port import reserve_port

    reserved = reserve_port(settings.kernel.host, settings.kernel.port, exact=True)

    def ready(lock: ServerLock, _: Json) -> None:
        terminal.print_result(
            lock.as_json(), lambda it: it.print_line(f"Pecia {lock.version} is at {lock.url}")
        )
        terminal.stdout.flush()

    run_server(
        terminal,
        HostPlan(settings, reserved, ready, check=require_authentication, with_worker=False),
    )


async def require_authentication(app: "App") -> None:
    """Refuse to listen beyond this machine without any authentication."""
    from pecia.app.operator.tenants import has_usable_token
    from pecia.kernel.settings.kernel import is_loopback

    kernel = app.settings.kernel
    if is_loopback(kernel.host) or kernel.oidc_issuer or await has_usable_token(app.store):
        return
    raise Conflict(
        f"{kernel.host} can be reached from outside, and no authentication is configured: "
        "there is neither an identity provider nor a token",
        setting="oidc_issuer",
        hint="set oidc_issuer, or make a tenant and its first token with: pecia tenant add NAME",
    )


def _home_conflict(settings: "Settings") -> Conflict:
    found = find_running_server(settings.kernel.home)
    where = f" at {found.lock.url}, pid {found.lock.pid}" if found else ""
    return Conflict(
        f"a server runs already for {settings.kernel.home}{where}",
        hint="pecia stop, or another home",
    )

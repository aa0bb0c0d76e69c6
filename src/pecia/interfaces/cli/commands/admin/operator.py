"""`pecia tenant` and `pecia operator`: operator commands of a cluster, directly on the database."""

import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import typer

from pecia.interfaces.cli.editors import can_ask
from pecia.interfaces.cli.output.progress import progress_bar
from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import CommandUsageError, Terminal, terminal_of
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import (
    ConfirmationRequired,
    Conflict,
    Forbidden,
    InvalidFormat,
    InvalidInput,
    Json,
)
from pecia.kernel.settings.account import login_name
from pecia.kernel.store.audit.status import AuditStatus

if TYPE_CHECKING:
    from pecia.app.operator.session import OperatorSession
    from pecia.app.operator.tenant_deletion import TenantContents
    from pecia.app.operator.tenants import QuotaKind
    from pecia.kernel.settings.kernel import KernelSettings

NO_LIMIT = "none"


def add_to(app: typer.Typer) -> None:
    tenants = typer.Typer(no_args_is_help=True, help="The tenants of this cluster.")
    for verb in TENANT_COMMANDS:
        tenants.command(verb.__name__.removeprefix("tenant_"))(verb)
    app.add_typer(tenants, name="tenant")
    operator = typer.Typer(no_args_is_help=True, help="The operators of this cluster.")
    tokens = typer.Typer(no_args_is_help=True, help="Tokens of cluster administrators.")
    for verb in (token_make, token_list, token_revoke):
        tokens.command(verb.__name__.removeprefix("token_"))(verb)
    operator.add_typer(tokens, name="token")
    operator.command("audit")(operator_audit)
    app.add_typer(operator, name="operator")


def tenant_add(
    ctx: typer.Context,
    name: str = typer.Argument(help="Small letters, digits, dots, dashes, underscores."),
    admin: str = typer.Option("admin", help="The first user, an administrator."),
) -> None:
    """Make a tenant, its first administrator and a token for them, which is shown only once."""
    from pecia.app.operator.tenants import add_tenant, default_quotas

    quotas = default_quotas(load_settings(terminal_of(ctx)).kernel)

    async def work(operating: "OperatorSession") -> Json:
        return _to_json(asdict(await add_tenant(operating, name, admin=admin, quotas=quotas)))

    _run_as_operator(ctx, work, makes_home=_is_home_named(terminal_of(ctx)))


def tenant_list(ctx: typer.Context) -> None:
    """List the tenants."""
    from pecia.app.operator.tenants import list_tenants

    async def work(operating: "OperatorSession") -> Json:
        return {"tenants": [_with_next_command(it) for it in await list_tenants(operating.store)]}

    _run_as_operator(ctx, work)


def tenant_suspend(ctx: typer.Context, name: str) -> None:
    """Suspend a tenant: nobody can sign in. Nothing is deleted."""
    from pecia.app.operator.tenants import suspend_tenant

    async def work(operating: "OperatorSession") -> Json:
        await suspend_tenant(operating, name)
        return {"tenant": name, "status": "suspended"}

    _run_as_operator(ctx, work)


def tenant_resume(ctx: typer.Context, name: str) -> None:
    """Resume a suspended tenant."""
    from pecia.app.operator.tenants import resume_tenant

    async def work(operating: "OperatorSession") -> Json:
        await resume_tenant(operating, name)
        return {"tenant": name, "status": "active"}

    _run_as_operator(ctx, work)


def tenant_quota(
    ctx: typer.Context,
    name: str,
    changes: list[str] = typer.Option(
        [], "--set", help="As files=1000, or files=none for no limit. May be repeated."
    ),
) -> None:
    """Show or change the quotas of a tenant."""
    from pecia.app.operator.tenants import list_quotas, set_quotas

    wanted = parse_quota_changes(changes)

    async def work(operating: "OperatorSession") -> Json:
        if wanted:
            await set_quotas(operating, name, wanted)
        return {"quotas": _to_json(await list_quotas(operating.store, name))}

    _run_as_operator(ctx, work)


def tenant_allow(
    ctx: typer.Context,
    name: str,
    folder: list[str] = typer.Option(
        [], help="A folder of the server's machine, with its subfolders. May be repeated."
    ),
    host: list[str] = typer.Option(
        [], help="A host of your own network, as HOST, HOST:PORT or a network. May be repeated."
    ),
    space_root: list[str] = typer.Option(
        [],
        help="A folder below which its administrators may make wiki spaces, which are read and "
        "written. It is this tenant's alone. May be repeated.",
    ),
    remove: bool = typer.Option(False, help="Remove these instead."),
) -> None:
    """Show or change what a tenant may use of this machine and its network.

    Folders and hosts that its sources and servers open beyond the public web, and roots of its
    spaces.
    """
    from pecia.app.operator.allowlist import (
        AllowlistChange,
        allow,
        disallow,
        load_allowlist_by_name,
    )

    wanted = AllowlistChange(folder, host, space_root)

    async def work(operating: "OperatorSession") -> Json:
        if folder or host or space_root:
            await (disallow if remove else allow)(operating, name, wanted)
        found = await load_allowlist_by_name(operating.store, name)
        return {
            "tenant": name,
            "folders": [str(it) for it in found.folders],
            "hosts": [*found.hosts],
            "space_roots": [str(it) for it in found.space_roots],
        }

    _run_as_operator(ctx, work)


def tenant_delete(
    ctx: typer.Context,
    name: str,
    yes: bool = typer.Option(False, "--yes", help="Delete without asking for the name again."),
) -> None:
    """Delete a tenant and everything of it, for good. Folders of its wiki spaces stay."""
    from pecia.app.operator.tenant_deletion import delete_tenant, load_tenant_contents

    terminal = terminal_of(ctx)
    kernel = load_settings(terminal).kernel
    _require_not_own_tenant(kernel, name)

    async def work(operating: "OperatorSession") -> Json:
        contents = await load_tenant_contents(operating.store, name)
        _show_contents(terminal, contents)
        if not yes:
            _require_name_again(terminal, name)
        with progress_bar(terminal, "rows") as report:
            rows = await delete_tenant(operating, contents, kernel.home, report)
        return {
            "tenant": name,
            "id": str(contents.id),
            "deleted_rows": rows,
            "kept_folders": [*contents.space_folders],
        }

    _run_as_operator(ctx, work)


def _require_not_own_tenant(kernel: "KernelSettings", name: str) -> None:
    """A local install is nothing without its tenant: its owner would be locked out."""
    if kernel.mode == "local" and name == kernel.local_tenant:
        raise Conflict(
            f"{name!r} is the tenant of this local install, which cannot do without it",
            tenant=name,
            hint=f"to delete everything: pecia stop, then remove {kernel.home}",
        )


def token_make(
    ctx: typer.Context,
    label: str = typer.Argument(help="What it is for."),
    expires_in_days: int | None = typer.Option(90, min=1, max=3650, help="How long it is valid."),
) -> None:
    """Make a token of a cluster administrator. It is shown only once."""
    from pecia.app.operator.tenants import create_operator_token

    async def work(operating: "OperatorSession") -> Json:
        return _to_json(asdict(await create_operator_token(operating, label, days=expires_in_days)))

    _run_as_operator(ctx, work)


def token_list(ctx: typer.Context) -> None:
    """List the tokens of cluster administrators."""
    from pecia.app.operator.tenants import list_operator_tokens

    async def work(operating: "OperatorSession") -> Json:
        return {"tokens": _to_json(await list_operator_tokens(operating.store))}

    _run_as_operator(ctx, work)


def token_revoke(ctx: typer.Context, id_: str = typer.Argument(metavar="ID")) -> None:
    """Revoke a token of a cluster administrator at once, for good."""
    from pecia.app.operator.tenants import revoke_operator_token

    id_uuid = _parse_token_id(id_)

    async def work(operating: "OperatorSession") -> Json:
        await revoke_operator_token(operating, id_uuid)
        return {"id": id_, "revoked": True}

    _run_as_operator(ctx, work)


def operator_audit(
    ctx: typer.Context,
    status: AuditStatus | None = typer.Option(None, help="How the request ended."),
    limit: int = typer.Option(50, min=1, max=1000, help="How many rows, newest first."),
) -> None:
    """The audit log of no tenant: requests without a valid token, and what operators did."""
    from pecia.app.operator.audit import list_cluster_audit

    async def work(operating: "OperatorSession") -> Json:
        return {"rows": _to_json(await list_cluster_audit(operating, status=status, limit=limit))}

    _run_as_operator(
        ctx, work, columns=("at", "tool", "interface", "status", "code", "client_ip", "arguments")
    )


TENANT_COMMANDS = (
    tenant_add,
    tenant_list,
    tenant_suspend,
    tenant_resume,
    tenant_quota,
    tenant_allow,
    tenant_delete,
)


def parse_quota_changes(words: Sequence[str]) -> "dict[QuotaKind, int | None]":
    """`files=1000` and the like, as limits by kind."""
    from pecia.app.operator.tenants import parse_quota_kind

    changes: dict[QuotaKind, int | None] = {}
    for word in words:
        name, _, text = word.partition("=")
        if text != NO_LIMIT and not text.isdecimal():
            raise CommandUsageError(
                InvalidInput(
                    f"{word!r} is not KIND=NUMBER or KIND={NO_LIMIT}", field="set", got=word
                )
            )
        changes[parse_quota_kind(name)] = None if text == NO_LIMIT else int(text)
    return changes


def _with_next_command(tenant: dict[str, Any]) -> Json:
    """A tenant, and the command that finishes a deletion that was interrupted."""
    is_deleting = tenant["status"] == "deleting"
    return _to_json(
        {**tenant, "next": f"pecia tenant delete {tenant['name']}"} if is_deleting else tenant
    )


def _show_contents(terminal: Terminal, contents: "TenantContents") -> None:
    for table, rows in contents.rows_by_table.items():
        terminal.info(f"{rows:>12}  {table}")
    verb = "are left to delete" if contents.is_deleting else "will be deleted"
    terminal.info(f"{contents.rows:>12}  rows of the tenant {contents.name!r} {verb}, for good.")
    for folder in contents.space_folders:
        terminal.info(f"The folder of a space stays, with the files in it: {folder}")


def _require_name_again(terminal: Terminal, name: str) -> None:
    command = f"pecia tenant delete {name} --yes"
    if not can_ask(terminal):
        raise ConfirmationRequired(
            f"stdin is not a terminal, so the name {name!r} cannot be typed again here; "
            "nothing was deleted",
            hint=command,
        )
    sys.stderr.write("Type the name of the tenant to delete it: ")
    sys.stderr.flush()
    typed = sys.stdin.readline().strip()
    if typed != name:
        raise Forbidden(
            f"{typed!r} is not the name of the tenant, {name!r}; nothing was deleted",
            hint=f"run it again and type {name}, or: {command}",
        )


def _run_as_operator(
    ctx: typer.Context,
    work: "Callable[[OperatorSession], Awaitable[Json]]",
    *,
    makes_home: bool = False,
    columns: Sequence[str] = (),
) -> None:
    import anyio

    terminal = terminal_of(ctx)
    if not makes_home:
        again = "" if terminal.config else ", then this command with --config pecia.yml"
        config = shlex.quote(str(terminal.config or "pecia.yml"))
        require_home(load_settings(terminal).kernel, f"pecia serve --config {config}{again}")
    document = anyio.run(_open_and_run, terminal, work)
    terminal.print_result(document, lambda it: show_document(it, document, columns=columns))


def _is_home_named(terminal: Terminal) -> bool:
    """Whether somebody chose the home. Without that, a forgotten --config would make another."""
    from pecia.kernel.settings.account import data_folder

    return terminal.config is not None or load_settings(terminal).kernel.home != data_folder()


async def _open_and_run(
    terminal: Terminal, work: "Callable[[OperatorSession], Awaitable[Json]]"
) -> Json:
    from pecia.app.operator.session import open_operator_session

    kernel, who = load_settings(terminal).kernel, login_name()
    async with open_operator_session(kernel, who=who, report=terminal.info) as operating:
        return await work(operating)


def _to_json(value: Any) -> Json:
    """A database row as JSON."""
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value).items()
        return {name: _to_json(it) for name, it in pairs}
    if isinstance(value, list):
        return [_to_json(it) for it in cast(list[Any], value)]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _parse_token_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise CommandUsageError(
            InvalidFormat(f"{text!r} is not the id of a token", field="id", got=text)
        ) from None

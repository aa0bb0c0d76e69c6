"""Off-boarding: deletes a user and all their data."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import Field

from pecia.kernel.errors import Conflict, NotFound, list_hint
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.purge import PurgeTarget
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "user_purge.sql")
FEATURE = "admin"

Purger = Callable[[PurgeTarget], Awaitable[None]]


class PurgeUser(Input):
    # The name must not appear in the audit entry of the purge either.
    user: str = Field(min_length=1, max_length=200, json_schema_extra={"unaudited": True})


class PurgeUserOut(Output):
    purged: bool


@dataclass(frozen=True, slots=True)
class UserPurgeTools:
    """The handler. `purgers` come from the features, for data outside the kernel's tables."""

    store: Store
    audit_log: AuditLog
    purgers: tuple[Purger, ...]

    async def purge_user(self, call: Call, ask: PurgeUser) -> PurgeUserOut:
        """Remove a user for good: tokens, names, grants, memberships, and who they were in the
        audit log. Cannot be undone; earlier backups still hold them.
        """
        if ask.user == call.caller.user:
            raise Conflict("you cannot purge yourself; ask another administrator")
        # Entries still in the audit spool would bring them back.
        await self.audit_log.drain()
        async with self.store.writing(call.caller, call.trace) as tx:
            user_id = await tx.fetch_value(SQL["purge_user"], user=ask.user)
            if user_id is None:
                raise NotFound(f"no user {ask.user!r}", hint=list_hint("pecia user list"))
            for purge in self.purgers:
                await purge(PurgeTarget(tenant_id=call.caller.tenant_id, user_id=user_id))
        return PurgeUserOut(purged=True)


def purge_tools(
    store: Store, audit_log: AuditLog, purgers: tuple[Purger, ...]
) -> tuple[AnyTool, ...]:
    """The one tool that purges."""
    it = UserPurgeTools(store, audit_log, purgers)
    return (
        Tool(
            FEATURE,
            "purge_user",
            Scope.ADMIN,
            PurgeUser,
            PurgeUserOut,
            it.purge_user,
            read_only=False,
            destructive=True,
        ),
    )

"""Who stands at the door with this request, and what is offered to them."""

from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from starlette.types import Scope

from pecia.app.corridor import Visit
from pecia.doors.http.visit import neighbourhood
from pecia.doors.mcp.era import is_modern
from pecia.doors.mcp.offer import Offer
from pecia.kernel.identity.caller import Caller, Operator

KEY = "pecia.mcp"

Context: TypeAlias = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """One request, admitted."""

    who: Caller | Operator
    visit: Visit
    offer: Offer
    may_confirm: bool = True
    """Whether a yes of this client is a person's. In a local install only the owner's token says
    so: whoever runs as the owner's user, or made a token over the API, may be an agent that
    answers its own question."""

    @property
    def owner(self) -> str:
        """Whose sessions, tasks and states these are. Possession of an id is no proof."""
        if isinstance(self.who, Operator):
            return f"operator:{self.who.credential_id}"
        return f"{self.who.tenant_id}:{self.who.user_id or self.who.kind.value}"

    @property
    def quota_key(self) -> str:
        """Whom open sessions and streams are counted against: who has no name, by its address."""
        if isinstance(self.who, Caller) and self.who.is_anonymous:
            return f"{self.owner}:{neighbourhood(self.visit.client_ip)}"
        return self.owner


def put(scope: Scope, standing: Standing) -> None:
    scope[KEY] = standing


def standing_of(ctx: Context) -> Standing:
    """The standing that the door put into the request."""
    request = ctx.request
    assert request is not None
    return cast(Standing, request.scope[KEY])


def modern(ctx: Context) -> bool:
    return is_modern(ctx.protocol_version)


def connection_of(ctx: Context) -> Connection:
    """The connection of a session. Handlers have no public way to it, though its `state` and its
    `exit_stack` are made for them.
    """
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage] - see above; the version is pinned.

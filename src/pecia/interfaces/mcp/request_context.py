"""Who stands at the door with this request, and what is offered to them."""

from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from starlette.types import Scope

from pecia.app.dispatch import RequestContext
from pecia.interfaces.http.auth.authenticator import rate_limit_key
from pecia.interfaces.mcp.protocol_version import is_modern
from pecia.interfaces.mcp.views.endpoint_view import EndpointView
from pecia.kernel.identity.caller import Caller, Operator

SCOPE_KEY = "pecia.mcp"

Context: TypeAlias = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class McpRequestContext:
    """One request, admitted."""

    caller: Caller | Operator
    context: RequestContext
    view: EndpointView
    may_confirm: bool = True
    """Whether a yes of this client is a person's. In a local install only the owner's token says
    so: whoever runs as the owner's user, or made a token over the API, may be an agent that
    answers its own question."""

    @property
    def owner(self) -> str:
        """Whose sessions, tasks and states these are. Possession of an id is no proof."""
        if isinstance(self.caller, Operator):
            return f"operator:{self.caller.credential_id}"
        return f"{self.caller.tenant_id}:{self.caller.user_id or self.caller.kind.value}"

    @property
    def quota_key(self) -> str:
        """Whom open sessions and streams are counted against: who has no name, by its address."""
        if isinstance(self.caller, Caller) and self.caller.is_anonymous:
            return f"{self.owner}:{rate_limit_key(self.context.client_ip)}"
        return self.owner


def set_request_context(scope: Scope, standing: McpRequestContext) -> None:
    scope[SCOPE_KEY] = standing


def get_request_context(ctx: Context) -> McpRequestContext:
    """The standing that the door put into the request."""
    request = ctx.request
    assert request is not None
    return cast(McpRequestContext, request.scope[SCOPE_KEY])


def is_modern_client(ctx: Context) -> bool:
    return is_modern(ctx.protocol_version)


def get_connection(ctx: Context) -> Connection:
    """The connection of a session. Handlers have no public way to it, though its `state` and its
    `exit_stack` are made for them.
    """
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage] - see above; the version is pinned.

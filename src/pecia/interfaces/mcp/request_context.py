"""The caller of an MCP request, and the view of the endpoint for that caller."""

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
    """One authenticated request."""

    caller: Caller | Operator
    context: RequestContext
    view: EndpointView
    may_confirm: bool = True
    """Whether a confirmation by this client comes from a person. In a local install only the
    owner's token proves it: a process of the owner's user, or a client with a token made over
    the API, may be an agent that answers its own question."""

    @property
    def owner(self) -> str:
        """The owner of sessions, tasks and request states. Knowing an id proves nothing."""
        if isinstance(self.caller, Operator):
            return f"operator:{self.caller.credential_id}"
        return f"{self.caller.tenant_id}:{self.caller.user_id or self.caller.kind.value}"

    @property
    def quota_key(self) -> str:
        """The quota key for open sessions and streams: anonymous callers by address."""
        if isinstance(self.caller, Caller) and self.caller.is_anonymous:
            return f"{self.owner}:{rate_limit_key(self.context.client_ip)}"
        return self.owner


def set_request_context(scope: Scope, context: McpRequestContext) -> None:
    scope[SCOPE_KEY] = context


def get_request_context(ctx: Context) -> McpRequestContext:
    """The context that McpAuthenticator put into the request."""
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

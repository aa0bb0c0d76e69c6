"""One MCP request: who sent it, in which revision, with which settings, and what it may see.

The same for both HTTP transports.
"""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast
from urllib.parse import unquote

import orjson
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import Scope as AsgiScope

from pecia.app.app import App
from pecia.app.dispatch import Dispatcher, RequestContext, ToolCall
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator, rate_limit_key
from pecia.interfaces.http.request_info import get_request_info, raw_authorization
from pecia.interfaces.mcp.views.cipher import REMOTE_SETTINGS, cipher_options
from pecia.interfaces.mcp.views.endpoint_view import EndpointView, EndpointViews
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
from pecia.kernel.errors import Forbidden, InvalidFormat, Json
from pecia.kernel.identity.caller import Caller, CredentialKind, Operator, Scope
from pecia.kernel.tool.call import CLIENT_NAME, CLIENT_VERSION

INTERFACE = "mcp"
SCOPE_KEY = "pecia.mcp"

BATCH_VERSION = "2025-03-26"
"""The only revision with batches, and the default of a client that names none."""

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

SESSION_HEADER = "X-Pecia-Session"
"""Settings of a session, which the stdio relay sends. Those that choose memories are accepted from
everywhere, all others, such as keys of models, from the same machine only."""
MAX_SHOWN_CHARS = 200

# Headers for the name of a space, or for a folder in it, and their session keys in the wiki. They
# come from any machine: they grant no rights.
SPACE_HEADERS = {"X-Pecia-Space": "wiki.space", "X-Pecia-Project": "wiki.project"}
MAX_SPACE_CHARS = 4000
MAX_CLIENT_CHARS = 128

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
    call: ToolCall | None = None
    """The admitted call of a `tools/call`. None in a batch and over SSE, where one request has no
    status of its own: there the handler admits it."""

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


@dataclass(frozen=True, slots=True)
class McpAuthenticator:
    """Authentication for one endpoint."""

    endpoint: McpEndpoint
    app: App
    views: EndpointViews
    authenticator: HttpAuthenticator

    async def authenticate(self, request: Request) -> McpRequestContext:
        """The caller of a request, and the view of the endpoint for that caller."""
        context = self.authenticator.request_context(request, INTERFACE)
        who = await self.authenticator.authenticate(request, context, scope=Scope.SEARCH.value)
        session = {**_forwarded_settings(request, self.app), **_space_settings(request)}
        if session:
            context = replace(context, session=session)
        view = await self.views.resolve(self.endpoint, request.headers, who, session)
        here = McpRequestContext(who, context, view, may_confirm=self._may_confirm(request, who))
        set_request_context(request.scope, here)
        return here

    def _may_confirm(self, request: Request, who: Caller | Operator) -> bool:
        if not self.authenticator.is_local_install:
            return True
        is_owner = isinstance(who, Caller) and who.kind is CredentialKind.LOCAL
        return is_owner and raw_authorization(request) is not None


async def admit_call(
    dispatcher: Dispatcher, here: McpRequestContext, name: str, arguments: Mapping[str, Json]
) -> ToolCall:
    """Look up the tool that a call names, itself or by `call_tool`, and check the scope."""
    name, arguments, view = here.view.resolve_call(name, arguments)
    return await dispatcher.admit(here.caller, view, name, arguments, here.context)


def set_request_context(scope: AsgiScope, context: McpRequestContext) -> None:
    """Put the context where the handlers of the SDK find it."""
    scope[SCOPE_KEY] = context


def get_request_context(ctx: Context) -> McpRequestContext:
    """The context that the transport put into the request."""
    request = ctx.request
    assert request is not None
    return cast(McpRequestContext, request.scope[SCOPE_KEY])


def is_modern(version: str) -> bool:
    """Whether a revision is modern: without handshake and sessions."""
    return version in MODERN_PROTOCOL_VERSIONS


def is_modern_client(ctx: Context) -> bool:
    return is_modern(ctx.protocol_version)


def client_of(ctx: Context) -> dict[str, Json]:
    """The client program as it calls itself: for the session of a call."""
    params = ctx.session.client_params
    if params is None:
        return {}
    found = {CLIENT_NAME: params.client_info.name, CLIENT_VERSION: params.client_info.version}
    return {key: _plain(it) for key, it in found.items() if _plain(it)}


def _plain(text: str) -> str:
    """On one line, without control characters, and short."""
    words = "".join(it if it.isprintable() else " " for it in text[:1000])
    return " ".join(words.split())[:MAX_CLIENT_CHARS]


def has_tasks_extension(ctx: Context) -> bool:
    """Whether the client declared the tasks extension with this request."""
    can = ctx.session.client_capabilities
    return can is not None and TASKS_EXTENSION in (can.extensions or {})


def speaks_modern(header: str | None, message: Any) -> bool:
    """Whether a request is handled by the modern rules.

    An unknown revision is, because that era has an error for it.
    """
    if header is not None:
        return header not in HANDSHAKE_PROTOCOL_VERSIONS
    return PROTOCOL_VERSION_META_KEY in _meta(message)


def get_connection(ctx: Context) -> Connection:
    """The connection of a session. Handlers have no public way to it, though its `state` and its
    `exit_stack` are made for them.
    """
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage] - see above; the version is pinned.


def _meta(message: Any) -> Mapping[str, Any]:
    params = cast(Any, message).get("params") if isinstance(message, dict) else None
    meta = cast(Any, params).get("_meta") if isinstance(params, dict) else None
    return cast(Mapping[str, Any], meta) if isinstance(meta, dict) else {}


def _space_settings(request: Request) -> dict[str, Json]:
    headers = {SPACE_HEADERS[name]: request.headers.get(name) for name in SPACE_HEADERS}
    return {key: unquote(it)[:MAX_SPACE_CHARS] for key, it in headers.items() if it}


def _forwarded_settings(request: Request, app: App) -> dict[str, Json]:
    """The settings that the relay forwards. They are neither stored nor logged."""
    header = request.headers.get(SESSION_HEADER)
    if header is None:
        return {}
    is_near = app.settings.kernel.mode == "local" and get_request_info(request.scope).is_local
    try:
        found = orjson.loads(b64decode(header, validate=True))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat(
            f"{SESSION_HEADER} must be JSON in base64", field=SESSION_HEADER, expected="object"
        )
    session = cast(dict[str, Json], found)
    if not is_near and (refused := sorted(session.keys() - REMOTE_SETTINGS)):
        raise Forbidden(
            "from another machine a session sets which memories it uses, and nothing else; not "
            + ", ".join(refused)[:MAX_SHOWN_CHARS],
            header=SESSION_HEADER,
        )
    # A value that is none is refused with the first request, and not by the tool that needs it.
    cipher_options(app.settings, session)
    return session

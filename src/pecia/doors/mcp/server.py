"""One SDK server for one endpoint: which handler answers which method. It opens no socket."""

from dataclasses import dataclass
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    CompleteRequestParams,
    EmptyResult,
    GetPromptRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)
from pydantic import ValidationError

from pecia import __version__
from pecia.app.app import App
from pecia.doors.mcp.calls import Calls
from pecia.doors.mcp.changes import Changes, wanted
from pecia.doors.mcp.channel import LEVEL
from pecia.doors.mcp.endpoints import DESK, Endpoint
from pecia.doors.mcp.errors import rpc_error
from pecia.doors.mcp.listing import TTL_MS, VERSION_KEY, Listings
from pecia.doors.mcp.narrowing import EVERYTHING
from pecia.doors.mcp.offer import Offers
from pecia.doors.mcp.session_table import SessionTable
from pecia.doors.mcp.shelf import Shelf
from pecia.doors.mcp.standing import Context, connection_of, modern, standing_of
from pecia.doors.mcp.state import sealing
from pecia.doors.mcp.tasks import EXTENSION, TaskBoard, TaskParams, UpdateParams
from pecia.doors.mcp.watch import Watchmen
from pecia.kernel.errors import InvalidInput, MethodNotFound, PeciaError
from pecia.kernel.tool.validate import input_schema

INSTRUCTIONS = (
    "Find, read, compile, write and remember knowledge. The tools listed here are the few that "
    "most work begins with: find_tools searches all the others, call_tool calls them."
)


class Told(Server[Any]):
    """A server that says in the handshake that its lists may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changing = NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        # The extensions are of the newer era, which does not come this way.
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions or {}
        )


@dataclass(frozen=True, slots=True)
class Parts:
    """What the servers of all endpoints share."""

    app: App
    offers: Offers
    changes: Changes
    tasks: TaskBoard
    watchmen: Watchmen
    sessions: SessionTable


def make_server(endpoint: Endpoint, parts: Parts, listings: Listings) -> Server[Any]:
    """The server of an endpoint, with every method of the protocol."""
    whole = parts.offers.of(endpoint, EVERYTHING)

    def schema_of(name: str) -> Any:
        tool = whole.find(name)
        return input_schema(tool) if tool is not None else None

    server = Told(
        endpoint.server_name,
        version=endpoint.server_version,
        instructions=_instructions(endpoint, parts.app),
        cache_hints={"server/discover": CacheHint(TTL_MS, "private")},
        get_tool_input_schema=schema_of,
    )
    server.middleware = [
        _with_codes,
        sealing(parts.app.keyring, endpoint),
        _Welcome(parts.changes),
    ]
    _serve_tools(server, parts, listings)
    shelf = Shelf(parts.app, endpoint)
    _serve_shelf(server, shelf)
    _serve_changes(server, parts.changes, shelf)
    _serve_tasks(server, parts.tasks)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
    return server


def _instructions(endpoint: Endpoint, app: App) -> str | None:
    if endpoint.shows == DESK:
        return INSTRUCTIONS
    return next((it.instructions for it in app.rooms if it.name == endpoint.shows), None)


def _serve_tools(server: Server[Any], parts: Parts, listings: Listings) -> None:
    async def list_tools(ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = standing_of(ctx)
        try:
            page = listings.page(here.offer, here.who, ctx.protocol_version, params.cursor)
        except PeciaError as error:
            raise rpc_error(error, modern=modern(ctx)) from None
        return page.wire

    calls = Calls(parts.app, parts.tasks)
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, calls.call)


def _serve_shelf(server: Server[Any], shelf: Shelf) -> None:
    add = server.add_request_handler
    add("resources/list", PaginatedRequestParams, shelf.list_resources)
    add("resources/templates/list", PaginatedRequestParams, shelf.list_templates)
    add("resources/read", ReadResourceRequestParams, shelf.read)
    add("prompts/list", PaginatedRequestParams, shelf.list_prompts)
    add("prompts/get", GetPromptRequestParams, shelf.get_prompt)
    add("completion/complete", CompleteRequestParams, shelf.complete)


def _serve_changes(server: Server[Any], changes: Changes, shelf: Shelf) -> None:
    async def subscribe(ctx: Context, params: SubscribeRequestParams) -> HandlerResult:
        await shelf.require_readable(ctx, params.uri)
        return await changes.subscribe(ctx, params)

    async def listen(ctx: Context, params: SubscriptionsListenRequestParams) -> HandlerResult:
        for uri in wanted(params):
            await shelf.require_readable(ctx, uri)
        return await changes.listen(ctx, params)

    add = server.add_request_handler
    add("resources/subscribe", SubscribeRequestParams, subscribe)
    add("resources/unsubscribe", UnsubscribeRequestParams, changes.unsubscribe)
    add("subscriptions/listen", SubscriptionsListenRequestParams, listen)


def _serve_tasks(server: Server[Any], tasks: TaskBoard) -> None:
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tasks/get", TaskParams, tasks.get)
    server.add_request_handler("tasks/update", UpdateParams, tasks.update)
    server.add_request_handler("tasks/cancel", TaskParams, tasks.cancel)


async def _set_level(ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
    connection_of(ctx).state[LEVEL] = params.level
    return EmptyResult()


@dataclass(frozen=True, slots=True)
class _Welcome:
    """Says our own version in the handshake, where the server bears the name of a reference."""

    changes: Changes

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method != "initialize" or not isinstance(result, dict):
            return result
        await self.changes.join(ctx)
        return {**result, "_meta": {VERSION_KEY: __version__}}


async def _with_codes(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Gives the SDK's own refusals the stable code that all of ours carry."""
    try:
        return await call_next(ctx)
    except ValidationError as wrong:
        at = ".".join(map(str, wrong.errors()[0]["loc"])) or "params"
        told = InvalidInput(f"the params of {ctx.method} are wrong at {at}", field=at)
        raise rpc_error(told, modern=modern(ctx)) from None
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND and not isinstance(error.data, dict):
            unknown = MethodNotFound(f"Method not found: {ctx.method}", method=ctx.method)
            raise rpc_error(unknown, modern=modern(ctx)) from None
        raise

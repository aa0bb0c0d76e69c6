"""One SDK server for one endpoint: which handler answers which method. It opens no socket."""

from dataclasses import dataclass, replace
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
from pecia.app.dispatch import RequestContext
from pecia.interfaces.mcp.content import tool_result
from pecia.interfaces.mcp.errors import is_protocol_error, rpc_error, tool_error
from pecia.interfaces.mcp.instructions import InstructionWriter
from pecia.interfaces.mcp.methods.channel import (
    LOG_LEVEL_KEY,
    InputRequiredChannel,
    client_channel,
)
from pecia.interfaces.mcp.methods.request_state import request_state_middleware
from pecia.interfaces.mcp.methods.resources import ResourceHandlers
from pecia.interfaces.mcp.methods.skills import EXTENSION as SKILLS_EXTENSION
from pecia.interfaces.mcp.methods.skills import SkillHandlers, SkillParams
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions, requested_uris
from pecia.interfaces.mcp.methods.tasks import McpTaskStore, TaskParams, TaskUpdateParams
from pecia.interfaces.mcp.methods.tool_list import TTL_MS, VERSION_META_KEY, ToolListCache
from pecia.interfaces.mcp.request_context import (
    TASKS_EXTENSION,
    Context,
    McpRequestContext,
    admit_call,
    client_of,
    get_connection,
    get_request_context,
    has_tasks_extension,
    is_modern_client,
)
from pecia.interfaces.mcp.transport.exchange import DisconnectWatchers
from pecia.interfaces.mcp.transport.session_table import SessionTable
from pecia.interfaces.mcp.views.endpoint_view import NO_FILTER, EndpointViews
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
from pecia.kernel.errors import InvalidInput, MethodNotFound, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.tool.call import Channel, InputRequired
from pecia.kernel.tool.validate import input_schema


class NotifyingServer(Server[Any]):
    """A server that declares in the handshake that its lists may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changing = NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        # Extensions are modern, and modern clients send no handshake.
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions or {}
        )


@dataclass(frozen=True, slots=True)
class McpServices:
    """What the servers of all endpoints share."""

    app: App
    views: EndpointViews
    subscriptions: Subscriptions
    tasks: McpTaskStore
    watchers: DisconnectWatchers
    sessions: SessionTable


def make_server(
    endpoint: McpEndpoint, services: McpServices, listings: ToolListCache
) -> Server[Any]:
    """The server of an endpoint, with every method of the protocol."""
    whole = services.views.get(endpoint, NO_FILTER)

    def schema_of(name: str) -> Any:
        tool = whole.view.lookup(name)
        return input_schema(tool) if tool is not None else None

    server = NotifyingServer(
        endpoint.server_name,
        version=endpoint.server_version,
        cache_hints={"server/discover": CacheHint(TTL_MS, "private")},
        get_tool_input_schema=schema_of,
    )
    server.middleware = [
        _add_error_codes,
        request_state_middleware(services.app.keyring, endpoint),
        _Handshake(services.subscriptions, InstructionWriter(endpoint, services.app.features)),
    ]
    _serve_tools(server, services, listings)
    resources = SkillHandlers(services.app, endpoint)
    _serve_resources(server, resources)
    _serve_subscriptions(server, services.subscriptions, resources)
    _serve_tasks(server, services.tasks)
    _serve_skills(server, resources)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
    return server


def _serve_tools(server: Server[Any], services: McpServices, listings: ToolListCache) -> None:
    async def list_tools(ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        try:
            page = await listings.get_page(
                here.view, here.caller, ctx.protocol_version, params.cursor
            )
        except PeciaError as error:
            raise rpc_error(error, modern=is_modern_client(ctx)) from None
        return page.wire

    calls = ToolCallHandler(services.app, services.tasks)
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, calls.call)


def _serve_resources(server: Server[Any], resources: ResourceHandlers) -> None:
    add = server.add_request_handler
    add("resources/list", PaginatedRequestParams, resources.list_resources)
    add("resources/templates/list", PaginatedRequestParams, resources.list_templates)
    add("resources/read", ReadResourceRequestParams, resources.read)
    add("prompts/list", PaginatedRequestParams, resources.list_prompts)
    add("prompts/get", GetPromptRequestParams, resources.get_prompt)
    add("completion/complete", CompleteRequestParams, resources.complete)


def _serve_subscriptions(
    server: Server[Any], changes: Subscriptions, resources: ResourceHandlers
) -> None:
    async def subscribe(ctx: Context, params: SubscribeRequestParams) -> HandlerResult:
        await resources.require_readable(ctx, params.uri)
        return await changes.subscribe(ctx, params)

    async def listen(ctx: Context, params: SubscriptionsListenRequestParams) -> HandlerResult:
        for uri in requested_uris(params):
            await resources.require_readable(ctx, uri)
        return await changes.listen(ctx, params)

    add = server.add_request_handler
    add("resources/subscribe", SubscribeRequestParams, subscribe)
    add("resources/unsubscribe", UnsubscribeRequestParams, changes.unsubscribe)
    add("subscriptions/listen", SubscriptionsListenRequestParams, listen)


def _serve_tasks(server: Server[Any], tasks: McpTaskStore) -> None:
    server.extensions[TASKS_EXTENSION] = {}
    server.add_request_handler("tasks/get", TaskParams, tasks.get)
    server.add_request_handler("tasks/update", TaskUpdateParams, tasks.update)
    server.add_request_handler("tasks/cancel", TaskParams, tasks.cancel)


def _serve_skills(server: Server[Any], skills: SkillHandlers) -> None:
    server.extensions[SKILLS_EXTENSION] = {}
    server.add_request_handler("skills/list", PaginatedRequestParams, skills.list_skills)
    server.add_request_handler("skills/get", SkillParams, skills.get_skill)


async def _set_level(ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
    get_connection(ctx).state[LOG_LEVEL_KEY] = params.level
    return EmptyResult()


@dataclass(frozen=True, slots=True)
class ToolCallHandler:
    """The handler of `tools/call` for one endpoint."""

    app: App
    tasks: McpTaskStore

    async def call(self, ctx: Context, params: CallToolRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        channel = client_channel(ctx, params.input_responses, params.request_state)

        context = replace(here.context, session={**here.context.session, **client_of(ctx)})

        async def work(it: Channel) -> dict[str, Any]:
            named = replace(context, channel=it)
            return await self._run(here, params, named, is_modern=is_modern_client(ctx))

        try:
            if is_modern_client(ctx) and has_tasks_extension(ctx):
                return await self.tasks.run(here, channel, work)
            return await work(channel)
        except InputRequired as required:
            assert isinstance(channel, InputRequiredChannel)
            return channel.input_required_result(required)

    async def _run(
        self,
        here: McpRequestContext,
        params: CallToolRequestParams,
        context: RequestContext,
        *,
        is_modern: bool,
    ) -> dict[str, Any]:
        dispatcher, name = self.app.dispatcher, params.name
        try:
            call = here.call or await admit_call(dispatcher, here, name, params.arguments or {})
            name = call.name
            result = await dispatcher.run_call(call, context)
        except PeciaError as error:
            # An unknown name in `call_tool` is the model's mistake: a tool error, to be corrected.
            if name == params.name and is_protocol_error(error, modern=is_modern):
                raise rpc_error(error, modern=is_modern) from None
            return tool_error(error, for_agents=here.view.for_agents)
        return tool_result(result, modern=is_modern, for_agents=here.view.for_agents)


@dataclass(frozen=True, slots=True)
class _Handshake:
    """Adds to a handshake the instructions for its caller, and our own version, where the server
    has the name of a reference."""

    subscriptions: Subscriptions
    instructions: InstructionWriter

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method not in ("initialize", "server/discover") or result is None:
            return result
        here = get_request_context(ctx)
        known = result if isinstance(result, dict) else result.model_dump(by_alias=True)
        if isinstance(here.caller, Caller):
            known["instructions"] = await self.instructions.write(here.view, here.caller)
        if ctx.method == "server/discover":
            return known
        await self.subscriptions.add_session(ctx)
        return {**known, "_meta": {VERSION_META_KEY: __version__}}


async def _add_error_codes(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Adds our stable error codes to the SDK's own errors."""
    try:
        return await call_next(ctx)
    except ValidationError as wrong:
        at = ".".join(map(str, wrong.errors()[0]["loc"])) or "params"
        invalid = InvalidInput(f"invalid params of {ctx.method} at {at}", field=at)
        raise rpc_error(invalid, modern=is_modern_client(ctx)) from None
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND and not isinstance(error.data, dict):
            unknown = MethodNotFound(f"Method not found: {ctx.method}", method=ctx.method)
            raise rpc_error(unknown, modern=is_modern_client(ctx)) from None
        raise

"""`tools/call`: through the dispatcher, and back as a result in the client's revision."""

from dataclasses import dataclass, replace
from typing import Any

from mcp.server.context import HandlerResult
from mcp_types import CallToolRequestParams

from pecia.app.app import App
from pecia.interfaces.mcp.content import tool_result
from pecia.interfaces.mcp.errors import is_protocol_error, rpc_error, tool_error
from pecia.interfaces.mcp.methods.channel import (
    InputRequiredChannel,
    SessionChannel,
    input_required_channel,
)
from pecia.interfaces.mcp.methods.tasks import McpTaskStore, has_tasks_extension
from pecia.interfaces.mcp.request_context import (
    Context,
    McpRequestContext,
    get_request_context,
    is_modern_client,
)
from pecia.kernel.errors import PeciaError
from pecia.kernel.tool.call import Channel, InputRequired


@dataclass(frozen=True, slots=True)
class ToolCallHandler:
    """The handler of `tools/call` for one endpoint."""

    app: App
    tasks: McpTaskStore

    async def call(self, ctx: Context, params: CallToolRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        channel = (
            input_required_channel(ctx, params.input_responses, params.request_state)
            if is_modern_client(ctx)
            else SessionChannel(ctx)
        )

        async def work(it: Channel) -> dict[str, Any]:
            return await self._run(here, params, it, is_modern=is_modern_client(ctx))

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
        channel: Channel,
        *,
        is_modern: bool,
    ) -> dict[str, Any]:
        name, arguments, view = here.view.resolve_call(params.name, params.arguments or {})
        context = replace(here.context, channel=channel)
        try:
            result = await self.app.call(here.caller, name, arguments, context, view)
        except PeciaError as error:
            # An unknown name in `call_tool` is the model's mistake: a tool error, to be corrected.
            if name == params.name and is_protocol_error(error, modern=is_modern):
                raise rpc_error(error, modern=is_modern) from None
            return tool_error(error)
        return tool_result(result, modern=is_modern)

"""Calls of tools: into the corridor, and back as a result that the client's era understands."""

from dataclasses import dataclass, replace
from typing import Any

from mcp.server.context import HandlerResult
from mcp_types import CallToolRequestParams

from pecia.app.app import App
from pecia.doors.mcp.channel import Asking, Returning, returning
from pecia.doors.mcp.content import tool_result
from pecia.doors.mcp.errors import is_envelope, rpc_error, tool_error
from pecia.doors.mcp.standing import Context, Standing, modern, standing_of
from pecia.doors.mcp.tasks import TaskBoard, can_follow_tasks
from pecia.kernel.errors import PeciaError
from pecia.kernel.tool.call import Channel, InputRequired


@dataclass(frozen=True, slots=True)
class Calls:
    """The handler of `tools/call` for one endpoint."""

    app: App
    tasks: TaskBoard

    async def call(self, ctx: Context, params: CallToolRequestParams) -> HandlerResult:
        here = standing_of(ctx)
        channel = (
            returning(ctx, params.input_responses, params.request_state)
            if modern(ctx)
            else Asking(ctx)
        )

        async def work(it: Channel) -> dict[str, Any]:
            return await self._run(here, params, it, is_modern=modern(ctx))

        try:
            if modern(ctx) and can_follow_tasks(ctx):
                return await self.tasks.run(here, channel, work)
            return await work(channel)
        except InputRequired as asked:
            assert isinstance(channel, Returning)
            return channel.waiting(asked)

    async def _run(
        self, here: Standing, params: CallToolRequestParams, channel: Channel, *, is_modern: bool
    ) -> dict[str, Any]:
        name, arguments, view = here.offer.meant(params.name, params.arguments or {})
        visit = replace(here.visit, channel=channel)
        try:
            result = await self.app.call(here.who, name, arguments, visit, view)
        except PeciaError as error:
            # A wrong name given to `call_tool` is the model's mistake, and its to mend.
            if name == params.name and is_envelope(error, modern=is_modern):
                raise rpc_error(error, modern=is_modern) from None
            return tool_error(error)
        return tool_result(result, modern=is_modern)

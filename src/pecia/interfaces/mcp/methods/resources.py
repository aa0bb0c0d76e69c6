"""Resources, templates, prompts and completions of the features that an endpoint serves.

What reads data runs through the dispatcher, as an operation; static lists do not.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import orjson
from mcp.server.context import HandlerResult
from mcp_types import (
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
)

from pecia.app.app import App
from pecia.app.dispatch import Operation
from pecia.interfaces.mcp.content import (
    COMPLETE_RESULT,
    content_block,
    drop_none,
    resource_contents,
)
from pecia.interfaces.mcp.errors import resource_error, rpc_error
from pecia.interfaces.mcp.methods.channel import (
    InputRequiredChannel,
    SessionChannel,
    client_channel,
)
from pecia.interfaces.mcp.methods.tool_list import cache_hints, paginate
from pecia.interfaces.mcp.request_context import (
    Context,
    McpRequestContext,
    get_request_context,
    is_modern_client,
)
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
from pecia.kernel.errors import InvalidFormat, MissingField, NotFound, PeciaError
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.tool.call import Call, Channel, InputRequired
from pecia.kernel.tool.model import (
    Complete,
    Completion,
    Prompt,
    PromptMessage,
    Resource,
    ResourcePage,
    ResourceTemplate,
    find_resource,
)

T = TypeVar("T")

MAX_COMPLETIONS = 100


@dataclass(frozen=True, slots=True)
class ResourceHandlers:
    """The handlers of one endpoint for everything but tools."""

    app: App
    endpoint: McpEndpoint

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        families = [it for it in _resources(here) if _may_use(here, it)]
        operation = Operation("resources/list", Scope.READ, public=True)

        async def work(call: Call) -> ResourcePage:
            return await _read_page(families, call, params.cursor)

        page = await self._run(ctx, operation, work, SessionChannel(ctx))
        entries = [
            drop_none(
                {
                    "uri": it.uri,
                    "name": it.name,
                    "title": it.title,
                    "description": it.description,
                    "mimeType": it.mime_type,
                    "size": it.size_bytes,
                }
            )
            for it in page.entries
        ]
        listed = drop_none({"resources": entries, "nextCursor": page.next_cursor})
        return {**COMPLETE_RESULT, **listed, **cache_hints(here.view)}

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        found = [
            drop_none(
                {
                    "uriTemplate": it.uri_template,
                    "name": it.name,
                    "description": it.description or None,
                    "mimeType": it.mime_type,
                }
            )
            for it in _templates(here)
            if _may_use(here, it)
        ]
        return self._list_page(ctx, "resourceTemplates", found, params.cursor)

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> HandlerResult:
        family, operation = self._find_resource(ctx, params.uri, "resources/read")

        async def work(call: Call) -> HandlerResult:
            contents = await family.read(call, params.uri)
            return {
                **COMPLETE_RESULT,
                "contents": [resource_contents(it) for it in contents],
                "ttlMs": 0,
                "cacheScope": "private",
            }

        return await self._run_interactive(
            ctx, params, operation, work, by_reference=self._by_reference
        )

    async def require_readable(self, ctx: Context, uri: str) -> None:
        """Raise what reading would raise, if this caller may not read it."""
        family, operation = self._find_resource(ctx, uri, "resources/subscribe")

        async def work(call: Call) -> None:
            await family.read(call, uri)

        await self._run(ctx, operation, work, SessionChannel(ctx), by_reference=self._by_reference)

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        found = [_describe_prompt(it) for it in _prompts(here) if _may_use(here, it)]
        return self._list_page(ctx, "prompts", found, params.cursor)

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        prompt = next((it for it in _prompts(here) if it.name == params.name), None)
        if prompt is None:
            known = [it.name for it in _prompts(here) if _may_use(here, it)]
            absent = NotFound(f"Prompt not found: {params.name[:200]}", available=[*known])
            raise rpc_error(absent, modern=is_modern_client(ctx))
        given = params.arguments or {}
        self._require_arguments(ctx, prompt, given)
        operation = _operation(here, prompt, "prompts/get", {"name": prompt.name})

        async def work(call: Call) -> HandlerResult:
            said = await prompt.render(call, given)
            messages = [_message(it) for it in said]
            return {**COMPLETE_RESULT, "description": prompt.description, "messages": messages}

        return await self._run_interactive(ctx, params, operation, work)

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> HandlerResult:
        here = get_request_context(ctx)
        about = _completion_target(here, params)
        known = dict(params.context.arguments or {}) if params.context else {}
        name, value = params.argument.name, params.argument.value
        if about is None or about[1] is None:
            return _completion_result(Completion(()))
        target, complete = about
        operation = _operation(here, target, "completion/complete", {"argument": name[:200]})

        async def work(call: Call) -> HandlerResult:
            return _completion_result(await complete(call, name, value, known))

        return await self._run(ctx, operation, work, SessionChannel(ctx))

    @property
    def _by_reference(self) -> bool:
        return self.endpoint.toolset == "ckf"

    def more_families(self, here: McpRequestContext) -> tuple[Resource, ...]:
        """Families that can be read and are in no list."""
        return ()

    def _find_resource(self, ctx: Context, uri: str, method: str) -> tuple[Resource, Operation]:
        """The resource family of a URI, and the operation that reads it."""
        here = get_request_context(ctx)
        family = find_resource((*_resources(here), *self.more_families(here)), uri)
        if family is None:
            absent = NotFound(f"no resource {uri[:500]!r} here", uri=uri[:500])
            raise resource_error(
                absent, modern=is_modern_client(ctx), by_reference=self._by_reference
            )
        return family, _operation(here, family, method, {"uri": uri[:500]})

    async def _run_interactive(
        self,
        ctx: Context,
        params: ReadResourceRequestParams | GetPromptRequestParams,
        operation: Operation,
        work: Callable[[Call], Awaitable[HandlerResult]],
        *,
        by_reference: bool = True,
    ) -> HandlerResult:
        """Run the operation on a channel that can send questions to the client."""
        channel = client_channel(ctx, params.input_responses, params.request_state)
        try:
            return await self._run(ctx, operation, work, channel, by_reference=by_reference)
        except InputRequired as asked:
            assert isinstance(channel, InputRequiredChannel)
            return channel.input_required_result(asked)

    async def _run(
        self,
        ctx: Context,
        operation: Operation,
        work: Callable[[Call], Awaitable[T]],
        channel: Channel,
        *,
        by_reference: bool = True,
    ) -> T:
        here = get_request_context(ctx)
        context = replace(here.context, channel=channel)
        try:
            return await self.app.dispatcher.run(here.caller, operation, context, work)
        except PeciaError as error:
            raise resource_error(
                error, modern=is_modern_client(ctx), by_reference=by_reference
            ) from None

    def _list_page(
        self, ctx: Context, name: str, items: Sequence[dict[str, Any]], cursor: str | None
    ) -> HandlerResult:
        try:
            page, after = paginate(items, cursor)
        except PeciaError as error:
            raise rpc_error(error, modern=is_modern_client(ctx)) from None
        listed = drop_none({name: [*page], "nextCursor": after})
        return {**COMPLETE_RESULT, **listed, **cache_hints(get_request_context(ctx).view)}

    def _require_arguments(self, ctx: Context, prompt: Prompt, given: Mapping[str, str]) -> None:
        for it in prompt.arguments:
            if it.required and it.name not in given:
                absent = MissingField(f'Field "{it.name}" is required', field=it.name)
                raise rpc_error(absent, modern=is_modern_client(ctx))


def _resources(here: McpRequestContext) -> list[Resource]:
    return [it for feature in here.view.features for it in feature.resources]


def _templates(here: McpRequestContext) -> list[ResourceTemplate]:
    return [it for feature in here.view.features for it in feature.templates]


def _prompts(here: McpRequestContext) -> list[Prompt]:
    return [it for feature in here.view.features for it in feature.prompts]


def _is_public(it: Resource | ResourceTemplate | Prompt) -> bool:
    return not isinstance(it, ResourceTemplate) and it.public


def _may_use(here: McpRequestContext, it: Resource | ResourceTemplate | Prompt) -> bool:
    if not isinstance(here.caller, Caller):
        return False
    return _is_public(it) if here.caller.is_anonymous else it.scope in here.caller.scopes


def _operation(
    here: McpRequestContext,
    it: Resource | ResourceTemplate | Prompt,
    method: str,
    arguments: Mapping[str, Any],
) -> Operation:
    is_stranger = isinstance(here.caller, Caller) and here.caller.is_anonymous
    public = _is_public(it) and is_stranger
    return Operation(f"{it.feature}.{method}", it.scope, public=public, arguments=arguments)


async def _read_page(families: Sequence[Resource], call: Call, cursor: str | None) -> ResourcePage:
    """One family after the other; the cursor has the family, and the cursor within it."""
    index, inner = _decode_cursor(cursor, len(families))
    while index < len(families):
        page = await families[index].listing(call, inner)
        after = (index, page.next_cursor) if page.next_cursor else (index + 1, None)
        is_last = after[0] >= len(families)
        if page.entries or is_last:
            return ResourcePage(page.entries, None if is_last else _encode_cursor(*after))
        index, inner = after
    return ResourcePage(())


def _encode_cursor(index: int, inner: str | None) -> str:
    return urlsafe_b64encode(orjson.dumps([index, inner])).decode()


def _decode_cursor(cursor: str | None, families: int) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    try:
        match orjson.loads(urlsafe_b64decode(cursor)):
            case [int(index), (str() | None) as inner] if 0 <= index < families:
                return index, inner
            case _:
                raise ValueError
    except ValueError:
        raise InvalidFormat(
            "invalid cursor; use the nextCursor of the previous page",
            field="cursor",
            got=cursor[:100],
        ) from None


def _describe_prompt(prompt: Prompt) -> dict[str, Any]:
    return {
        "name": prompt.name,
        "description": prompt.description,
        "arguments": [
            {"name": it.name, "description": it.description, "required": it.required}
            for it in prompt.arguments
        ],
    }


def _message(said: PromptMessage) -> dict[str, Any]:
    return {"role": said.role, "content": content_block(said.content)}


def _completion_target(
    here: McpRequestContext, params: CompleteRequestParams
) -> tuple[Prompt | ResourceTemplate, Complete] | None:
    """The prompt or template that the completion refers to, if this caller may use it."""
    if isinstance(params.ref, PromptReference):
        named = [it for it in _prompts(here) if it.name == params.ref.name]
    else:
        named = [it for it in _templates(here) if it.uri_template == params.ref.uri]
    for it in named:
        if it.complete is not None and _may_use(here, it):
            return it, it.complete
    return None


def _completion_result(found: Completion) -> HandlerResult:
    values = [*found.values[:MAX_COMPLETIONS]]
    more = found.has_more or len(found.values) > MAX_COMPLETIONS
    return {
        **COMPLETE_RESULT,
        "completion": drop_none({"values": values, "total": found.total, "hasMore": more}),
    }

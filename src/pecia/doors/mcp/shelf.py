"""Resources, templates, prompts and completions of the rooms that an endpoint serves.

What reads somebody's data goes through the corridor, as an errand; what only names things does not.
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
from pecia.app.corridor import Errand
from pecia.doors.mcp.channel import Asking, Returning, returning
from pecia.doors.mcp.content import COMPLETE, block, present, resource
from pecia.doors.mcp.endpoints import Endpoint
from pecia.doors.mcp.errors import resource_error, rpc_error
from pecia.doors.mcp.listing import freshness, paged
from pecia.doors.mcp.standing import Context, Standing, modern, standing_of
from pecia.kernel.errors import InvalidFormat, MissingField, NotFound, PeciaError
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.tool.call import Call, Channel, InputRequired
from pecia.kernel.tool.model import (
    Complete,
    Completion,
    Page,
    Prompt,
    PromptMessage,
    Resource,
    ResourceTemplate,
)

T = TypeVar("T")

MOST_COMPLETIONS = 100


@dataclass(frozen=True, slots=True)
class Shelf:
    """The handlers of one endpoint for everything that is no tool."""

    app: App
    endpoint: Endpoint

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = standing_of(ctx)
        families = [it for it in _resources(here) if _may(here, it)]
        errand = Errand("resources/list", Scope.READ, public=True)

        async def work(call: Call) -> Page:
            return await _page(families, call, params.cursor)

        page = await self._run(ctx, errand, work, Asking(ctx))
        entries = [
            present(
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
        listed = present({"resources": entries, "nextCursor": page.next_cursor})
        return {**COMPLETE, **listed, **freshness(here.offer)}

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = standing_of(ctx)
        found = [
            present(
                {
                    "uriTemplate": it.uri_template,
                    "name": it.name,
                    "description": it.description or None,
                    "mimeType": it.mime_type,
                }
            )
            for it in _templates(here)
            if _may(here, it)
        ]
        return self._listed(ctx, "resourceTemplates", found, params.cursor)

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> HandlerResult:
        family, errand = self._found(ctx, params.uri, "resources/read")

        async def work(call: Call) -> HandlerResult:
            contents = await family.read(call, params.uri)
            return {
                **COMPLETE,
                "contents": [resource(it) for it in contents],
                "ttlMs": 0,
                "cacheScope": "private",
            }

        return await self._asking(ctx, params, errand, work, by_reference=self._by_reference)

    async def require_readable(self, ctx: Context, uri: str) -> None:
        """Refuse, as reading would, what this caller could not read."""
        family, errand = self._found(ctx, uri, "resources/subscribe")

        async def work(call: Call) -> None:
            await family.read(call, uri)

        await self._run(ctx, errand, work, Asking(ctx), by_reference=self._by_reference)

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        here = standing_of(ctx)
        found = [_described(it) for it in _prompts(here) if _may(here, it)]
        return self._listed(ctx, "prompts", found, params.cursor)

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> HandlerResult:
        here = standing_of(ctx)
        prompt = next((it for it in _prompts(here) if it.name == params.name), None)
        if prompt is None:
            known = [it.name for it in _prompts(here) if _may(here, it)]
            absent = NotFound(f"Prompt not found: {params.name[:200]}", available=[*known])
            raise rpc_error(absent, modern=modern(ctx))
        given = params.arguments or {}
        self._require_arguments(ctx, prompt, given)
        errand = _errand(here, prompt, "prompts/get", {"name": prompt.name})

        async def work(call: Call) -> HandlerResult:
            said = await prompt.render(call, given)
            messages = [_message(it) for it in said]
            return {**COMPLETE, "description": prompt.description, "messages": messages}

        return await self._asking(ctx, params, errand, work)

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> HandlerResult:
        here = standing_of(ctx)
        about = _completed(here, params)
        known = dict(params.context.arguments or {}) if params.context else {}
        name, value = params.argument.name, params.argument.value
        if about is None or about[1] is None:
            return _suggestions(Completion(()))
        target, complete = about
        errand = _errand(here, target, "completion/complete", {"argument": name[:200]})

        async def work(call: Call) -> HandlerResult:
            return _suggestions(await complete(call, name, value, known))

        return await self._run(ctx, errand, work, Asking(ctx))

    @property
    def _by_reference(self) -> bool:
        return self.endpoint.shows == "ckf"

    def _found(self, ctx: Context, uri: str, method: str) -> tuple[Resource, Errand]:
        """The family that a URI belongs to, and the errand to it."""
        here = standing_of(ctx)
        scheme = uri.partition(":")[0].lower()
        family = next((it for it in _resources(here) if it.scheme == scheme), None)
        if family is None:
            absent = NotFound(f"no resource {uri[:500]!r} here", uri=uri[:500])
            raise resource_error(absent, modern=modern(ctx), by_reference=self._by_reference)
        return family, _errand(here, family, method, {"uri": uri[:500]})

    async def _asking(
        self,
        ctx: Context,
        params: ReadResourceRequestParams | GetPromptRequestParams,
        errand: Errand,
        work: Callable[[Call], Awaitable[HandlerResult]],
        *,
        by_reference: bool = True,
    ) -> HandlerResult:
        """The errand, on a channel by which it may ask the client something."""
        channel = (
            returning(ctx, params.input_responses, params.request_state)
            if modern(ctx)
            else Asking(ctx)
        )
        try:
            return await self._run(ctx, errand, work, channel, by_reference=by_reference)
        except InputRequired as asked:
            assert isinstance(channel, Returning)
            return channel.waiting(asked)

    async def _run(
        self,
        ctx: Context,
        errand: Errand,
        work: Callable[[Call], Awaitable[T]],
        channel: Channel,
        *,
        by_reference: bool = True,
    ) -> T:
        here = standing_of(ctx)
        visit = replace(here.visit, channel=channel)
        try:
            return await self.app.corridor.run(here.who, errand, visit, work)
        except PeciaError as error:
            raise resource_error(error, modern=modern(ctx), by_reference=by_reference) from None

    def _listed(
        self, ctx: Context, name: str, items: Sequence[dict[str, Any]], cursor: str | None
    ) -> HandlerResult:
        try:
            page, after = paged(items, cursor)
        except PeciaError as error:
            raise rpc_error(error, modern=modern(ctx)) from None
        listed = present({name: [*page], "nextCursor": after})
        return {**COMPLETE, **listed, **freshness(standing_of(ctx).offer)}

    def _require_arguments(self, ctx: Context, prompt: Prompt, given: Mapping[str, str]) -> None:
        for it in prompt.arguments:
            if it.required and it.name not in given:
                absent = MissingField(f'Field "{it.name}" is required', field=it.name)
                raise rpc_error(absent, modern=modern(ctx))


def _resources(here: Standing) -> list[Resource]:
    return [it for room in here.offer.rooms for it in room.resources]


def _templates(here: Standing) -> list[ResourceTemplate]:
    return [it for room in here.offer.rooms for it in room.templates]


def _prompts(here: Standing) -> list[Prompt]:
    return [it for room in here.offer.rooms for it in room.prompts]


def _is_public(it: Resource | ResourceTemplate | Prompt) -> bool:
    return not isinstance(it, ResourceTemplate) and it.public


def _may(here: Standing, it: Resource | ResourceTemplate | Prompt) -> bool:
    if not isinstance(here.who, Caller):
        return False
    return _is_public(it) if here.who.is_anonymous else it.scope in here.who.scopes


def _errand(
    here: Standing,
    it: Resource | ResourceTemplate | Prompt,
    method: str,
    arguments: Mapping[str, Any],
) -> Errand:
    is_stranger = isinstance(here.who, Caller) and here.who.is_anonymous
    public = _is_public(it) and is_stranger
    return Errand(f"{it.room}.{method}", it.scope, public=public, arguments=arguments)


async def _page(families: Sequence[Resource], call: Call, cursor: str | None) -> Page:
    """One family after the other; a cursor says in which one, and where in it."""
    index, inner = _opened(cursor, len(families))
    while index < len(families):
        page = await families[index].listing(call, inner)
        after = (index, page.next_cursor) if page.next_cursor else (index + 1, None)
        is_last = after[0] >= len(families)
        if page.entries or is_last:
            return Page(page.entries, None if is_last else _closed(*after))
        index, inner = after
    return Page(())


def _closed(index: int, inner: str | None) -> str:
    return urlsafe_b64encode(orjson.dumps([index, inner])).decode()


def _opened(cursor: str | None, families: int) -> tuple[int, str | None]:
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
            "this cursor is none of ours", field="cursor", got=cursor[:100]
        ) from None


def _described(prompt: Prompt) -> dict[str, Any]:
    return {
        "name": prompt.name,
        "description": prompt.description,
        "arguments": [
            {"name": it.name, "description": it.description, "required": it.required}
            for it in prompt.arguments
        ],
    }


def _message(said: PromptMessage) -> dict[str, Any]:
    return {"role": said.role, "content": block(said.content)}


def _completed(
    here: Standing, params: CompleteRequestParams
) -> tuple[Prompt | ResourceTemplate, Complete] | None:
    """What the completion is about, among what this caller may use."""
    if isinstance(params.ref, PromptReference):
        named = [it for it in _prompts(here) if it.name == params.ref.name]
    else:
        named = [it for it in _templates(here) if it.uri_template == params.ref.uri]
    for it in named:
        if it.complete is not None and _may(here, it):
            return it, it.complete
    return None


def _suggestions(found: Completion) -> HandlerResult:
    values = [*found.values[:MOST_COMPLETIONS]]
    more = found.has_more or len(found.values) > MOST_COMPLETIONS
    return {
        **COMPLETE,
        "completion": present({"values": values, "total": found.total, "hasMore": more}),
    }

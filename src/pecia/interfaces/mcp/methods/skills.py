"""Skills over MCP (SEP-2640): `skills/list`, `skills/get`, and their files as resources.

Those of the features that an endpoint serves, and one that teaches an agent to use Pecia.
"""

from collections.abc import Sequence
from functools import cache
from mimetypes import guess_type
from typing import Any

from mcp.server.context import HandlerResult
from mcp_types import PaginatedRequestParams, RequestParams

from pecia.adapters.editors.hooks import SKILL
from pecia.app.dispatch import Operation
from pecia.interfaces.mcp.content import COMPLETE_RESULT
from pecia.interfaces.mcp.errors import rpc_error
from pecia.interfaces.mcp.methods.channel import SessionChannel
from pecia.interfaces.mcp.methods.resources import ResourceHandlers
from pecia.interfaces.mcp.methods.tool_list import paginate
from pecia.interfaces.mcp.request_context import (
    Context,
    McpRequestContext,
    get_request_context,
    is_modern_client,
)
from pecia.kernel.errors import InvalidInput, PeciaError
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.markdown.frontmatter import read_frontmatter
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import EmbeddedResource, Resource, ResourcePage
from pecia.kernel.tool.skill import MAIN_FILE, SCHEME, ServedSkill, SkillFile

EXTENSION = "io.modelcontextprotocol/skills"
FEATURE = "skills"


class SkillParams(RequestParams):
    uri: str


class SkillHandlers(ResourceHandlers):
    """The handlers of one endpoint for skills."""

    __slots__ = ()

    async def list_skills(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        entries = [_describe(it) for it in await self._load(ctx, "skills/list", None)]
        try:
            page, after = paginate(entries, params.cursor)
        except PeciaError as error:
            raise rpc_error(error, modern=is_modern_client(ctx)) from None
        # They are the caller's own, and may change with every edit.
        listed: dict[str, Any] = {"skills": [*page], "ttlMs": 0, "cacheScope": "private"}
        return {**COMPLETE_RESULT, **listed, **({"nextCursor": after} if after else {})}

    async def get_skill(self, ctx: Context, params: SkillParams) -> HandlerResult:
        for it in await self._load(ctx, "skills/get", params.uri):
            if it.uri == params.uri:
                return {**COMPLETE_RESULT, "skill": _describe(it)}
        raise rpc_error(_unknown(params.uri), modern=is_modern_client(ctx))

    def more_families(self, here: McpRequestContext) -> tuple[Resource, ...]:
        return (skill_resource(here.view.features),)

    async def _load(self, ctx: Context, method: str, uri: str | None) -> Sequence[ServedSkill]:
        features = get_request_context(ctx).view.features
        arguments = {"uri": uri[:500]} if uri is not None else {}
        operation = Operation(f"{FEATURE}.{method}", Scope.READ, arguments=arguments)

        async def work(call: Call) -> list[ServedSkill]:
            return await load_skills(features, call, uri)

        return await self._run(ctx, operation, work, SessionChannel(ctx))


def skill_resource(features: Sequence[Feature]) -> Resource:
    """The files of skills: read by URI. `skills/list` names them, and no other list does."""

    async def read(call: Call, uri: str) -> tuple[EmbeddedResource, ...]:
        for skill in await load_skills(features, call, uri):
            for file in skill.files:
                if skill.uri_of(file.path) == uri:
                    return (_contents(uri, file),)
        raise _unknown(uri)

    async def list_page(call: Call, cursor: str | None) -> ResourcePage:
        return ResourcePage(())

    return Resource(FEATURE, SCHEME, Scope.READ, list_page, read)


async def load_skills(
    features: Sequence[Feature], call: Call, uri: str | None
) -> list[ServedSkill]:
    """The skills that the caller sees; with a URI those that it can be a file of."""
    found = [own_skill()]
    for it in features:
        if it.skills is not None:
            found += await it.skills(call, uri)
    return found


@cache
def own_skill() -> ServedSkill:
    """The skill that teaches an agent to search, cite, write and remember with Pecia."""
    body = SKILL.read_bytes()
    fields = read_frontmatter(body.decode()).values
    return ServedSkill(str(fields["name"]), fields, (SkillFile(MAIN_FILE, body),))


def _describe(skill: ServedSkill) -> dict[str, Any]:
    files = [
        {"uri": skill.uri_of(it.path), "digest": it.digest, "size": len(it.body)}
        for it in skill.files
    ]
    return {"uri": skill.uri, "frontmatter": dict(skill.frontmatter), "resources": files}


def _contents(uri: str, file: SkillFile) -> EmbeddedResource:
    kind = "text/markdown" if file.path.endswith(".md") else guess_type(file.path)[0]
    try:
        return EmbeddedResource(uri, file.body.decode(), kind or "text/plain")
    except UnicodeDecodeError:
        return EmbeddedResource(uri, file.body, kind or "application/octet-stream")


def _unknown(uri: str) -> InvalidInput:
    return InvalidInput(
        f"no skill has the file {uri[:500]!r}, or you may not see it",
        field="uri",
        got=uri[:500],
        hint="skills/list names them.",
    )

"""Resources and prompts of the suite."""

import re
from collections.abc import Mapping, Sequence

from pecia.interfaces.mcp.conformance.fixture import FEATURE, IMAGE, PNG, form_schema
from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    Content,
    EmbeddedResource,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceEntry,
    ResourcePage,
    ResourceTemplate,
    TextContent,
)

STATIC_RESOURCES: Mapping[str, tuple[str | bytes, str]] = {
    "test://static-text": ("This is the content of the static text resource.", "text/plain"),
    "test://static-binary": (PNG, "image/png"),
    "test://watched-resource": ("Watched resource content.", "text/plain"),
}
_TEMPLATE = re.compile(r"test://template/([^/]+)/data")


def resource() -> Resource:
    return Resource(FEATURE, "test", Scope.READ, _list, _read)


def template() -> ResourceTemplate:
    return ResourceTemplate(
        FEATURE,
        "test://template/{id}/data",
        "template",
        Scope.READ,
        "Data by its id.",
        "application/json",
    )


def prompts() -> tuple[Prompt, ...]:
    both = (PromptArgument("arg1", "First."), PromptArgument("arg2", "Second."))
    uri = (PromptArgument("resourceUri", "What to embed."),)
    return (
        Prompt(FEATURE, "test_simple_prompt", Scope.READ, "Simple.", (), _simple),
        Prompt(
            FEATURE, "test_prompt_with_arguments", Scope.READ, "Two.", both, _arguments, _suggest
        ),
        Prompt(FEATURE, "test_prompt_with_embedded_resource", Scope.READ, "Embeds.", uri, _embed),
        Prompt(FEATURE, "test_prompt_with_image", Scope.READ, "Shows.", (), _image),
        Prompt(FEATURE, "test_input_required_result_prompt", Scope.READ, "Asks.", (), _ask_context),
    )


async def _list(call: Call, cursor: str | None) -> ResourcePage:
    return ResourcePage(
        tuple(
            ResourceEntry(uri, uri.removeprefix("test://"), mime_type=kind)
            for uri, (_, kind) in STATIC_RESOURCES.items()
        )
    )


async def _read(call: Call, uri: str) -> tuple[EmbeddedResource, ...]:
    if found := _TEMPLATE.fullmatch(uri):
        body = f'{{"id":"{found[1]}","templateTest":true,"data":"Data for ID: {found[1]}"}}'
        return (EmbeddedResource(uri, body, "application/json"),)
    if uri not in STATIC_RESOURCES:
        raise NotFound(f"Resource not found: {uri}", uri=uri)
    body, kind = STATIC_RESOURCES[uri]
    return (EmbeddedResource(uri, body, kind),)


def _user_messages(*contents: Content) -> Sequence[PromptMessage]:
    return [PromptMessage("user", it) for it in contents]


async def _simple(call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
    return _user_messages(TextContent("This is a simple prompt for testing."))


async def _arguments(call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
    return _user_messages(
        TextContent(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
    )


async def _embed(call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
    held = EmbeddedResource(
        given["resourceUri"], "Embedded resource content for testing.", "text/plain"
    )
    return _user_messages(held, TextContent("Please process the embedded resource above."))


async def _image(call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
    return _user_messages(IMAGE, TextContent("Please analyze the image above."))


async def _ask_context(call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
    asked = "What context should the prompt use?"
    told = await call.elicit("user_context", asked, form_schema(context={"type": "string"}))
    return _user_messages(TextContent(f"Use this context: {told.content.get('context')}"))


async def _suggest(call: Call, name: str, value: str, given: Mapping[str, str]) -> Completion:
    words = [it for it in ("paris", "park", "party", "test1", "test2") if it.startswith(value)]
    return Completion(tuple(words), total=len(words))

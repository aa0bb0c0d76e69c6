"""One reader for every URI that an answer names, whichever feature it belongs to."""

from collections.abc import Sequence

from pydantic import Field

from pecia.kernel.errors import Forbidden, InvalidFormat
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.span import Span
from pecia.kernel.text.tokens import estimate_tokens
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    AnyTool,
    Input,
    Resource,
    ResourcePart,
    TextContent,
    TextOutput,
    Tool,
    ToolResult,
    find_resource,
)

READ = "read"
FEATURE = "desk"
DEFAULT_TOKENS = 1_500


class ReadUri(Input):
    uri: str = Field(min_length=1, max_length=4000, description="As an answer gave it.")
    start: int = Field(default=0, ge=0, le=2**31 - 1, description="Chunk to begin with.")
    max_tokens: int = Field(default=DEFAULT_TOKENS, ge=200, le=100_000)


def build_read(resources: Sequence[Resource]) -> AnyTool:
    """The tool that reads these resources."""
    schemes = dict.fromkeys(it.scheme for it in resources)

    async def run(call: Call, ask: ReadUri) -> ToolResult:
        """Read the text at a URI: a file, document, memory, concept or package, from a chunk on."""
        family = find_resource(resources, ask.uri)
        if family is None or "://" not in ask.uri:
            raise InvalidFormat(
                f"{ask.uri[:200]!r} is not a URI that can be read here",
                field="uri",
                got=ask.uri[:500],
                expected=", ".join(f"{it}://…" for it in schemes),
                hint="search_content gives the URIs of files",
            )
        if family.scope not in call.caller.scopes:
            raise Forbidden(f"{family.scheme}:// needs the scope {family.scope.value}")
        part = await _read(call, family, ask)
        return ToolResult(content=(TextContent(part.text),))

    return Tool(FEATURE, READ, Scope.READ, ReadUri, TextOutput, run)


async def _read(call: Call, family: Resource, ask: ReadUri) -> ResourcePart:
    if family.read_part is not None:
        return await family.read_part(call, ask.uri, ask.start, ask.max_tokens)
    contents = await family.read(call, ask.uri)
    text = "\n\n".join(it.body for it in contents if isinstance(it.body, str))
    kept = _fit(text, ask.start, ask.max_tokens)
    if kept.end >= len(text):
        return ResourcePart(kept.of(text))
    more = f"[More: start {kept.end}, {len(text) - kept.end} characters left]"
    return ResourcePart(f"{kept.of(text)}\n\n{more}", kept.end)


def _fit(text: str, start: int, max_tokens: int) -> Span:
    """From a character on, whole lines in about so many tokens; at least one line."""
    end = start
    left = max_tokens
    for line in text[start:].splitlines(keepends=True):
        left -= estimate_tokens(line)
        if left < 0 and end > start:
            break
        end += len(line)
    return Span(start, end)

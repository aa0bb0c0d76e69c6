"""`ckf.compile`: the heuristic compiler as a tool. Runs in a compute worker."""

from dataclasses import dataclass, replace

from pecia.features.ckf.core.agent_answer import compile_for_agent
from pecia.features.ckf.core.compile import compile_source
from pecia.features.ckf.handles import PackageHandles
from pecia.features.ckf.model import ReadSource, SourceText
from pecia.features.ckf.tools.inputs import CompileForAgent, CompileInput
from pecia.features.ckf.tools.outputs import CompileOut
from pecia.kernel.compute.pool import compute
from pecia.kernel.compute.worker import ReportComputeProgress
from pecia.kernel.errors import MissingField
from pecia.kernel.identity.caller import Scope
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.text.language import CODE_BY_NAME, normalize_language_tag
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, CitedOutput, TextContent, TextOutput, Tool, ToolResult

FEATURE = "ckf"
# Rate limit by IP address, as in the reference. Callers with a token have the general limits.
ANONYMOUS_COMPILE_LIMIT = RateLimit(calls=30, per_s=3600, burst=30)


@dataclass(frozen=True, slots=True)
class CompileTool:
    """The handler."""

    read_source: ReadSource
    hourly: RateLimiter
    handles: PackageHandles

    async def compile(self, call: Call, ask: CompileInput) -> CitedOutput[CompileOut]:
        """Compile a text into a CKF package: concepts, rules, exceptions and procedures, each with
        the words of the source behind it. Instant, needs no key, always works."""
        source = await self._load(call, ask)
        made = await compute(
            call.caller.tenant_id, compile_source, source, ask, report=progress_reporter(call)
        )
        return CitedOutput(made, (TextContent(made.document),))

    async def compile_outline(self, call: Call, ask: CompileForAgent) -> ToolResult:
        """Compile a text into a CKF package: rules, exceptions, definitions, procedures and facts,
        each with its quotation. Gives an outline and a handle that the other ckf tools take."""
        source = await self._load(call, ask)
        made = await compute(
            call.caller.tenant_id,
            compile_for_agent,
            source,
            ask,
            report=progress_reporter(call),
        )
        self.handles.keep(call.caller, made.packed)
        return ToolResult(content=(TextContent(made.text),))

    async def _load(self, call: Call, ask: CompileInput) -> SourceText:
        if call.caller.is_anonymous:
            self.hourly.take(call.trace.client_ip or "")
        return await load_requested_source(call, ask, self.read_source)


def compile_tool(read_source: ReadSource, handles: PackageHandles) -> AnyTool:
    handler = CompileTool(read_source, RateLimiter(ANONYMOUS_COMPILE_LIMIT), handles)
    return Tool(
        FEATURE,
        "ckf.compile",
        Scope.READ,
        CompileInput,
        CompileOut,
        handler.compile,
        idempotent=True,
        title="Compile text into knowledge",
        lean=Tool(
            FEATURE,
            "ckf.compile",
            Scope.READ,
            CompileForAgent,
            TextOutput,
            handler.compile_outline,
            idempotent=True,
            title="Compile text into knowledge",
        ),
    )


async def load_requested_source(
    call: Call, ask: CompileInput, read_source: ReadSource
) -> SourceText:
    """The given text, or the one at the uri, with the caller's metadata."""
    if ask.text is None and ask.uri is None:
        raise MissingField(
            'Field "text" is required', field="text", hint="Give text, or the uri of one."
        )
    if ask.text is not None:
        title, author = ask.source_title, ask.source_author
        language = requested_language(ask)
        return SourceText(ask.text, title, ask.uri or "", language, author, ask.filename)
    found = await read_source(call.caller, ask.uri or "")
    return replace(
        found,
        title=ask.source_title or found.title,
        uri=ask.uri or "",
        language=requested_language(ask),
        author=ask.source_author or found.author,
        filename=ask.filename or found.filename,
    )


def requested_language(ask: CompileInput) -> str | None:
    """The normalized language tag: `eng` is `en`, and so is `English`.

    What is neither is passed over, and the language detected: without a grammar no rule is found.
    """
    wanted = ask.language or ""
    known = CODE_BY_NAME.get(wanted.casefold()) or normalize_language_tag(wanted)
    return known or None


def progress_reporter(call: Call) -> ReportComputeProgress:
    """Reports progress on a long text."""

    async def report(done: int, total: int) -> None:
        await call.progress(done, total, f"{done:,} of {total:,} characters")

    return report

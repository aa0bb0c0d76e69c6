"""`ckf.compile_llm`: the model compiler as a tool. A key is used and never stored."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import Field, WithJsonSchema

from pecia.features.ckf.core.agent_answer import answer_package, check_sections
from pecia.features.ckf.handles import PackageHandles
from pecia.features.ckf.llm.access import ModelAccess, ModelRequest
from pecia.features.ckf.llm.compile import compile_with_model
from pecia.features.ckf.llm.finish.coverage import CoverageMode
from pecia.features.ckf.llm.finish.finish import CompileResult
from pecia.features.ckf.llm.model import ModelCatalog
from pecia.features.ckf.llm.prepare.prepare import CompileOrder, prepare_source
from pecia.features.ckf.llm.quota import DailyAllowance, DailyQuota, QuotaCounter
from pecia.features.ckf.model import CompileOptions, ReadSource, SourceText, today
from pecia.features.ckf.package.codec.codec import encode_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.package.tokens import estimate_tokens
from pecia.features.ckf.settings import CkfSettings
from pecia.features.ckf.tools.compile import FEATURE, load_requested_source
from pecia.features.ckf.tools.inputs import MIN_TEXT_CHARS, AnswerShape, CompileInput
from pecia.features.ckf.tools.outputs import CompileOut
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import PayloadTooLarge, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, CitedOutput, TextContent, TextOutput, Tool, ToolResult

MAX_LLM_TEXT_CHARS = 60_000
# A source read by URI may be longer: as many parts as one call can process.
MAX_LLM_SOURCE_CHARS = 400_000
TIMEOUT_S = 300.0
MAX_SHOWN_WARNINGS = 5
# Reserved from the call's deadline, so that a slow model still leaves time to finish a package.
RESERVE_S = 5.0
ANONYMOUS_LLM_LIMIT = RateLimit(calls=12, per_s=3600, burst=12)


class LlmProvider(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    GOOGLE = "google"
    DEEPSEEK = "deepseek"
    OPENROUTER = "openrouter"
    LOVABLE = "lovable"
    OPERATOR = "operator"


# Too long a text is refused by the handler, whose hint says where longer ones are accepted.
LlmText: TypeAlias = Annotated[
    str,
    Field(min_length=MIN_TEXT_CHARS),
    WithJsonSchema(
        {"type": "string", "minLength": MIN_TEXT_CHARS, "maxLength": MAX_LLM_TEXT_CHARS}
    ),
]


class CompileLlmInput(CompileInput):
    text: LlmText | None = Field(
        default=None, description="The source, 20 to 60,000 characters; by uri up to 400,000."
    )
    provider: LlmProvider | None = Field(
        default=None,
        description="`operator` (or `lovable`) is this server's own model, if you may use it.",
    )
    model: str = Field(default="", max_length=100, description="Default: the provider's.")
    byok_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        repr=False,
        description="Your key of that provider: used for this call, never stored or shown.",
        json_schema_extra={"secret": True},
    )
    coverage_mode: CoverageMode | None = Field(
        default=None,
        description="What to do about passages the model skipped: report, add the important "
        "ones, or add all. Else by the kind of source.",
    )


class CompileLlmForAgent(CompileLlmInput, AnswerShape):
    """The arguments for agents."""


ReadRequestedSource: TypeAlias = Callable[[], Awaitable[SourceText]]
"""Reads the text of a call, after authorization."""


@dataclass(frozen=True, slots=True)
class CompileLlmTool:
    """The handler."""

    read_source: ReadSource
    access: ModelAccess
    chunk_timeout_s: float
    hourly: RateLimiter
    handles: PackageHandles

    async def compile(self, call: Call, ask: CompileLlmInput) -> CitedOutput[CompileOut]:
        """Compile a text into a CKF package with a language model: richer than ckf.compile, and
        every item still quotes the source. Needs your provider's key, or the right to the
        operator's model. Where the model fails on a part, that part is compiled without one."""
        made = await self._compile_requested(call, ask)
        return CitedOutput(made, (TextContent(made.document),))

    async def compile_outline(self, call: Call, ask: CompileLlmForAgent) -> ToolResult:
        """Compile a text into a CKF package with a language model: richer than ckf.compile, and
        every item still quotes the source. Needs your provider's key, or the right to the
        operator's model. Gives an outline and a handle that the other ckf tools take."""
        check_sections(ask.sections)
        made = await self._compile_requested(call, ask)
        package = Package(made.package)
        uri = "" if ask.text is not None else ask.uri or ""
        answer = await compute(call.caller.tenant_id, answer_package, package, ask.format, ask, uri)
        self.handles.keep(call.caller, answer.packed)
        warnings = [f"Warning: {it}" for it in made.warnings[:MAX_SHOWN_WARNINGS]]
        return ToolResult(content=(TextContent("\n".join([*warnings, answer.text])),))

    async def _compile_requested(self, call: Call, ask: CompileLlmInput) -> CompileOut:
        if ask.text is not None and len(ask.text) > MAX_LLM_TEXT_CHARS:
            raise _too_long("text", len(ask.text), MAX_LLM_TEXT_CHARS)
        return await self.compile_source(
            call, ask, lambda: load_requested_source(call, ask, self.read_source)
        )

    async def compile_source(
        self, call: Call, ask: CompileLlmInput, read: ReadRequestedSource
    ) -> CompileOut:
        """Compile what `read` returns, after authorization; then charge the quota."""
        if call.caller.is_anonymous:
            self.hourly.take(call.trace.client_ip or "")
        key = ask.byok_key or call.model_key or ""
        paid = self.access.authorize(call.caller, ModelRequest(ask.provider or "", ask.model, key))
        source = await read()
        if len(source.text) > MAX_LLM_SOURCE_CHARS:
            raise _too_long("uri" if source.uri else "text", len(source.text), MAX_LLM_SOURCE_CHARS)
        order = self._build_order(call, ask)
        known = await compute(call.caller.tenant_id, prepare_source, source, order)
        await self.access.charge(call.caller, paid)

        async def report(done: int, total: int) -> None:
            await call.progress(done, total, f"{done} of {total} parts")

        try:
            made = await compile_with_model(known, order, paid.model, paid.key, report)
        except PeciaError as error:
            raise _with_hint(error) from None
        return await compute(call.caller.tenant_id, _compile_out, made, ask, source)

    def _build_order(self, call: Call, ask: CompileLlmInput) -> CompileOrder:
        left_s = call.remaining_s()
        within_s = max(left_s - RESERVE_S, left_s / 2)
        options = CompileOptions(ask.source_type, ask.compression_level, today())
        timeout_s = min(self.chunk_timeout_s, within_s)
        return CompileOrder(options, ask.coverage_mode, timeout_s, within_s, call.caller.tenant_id)


@dataclass(frozen=True, slots=True)
class LlmServices:
    """Model catalog, entitlement settings and quota counter."""

    models: ModelCatalog
    settings: CkfSettings
    counter: QuotaCounter


def llm_compiler(
    read_source: ReadSource, asking: LlmServices, handles: PackageHandles
) -> CompileLlmTool:
    settings = asking.settings
    allowed = DailyAllowance(settings.daily_per_user, settings.daily_total)
    quota = DailyQuota(allowed, asking.counter)
    return CompileLlmTool(
        read_source,
        ModelAccess(settings, asking.models, quota),
        settings.chunk_timeout_s,
        RateLimiter(ANONYMOUS_LLM_LIMIT),
        handles,
    )


def compile_llm_tool(handler: CompileLlmTool) -> AnyTool:
    return Tool(
        FEATURE,
        "ckf.compile_llm",
        Scope.READ,
        CompileLlmInput,
        CompileOut,
        handler.compile,
        open_world=True,
        title="Compile text into knowledge with a model",
        timeout_s=TIMEOUT_S,
        lean=Tool(
            FEATURE,
            "ckf.compile_llm",
            Scope.READ,
            CompileLlmForAgent,
            TextOutput,
            handler.compile_outline,
            open_world=True,
            title="Compile text into knowledge with a model",
            timeout_s=TIMEOUT_S,
        ),
    )


def _too_long(field: str, length: int, limit: int) -> PayloadTooLarge:
    longer = (
        f"Up to {MAX_LLM_SOURCE_CHARS:,} characters are compiled in parts: give the uri of a "
        "stored "
        "text, or paste it at /compiler."
    )
    return PayloadTooLarge(
        f'Field "{field}" is too long (max {limit} chars, got {length})',
        field=field,
        max=limit,
        length=length,
        hint=longer if limit < MAX_LLM_SOURCE_CHARS else "ckf.compile has no such limit for a uri.",
    )


def _with_hint(error: PeciaError) -> PeciaError:
    """Add a hint to errors that are not retryable."""
    retryable = error.fields.get("retryable", error.code.retryable)
    if retryable or "hint" in error.fields:
        return error
    hint = "Check byok_key, its credit and `model` with the provider; ckf.compile needs none."
    return type(error)(error.message, **{**error.fields, "hint": hint})


def _compile_out(made: CompileResult, ask: CompileLlmInput, source: SourceText) -> CompileOut:
    document = encode_package(Package(compact_package(made.package)), ask.format)
    made.metrics["source_tokens"] = estimate_tokens(source.text)
    made.metrics["document_tokens"] = estimate_tokens(document)
    return CompileOut(
        format=ask.format,
        document=document,
        package=made.package.body,
        warnings=made.warnings,
        metrics=made.metrics,
    )

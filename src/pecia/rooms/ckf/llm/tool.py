"""`ckf.compile_llm`: the compiler that asks a model, served. A key is used and forgotten."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import Field, WithJsonSchema

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import PayloadTooLarge, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.limits import Limit, RateLimiter
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Answer, AnyTool, Text, Tool
from pecia.rooms.ckf.compiling import ROOM, ReadSource, asked_source
from pecia.rooms.ckf.inputs import SHORTEST_TEXT, Compile
from pecia.rooms.ckf.llm.compile import compile_with_model
from pecia.rooms.ckf.llm.coverage import Mode
from pecia.rooms.ckf.llm.finish import Made
from pecia.rooms.ckf.llm.model import Models
from pecia.rooms.ckf.llm.payer import Payer, Wish
from pecia.rooms.ckf.llm.prepare import Order, prepared
from pecia.rooms.ckf.llm.quota import Allowance, DailyQuota, Ledger
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.outputs import Compiled
from pecia.rooms.ckf.package.codec import encode
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.normal import compact
from pecia.rooms.ckf.package.size import tokens
from pecia.rooms.ckf.settings import CkfSettings

LONGEST_TEXT = 60_000
# A source that is read where it lies may be longer: as many parts as one call can have answered.
LONGEST_SOURCE = 400_000
TIMEOUT_S = 300.0
# What is kept back of a call's time, so that a slow model still leaves a package to give.
RESERVE_S = 5.0
ANONYMOUS_COMPILES = Limit(calls=12, per_s=3600, burst=12)


class Provider(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    GOOGLE = "google"
    DEEPSEEK = "deepseek"
    OPENROUTER = "openrouter"
    LOVABLE = "lovable"
    OPERATOR = "operator"


# Too long a text is refused by the handler, which knows where longer ones are taken.
LlmText: TypeAlias = Annotated[
    str,
    Field(min_length=SHORTEST_TEXT),
    WithJsonSchema({"type": "string", "minLength": SHORTEST_TEXT, "maxLength": LONGEST_TEXT}),
]


class CompileLlm(Compile):
    text: LlmText | None = Field(
        default=None, description="The source, 20 to 60,000 characters; by uri up to 400,000."
    )
    provider: Provider | None = Field(
        default=None,
        description="Whose model. `operator` (or `lovable`) is this server's own, if you may.",
    )
    model: str = Field(default="", max_length=100, description="Else the provider's usual one.")
    byok_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        repr=False,
        description="Your key of that provider: used for this call, never kept or shown.",
        json_schema_extra={"secret": True},
    )
    coverage_mode: Mode | None = Field(
        default=None,
        description="What to do about passages the model skipped: report, add the important "
        "ones, or add all. Else by the kind of source.",
    )


ReadAsked: TypeAlias = Callable[[], Awaitable[SourceText]]
"""Reads the text of a call when its turn has come."""


@dataclass(frozen=True, slots=True)
class CompilingLlm:
    """The handler."""

    read_source: ReadSource
    payer: Payer
    chunk_timeout_s: float
    hourly: RateLimiter

    async def compile(self, call: Call, ask: CompileLlm) -> Answer[Compiled]:
        """Compile a text into a CKF package with a language model: richer than ckf.compile, and
        every item still quotes the source. Needs your provider's key, or the right to the
        operator's model. Where the model fails on a part, that part is compiled without one."""
        if ask.text is not None and len(ask.text) > LONGEST_TEXT:
            raise _too_long("text", len(ask.text), LONGEST_TEXT)
        made = await self.made(call, ask, lambda: asked_source(call, ask, self.read_source))
        return Answer(made, (Text(made.document),))

    async def made(self, call: Call, ask: CompileLlm, read: ReadAsked) -> Compiled:
        """The package of what `read` gives, once it is clear that somebody pays for it."""
        if call.caller.is_anonymous:
            self.hourly.take(call.trace.client_ip or "")
        key = ask.byok_key or call.model_key or ""
        paid = self.payer.paid(call.caller, Wish(ask.provider or "", ask.model, key))
        source = await read()
        if len(source.text) > LONGEST_SOURCE:
            raise _too_long("uri" if source.uri else "text", len(source.text), LONGEST_SOURCE)
        order = self._order(call, ask)
        known = await compute(call.caller.tenant_id, prepared, source, order)
        await self.payer.charge(call.caller, paid)

        async def report(done: int, total: int) -> None:
            await call.progress(done, total, f"{done} of {total} parts")

        try:
            made = await compile_with_model(known, order, paid.model, paid.key, report)
        except PeciaError as error:
            raise _with_hint(error) from None
        return await compute(call.caller.tenant_id, _compiled, made, ask, source)

    def _order(self, call: Call, ask: CompileLlm) -> Order:
        left_s = call.remaining_s()
        within_s = max(left_s - RESERVE_S, left_s / 2)
        options = CompileOptions(ask.source_type, ask.compression_level)
        timeout_s = min(self.chunk_timeout_s, within_s)
        return Order(options, ask.coverage_mode, timeout_s, within_s, call.caller.tenant_id)


@dataclass(frozen=True, slots=True)
class Asking:
    """The models that may be asked, who pays for which, and where that is counted."""

    models: Models
    settings: CkfSettings
    ledger: Ledger


def llm_compiler(read_source: ReadSource, asking: Asking) -> CompilingLlm:
    settings = asking.settings
    allowed = Allowance(settings.daily_per_user, settings.daily_total)
    quota = DailyQuota(allowed, asking.ledger)
    return CompilingLlm(
        read_source,
        Payer(settings, asking.models, quota),
        settings.chunk_timeout_s,
        RateLimiter(ANONYMOUS_COMPILES),
    )


def compile_llm_tool(handler: CompilingLlm) -> AnyTool:
    return Tool(
        ROOM,
        "ckf.compile_llm",
        Scope.READ,
        CompileLlm,
        Compiled,
        handler.compile,
        open_world=True,
        title="Compile text into knowledge with a model",
        timeout_s=TIMEOUT_S,
    )


def _too_long(field: str, length: int, most: int) -> PayloadTooLarge:
    longer = (
        f"Up to {LONGEST_SOURCE:,} characters are compiled in parts: give the uri of a stored "
        "text, or paste it at /compiler."
    )
    return PayloadTooLarge(
        f'Field "{field}" is too long (max {most} chars, got {length})',
        field=field,
        max=most,
        length=length,
        hint=longer if most < LONGEST_SOURCE else "ckf.compile has no such limit for a uri.",
    )


def _with_hint(error: PeciaError) -> PeciaError:
    """What cannot be tried again says what to do instead."""
    retryable = error.fields.get("retryable", error.code.retryable)
    if retryable or "hint" in error.fields:
        return error
    hint = "Check byok_key, its credit and `model` with the provider; ckf.compile needs none."
    return type(error)(error.message, **{**error.fields, "hint": hint})


def _compiled(made: Made, ask: CompileLlm, source: SourceText) -> Compiled:
    document = encode(Package(compact(made.package)), ask.format)
    made.metrics["source_tokens"] = tokens(source.text)
    made.metrics["document_tokens"] = tokens(document)
    return Compiled(
        format=ask.format,
        document=document,
        package=made.package.body,
        warnings=made.warnings,
        metrics=made.metrics,
    )

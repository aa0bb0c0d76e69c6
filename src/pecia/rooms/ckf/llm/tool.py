"""`ckf.compile_llm`: the compiler that asks a model, served. A key is used and forgotten."""

from dataclasses import dataclass
from enum import StrEnum

import anyio.to_thread
from pydantic import Field

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
from pecia.rooms.ckf.llm.quota import DailyQuota
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.outputs import Compiled
from pecia.rooms.ckf.package.codec import encode
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.normal import compact
from pecia.rooms.ckf.package.size import tokens
from pecia.rooms.ckf.settings import CkfSettings

LONGEST_TEXT = 60_000
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


class CompileLlm(Compile):
    text: str | None = Field(
        default=None,
        min_length=SHORTEST_TEXT,
        max_length=LONGEST_TEXT,
        description="The source, 20 to 60,000 characters.",
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
        if call.caller.is_anonymous:
            self.hourly.take(call.trace.client_ip or "")
        key = ask.byok_key or call.model_key or ""
        paid = self.payer.paid(call.caller, Wish(ask.provider or "", ask.model, key))
        source = _bounded(await asked_source(call, ask, self.read_source))
        order = self._order(call, ask)
        known = await anyio.to_thread.run_sync(prepared, source, order)
        self.payer.charge(call.caller, paid)

        async def report(done: int, total: int) -> None:
            await call.progress(done, total, f"{done} of {total} parts")

        try:
            made = await compile_with_model(known, order, paid.model, paid.key, report)
        except PeciaError as error:
            raise _with_hint(error) from None
        given = await anyio.to_thread.run_sync(_compiled, made, ask, source)
        return Answer(given, (Text(given.document),))

    def _order(self, call: Call, ask: CompileLlm) -> Order:
        left_s = call.remaining_s()
        within_s = max(left_s - RESERVE_S, left_s / 2)
        options = CompileOptions(ask.source_type, ask.compression_level)
        timeout_s = min(self.chunk_timeout_s, within_s)
        return Order(options, ask.coverage_mode, timeout_s, within_s)


@dataclass(frozen=True, slots=True)
class Asking:
    """The models that may be asked, and who pays for which."""

    models: Models
    settings: CkfSettings


def compile_llm_tool(read_source: ReadSource, asking: Asking) -> AnyTool:
    settings = asking.settings
    quota = DailyQuota(settings.daily_per_user, settings.daily_total)
    handler = CompilingLlm(
        read_source,
        Payer(settings, asking.models, quota),
        settings.chunk_timeout_s,
        RateLimiter(ANONYMOUS_COMPILES),
    )
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


def _bounded(source: SourceText) -> SourceText:
    if len(source.text) <= LONGEST_TEXT:
        return source
    length = len(source.text)
    raise PayloadTooLarge(
        f"the text at this uri is too long (max {LONGEST_TEXT} chars, got {length})",
        field="uri",
        max=LONGEST_TEXT,
        length=length,
        hint="ckf.compile takes longer texts, without a model.",
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

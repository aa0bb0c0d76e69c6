"""`ckf.compile`: the compiler that needs no key, served. Never blocks the event loop."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import anyio.from_thread
import anyio.to_thread

from pecia.kernel.errors import MissingField
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.limits import Limit, RateLimiter
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Answer, AnyTool, Text, Tool
from pecia.rooms.ckf.heuristic.long import compile_long
from pecia.rooms.ckf.inputs import Compile
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.outputs import Compiled
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.figures import coverage, numeric_integrity
from pecia.rooms.ckf.package.model import Item, Package, text_of, texts_of
from pecia.rooms.ckf.package.normal import compact
from pecia.rooms.ckf.package.quality import Circumstances, quality
from pecia.rooms.ckf.package.size import tokens

ROOM = "ckf"
# By address, as the reference has it. Whoever has a token has the general limits.
ANONYMOUS_COMPILES = Limit(calls=30, per_s=3600, burst=30)

ReadSource: TypeAlias = Callable[[Caller, str], Awaitable[SourceText]]
"""The text behind a URI, as this caller may read it, or NotFound."""


@dataclass(frozen=True, slots=True)
class Compiling:
    """The handler."""

    read_source: ReadSource
    hourly: RateLimiter

    async def compile(self, call: Call, ask: Compile) -> Answer[Compiled]:
        """Compile a text into a CKF package: concepts, rules, exceptions and procedures, each with
        the words of the source behind it. Instant, needs no key, always works."""
        if call.caller.is_anonymous:
            self.hourly.take(call.trace.client_ip or "")
        source = await asked_source(call, ask, self.read_source)
        made = await anyio.to_thread.run_sync(_compiled, source, ask, told(call))
        return Answer(made, (Text(made.document),))


def compile_tool(read_source: ReadSource) -> AnyTool:
    handler = Compiling(read_source, RateLimiter(ANONYMOUS_COMPILES))
    return Tool(
        ROOM,
        "ckf.compile",
        Scope.READ,
        Compile,
        Compiled,
        handler.compile,
        idempotent=True,
        title="Compile text into knowledge",
    )


async def asked_source(call: Call, ask: Compile, read_source: ReadSource) -> SourceText:
    """The text that was given, or the one at the uri, with what the caller says of it."""
    if ask.text is None and ask.uri is None:
        raise MissingField(
            'Field "text" is required', field="text", hint="Give text, or the uri of one."
        )
    if ask.text is not None:
        title, author = ask.source_title, ask.source_author
        return SourceText(ask.text, title, ask.uri or "", ask.language, author, ask.filename)
    found = await read_source(call.caller, ask.uri or "")
    return SourceText(
        found.text,
        ask.source_title or found.title,
        ask.uri or "",
        ask.language or found.language,
        ask.source_author or found.author,
        ask.filename or found.filename,
        found.revision,
    )


def told(call: Call) -> Callable[[int, int], None]:
    """For a thread that compiles a long text: the caller hears how far it is, and may end it."""

    def report(done: int, total: int) -> None:
        message = f"{done:,} of {total:,} characters"
        anyio.from_thread.run(call.progress, done, total, message)

    return report


def _compiled(source: SourceText, ask: Compile, report: Callable[[int, int], None]) -> Compiled:
    started = time.perf_counter()
    options = CompileOptions(ask.source_type, ask.compression_level)
    # Only a source read by its address can be longer than what is read in one go.
    package = compile_long(source, options, report)
    took_ms = round((time.perf_counter() - started) * 1000, 1)
    # What parsing puts back need not be paid for by whoever reads the document.
    document = encode(Package(compact(package)), ask.format)
    return Compiled(
        format=Format(ask.format),
        document=document,
        package=package.body,
        warnings=_warnings(package),
        metrics=_metrics(package, source, document, took_ms),
    )


def _metrics(package: Package, source: SourceText, document: str, took_ms: float) -> Item:
    spans = package.metadata.get("source_manifest")
    chunks = max(1, len(spans)) if isinstance(spans, list) else 1
    return {
        "compiler": "heuristic",
        "compiler_version": text_of(package.metadata, "compiler_version"),
        "duration_ms": took_ms,
        "quality": quality(package, Circumstances(source.text, chunks)),
        "coverage": coverage(package),
        "numeric_integrity": numeric_integrity(package, source.text),
        "source_tokens": tokens(source.text),
        "document_tokens": tokens(document),
    }


def _warnings(package: Package) -> list[str]:
    return texts_of(package.part("knowledge_limits"), "needs_human_review")

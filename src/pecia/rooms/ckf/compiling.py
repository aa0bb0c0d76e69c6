"""`ckf.compile`: the compiler that needs no key, served. Computes in a worker."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from pecia.kernel.compute.pool import compute
from pecia.kernel.compute.worker import Report
from pecia.kernel.errors import MissingField
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.limits import Limit, RateLimiter
from pecia.kernel.text.language import language_tag
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Answer, AnyTool, Text, Tool
from pecia.rooms.ckf.compile_core import compiled_source
from pecia.rooms.ckf.inputs import Compile
from pecia.rooms.ckf.options import SourceText
from pecia.rooms.ckf.outputs import Compiled

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
        made = await compute(
            call.caller.tenant_id, compiled_source, source, ask, report=reporter(call)
        )
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
        language = asked_language(ask)
        return SourceText(ask.text, title, ask.uri or "", language, author, ask.filename)
    found = await read_source(call.caller, ask.uri or "")
    return replace(
        found,
        title=ask.source_title or found.title,
        uri=ask.uri or "",
        language=asked_language(ask),
        author=ask.source_author or found.author,
        filename=ask.filename or found.filename,
    )


def asked_language(ask: Compile) -> str | None:
    """As everybody here writes it: `eng` is `en`."""
    return language_tag(ask.language or "") or ask.language


def reporter(call: Call) -> Report:
    """Tells the caller how far a long text is."""

    async def report(done: int, total: int) -> None:
        await call.progress(done, total, f"{done:,} of {total:,} characters")

    return report

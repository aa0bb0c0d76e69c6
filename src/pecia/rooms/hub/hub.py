"""The hub's verbs: look at a server, call a tool of it. What a server says is data and no order."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias
from uuid import UUID

import anyio

from pecia.kernel.errors import (
    Forbidden,
    Json,
    NotFound,
    PeciaError,
    Timeout,
    Unprocessable,
    UpstreamError,
)
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.logs import Log
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, Result
from pecia.kernel.tool.near import did_you_mean
from pecia.rooms.hub.board import Condition, Switchboard, Wanted
from pecia.rooms.hub.clock import LONGEST_S, Clock
from pecia.rooms.hub.listed import File
from pecia.rooms.hub.looks import Looks
from pecia.rooms.hub.model import Kept, Options, Place, Server
from pecia.rooms.hub.naming import prefixed
from pecia.rooms.hub.offers import Catalog, catalog
from pecia.rooms.hub.ports import Line, Network
from pecia.rooms.hub.registry import Registry
from pecia.rooms.hub.results import result
from pecia.rooms.hub.settings import timeout_in

Run: TypeAlias = Callable[[Call, Mapping[str, Json]], Awaitable[Result]]

ROOM = "hub"
LOOK_S = 60.0
SWEEP_S = 10.0
MAY_BE_DONE = "It may have been done, in part or whole: look before you ask for it again."

_log = Log(__name__)


class Gone(UpstreamError):
    """The server died over a question. Whether it did what was asked, nobody knows."""


class Answered(UpstreamError):
    """The server said no to a question that it got. It may have done a part of what was asked."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a server is waited for, and how large an answer is taken."""

    timeout_s: float
    answer_bytes: int


@dataclass(frozen=True, slots=True)
class Hub:
    """Everything that can be done with servers of others."""

    registry: Registry
    board: Switchboard
    network: Network
    limits: Limits
    file: File | None = None
    looks: Looks = field(default_factory=Looks)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While it is entered, conversations stay open. A file that is wrong is said at once."""
        if self.file is not None:
            await self.file.read()
        async with self.board.running():
            self.board.start_soon(self._sweep)
            yield

    async def forget_unheld(self) -> None:
        """Servers of sessions that are over go, and their programs with them."""
        for key in await self.registry.remove_unheld():
            self.board.forget(key)

    async def _sweep(self) -> None:
        """Sessions may end without a word: their clients are killed, or this server was."""
        while True:
            try:
                await self.forget_unheld()
            except PeciaError as error:
                _log.failure("hub.sweep", error)
            await anyio.sleep(SWEEP_S)

    async def ready(self, caller: Caller) -> None:
        """What the operator's file has for this caller's tenant is there from now on."""
        if self.file is not None:
            await self.file.bring(caller)

    def condition(self, caller: Caller, server: str) -> Condition:
        return self.board.condition((caller.tenant_id, server))

    async def require_reach(self, tenant_id: UUID, place: Place) -> None:
        """Refuse a place inside the operator's network that this tenant was not given."""
        hosts = await self.network.hosts(tenant_id, is_operators=False)
        await self.network.check(replace(place, hosts=hosts))

    async def look(self, tenant_id: UUID, server: Server) -> Catalog:
        """Ask a server for its tools, and write down what is not as it was."""
        wanted = await self._wanted(tenant_id, server)
        with anyio.move_on_after(LOOK_S):
            async with self.board.line(wanted) as connected:
                found = await self._noted(wanted, server.options, connected.line)
            self.board.answered(wanted.key)
            return found
        raise Timeout(f"{server.name} did not list its tools in {LOOK_S:g} s", timeout_s=LOOK_S)

    async def call(
        self,
        call: Call,
        server: str,
        tool: str,
        arguments: Mapping[str, Json],
        check: Callable[[Kept], None] = lambda kept: None,
    ) -> Result:
        """Call a tool that was approved, for a caller to whom its server is open."""
        await self.ready(call.caller)
        there, kept = await self._callable(call.caller, server, tool)
        check(kept)
        told = await self._asked(call, there, kept, arguments)
        return result(told, server=server, most_bytes=self.limits.answer_bytes)

    async def _callable(self, caller: Caller, name: str, tool: str) -> tuple[Server, Kept]:
        server, kept = await self.registry.found(caller, name, tool)
        if kept is None:
            known = [it.name for it in await self.registry.tools(caller, name)]
            near = did_you_mean(tool, known)
            raise NotFound(f"{name} has no tool {tool!r}{near}", tool=tool, available=[*known])
        if not server.enabled:
            raise Forbidden(
                f"the server {server.name} is switched off",
                server=server.name,
                hint="An administrator switches it on: hub.set_server with enabled.",
            )
        if not kept.is_open:
            raise Forbidden(
                f"the server {server.name} is not open to you",
                server=server.name,
                hint="An administrator opens it to you: hub.set_server.",
            )
        require_approved(kept)
        if not kept.shown.read_only and Scope.WRITE not in caller.scopes:
            raise Forbidden(
                f"{tool} of {server.name} may change something: it needs the scope pecia.write",
                scope=Scope.WRITE.value,
            )
        return server, kept

    async def _asked(
        self, call: Call, server: Server, kept: Kept, arguments: Mapping[str, Json]
    ) -> dict[str, object]:
        """Send it. What may safely be done twice is sent again where the server died over it."""
        wanted = await self._wanted(call.caller.tenant_id, server)
        may_repeat = kept.shown.read_only or kept.shown.idempotent
        for attempt in (1, 2):
            try:
                told = await self._sent(call, wanted, server, kept, arguments)
            except Timeout as error:
                raise Timeout(error.message, **_may_be_done(error, may_repeat)) from None
            except UpstreamError as error:
                if not (may_repeat and isinstance(error, Gone) and attempt == 1):
                    raise _failed(error, server.name, may_repeat=may_repeat) from None
            else:
                self.board.answered(wanted.key)
                return told
        raise UpstreamError("unreachable")

    async def _sent(
        self,
        call: Call,
        wanted: Wanted,
        server: Server,
        kept: Kept,
        arguments: Mapping[str, Json],
    ) -> dict[str, object]:
        clock = Clock(call, server.options, timeout_in(call.session, self.limits.timeout_s))
        async with self.board.line(wanted) as connected:
            if connected.is_fresh:
                # What it offers was just read anew: it may not be what was approved.
                await self._callable(call.caller, server.name, kept.name)
            require_served(connected.line, server, "tools/call")
            try:
                return await clock.asked(connected.line, kept.name, arguments)
            except UpstreamError as error:
                found = Gone if connected.line.over.is_set() else Answered
                raise found(error.message, **error.fields) from None

    async def _noted(self, wanted: Wanted, options: Options, line: Line) -> Catalog:
        """What the server offers now, written down."""
        tenant_id, server = wanted.key
        if not _says(line, "tools") and options.strict_capabilities:
            # It is not asked for what it never said it has, and nothing is learned.
            return catalog(())
        found = catalog(await self._listed(server, line))
        await self.registry.note(tenant_id, server, found, takes=options.takes_changes)
        return found

    async def _listed(self, server: str, line: Line) -> Sequence[object]:
        try:
            return await line.tools()
        except UpstreamError:
            if _says(line, "tools") or line.over.is_set():
                raise
            _log.warning("hub.capability", server=server, method="tools/list")
            return ()

    async def _wanted(self, tenant_id: UUID, server: Server) -> Wanted:
        async def place() -> Place:
            found = await self.registry.place(tenant_id, server.name)
            hosts = await self.network.hosts(tenant_id, is_operators=found.is_operators)
            return replace(found.place, hosts=hosts)

        async def greet(line: Line) -> None:
            await self._noted(wanted, server.options, line)

        async def again() -> None:
            await self.looks.again((tenant_id, server.name), lambda: self.look(tenant_id, server))

        def hear(what: str) -> None:
            if what == "tools":
                self.board.start_soon(again)

        # What the operator takes away must end the conversations that are open already.
        hosts = await self.network.hosts(tenant_id, is_operators=server.is_operators)
        wanted = Wanted((tenant_id, server.name), (server.version, hosts), place, greet, hear)
        return wanted


def require_approved(kept: Kept) -> None:
    """Refuse a tool that is not what somebody approved."""
    if kept.state == "approved":
        return
    said = {
        "new": "is new and not approved yet",
        "changed": "says something else than when it was approved",
        "gone": "is no longer there",
    }[kept.state]
    raise Forbidden(
        f"{kept.name} of {kept.server} {said}",
        tool=kept.name,
        state=kept.state,
        hint="An administrator looks at it and approves it: hub.approve_tools.",
    )


def require_served(line: Line, server: Server, method: str) -> None:
    """Where the server never said it serves this: an error if so wished, else a line in the log.

    Some serve more than they say.
    """
    family = method.partition("/")[0]
    if _says(line, family):
        return
    told = f"{server.name} does not support {family} (required for {method})"
    if server.options.strict_capabilities:
        raise Unprocessable(told, method=method, capability=family)
    _log.warning("hub.capability", server=server.name, method=method)


def _says(line: Line, family: str) -> bool:
    return family in line.about["can"]


def foreign(kept: Kept, run: Run) -> ForeignTool:
    """An upstream tool as one of ours: what was approved of it, and whose it is."""
    told = kept.shown
    return ForeignTool(
        room=ROOM,
        name=kept.exposed or prefixed(kept.server, kept.name),
        scope=Scope.READ if told.read_only else Scope.WRITE,
        description=f"[{kept.server}] {told.description}".strip(),
        input_schema=told.input_schema,
        run=run,
        output_schema=told.output_schema,
        read_only=told.read_only,
        destructive=told.destructive,
        idempotent=told.idempotent,
        open_world=told.open_world,
        title=told.title,
        timeout_s=LONGEST_S,
        also=(prefixed(kept.server, kept.name),),
        server=kept.server,
        name_there=kept.name,
    )


def _failed(error: UpstreamError, server: str, *, may_repeat: bool) -> UpstreamError:
    was_sent = isinstance(error, Gone | Answered)
    fields = _may_be_done(error, may_repeat) if was_sent else error.fields
    return UpstreamError(f"Tool execution failed: {error.message}", **{**fields, "server": server})


def _may_be_done(error: PeciaError, may_repeat: bool) -> dict[str, Json]:
    """The facts of a failure after the question was sent: what may have been done already is to be
    asked for again only where the tool says that this does no harm."""
    if may_repeat:
        return {**error.fields}
    return {**error.fields, "retryable": False, "hint": MAY_BE_DONE}

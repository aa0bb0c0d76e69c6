"""The one corridor: who asks, may they, is it valid, do it, write it down. It knows no door."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

import anyio
from pydantic import BaseModel

from pecia.kernel.errors import (
    AuthRequired,
    Forbidden,
    InternalError,
    Json,
    PeciaError,
    StorageFull,
    Timeout,
)
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.limits import RateLimiter
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.failures import Collision
from pecia.kernel.store.trace import Status, Trace
from pecia.kernel.tool.call import Call, Channel, InputRequired
from pecia.kernel.tool.model import Answer, AnyTool, Result
from pecia.kernel.tool.quiet import QUIET
from pecia.kernel.tool.redact import audited
from pecia.kernel.tool.validate import validated
from pecia.kernel.tool.view import View, full_name, may_call

log = logging.getLogger(__name__)

TRIES = 3
DENIALS = (AuthRequired, Forbidden)


@dataclass(frozen=True, slots=True)
class Visit:
    """How a call came in: through which door, from where, and how to talk back."""

    door: str
    client_ip: str | None = None
    request_id: str | None = None
    channel: Channel = QUIET
    timeout_s: float | None = None
    session: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Corridor:
    """Everything a call passes, in order. It is the only caller of a tool's handler."""

    ledger: Ledger
    limiter: RateLimiter
    timeout_s: float

    async def call(
        self,
        who: Caller | Operator,
        view: View,
        name: str,
        arguments: Mapping[str, Json],
        visit: Visit,
    ) -> Result:
        """Run one tool for one caller. Whatever happens leaves exactly one audit row."""
        tool = view.tools.get(name) or view.aliases.get(name)
        trace = _trace(who, name, tool, arguments, visit)
        self._begin(trace)
        started = time.perf_counter_ns()
        status: Status = "crashed"
        code: str | None = None
        try:
            result = await self._pass(who, view, name, arguments, visit, trace)
            status = "error" if result.is_error else "ok"
            return result
        except InputRequired:
            status, code = "ok", "INPUT_REQUIRED"
            raise
        except PeciaError as error:
            status = "denied" if isinstance(error, DENIALS) else "error"
            code = error.code.name
            raise
        except anyio.get_cancelled_exc_class():
            status = "cancelled"
            raise
        except Exception as error:
            code = InternalError.code.name
            log.exception("crashed", extra={"action": "call", "tool": trace.tool})
            raise InternalError(
                "something went wrong on our side; the log has it under this request",
                request_id=str(trace.request_id or trace.id),
            ) from error
        finally:
            self._end(trace, status, code, (time.perf_counter_ns() - started) // 1000)

    def denied(self, error: PeciaError, visit: Visit, tool: str = "authenticate") -> None:
        """Write down a denial that came before anyone was known."""
        trace = Trace(
            uuid4(), tool, visit.door, client_ip=visit.client_ip, request_id=visit.request_id
        )
        self._begin(trace)
        self._end(trace, "denied", error.code.name, 0)

    async def _pass(
        self,
        who: Caller | Operator,
        view: View,
        name: str,
        arguments: Mapping[str, Json],
        visit: Visit,
        trace: Trace,
    ) -> Result:
        caller = _tenant_caller(who)
        self.limiter.take(caller.user_id or visit.client_ip or "anonymous")
        tool = view.find(name)
        _require_scope(caller, tool)
        taken = validated(tool, arguments)
        limit_s = min(visit.timeout_s or self.timeout_s, tool.timeout_s or self.timeout_s)
        call = Call(caller, visit.channel, trace, anyio.current_time() + limit_s, visit.session)
        try:
            with anyio.fail_after(limit_s):
                return _result(await _run(tool, call, taken))
        except TimeoutError:
            raise Timeout(f"{name} took longer than {limit_s:g} s", timeout_s=limit_s) from None

    def _begin(self, trace: Trace) -> None:
        """What cannot be written down is not done."""
        try:
            self.ledger.begin(trace)
        except OSError as error:
            raise StorageFull("the audit trail cannot be written; free disk space") from error

    def _end(self, trace: Trace, status: Status, code: str | None, duration_us: int) -> None:
        try:
            self.ledger.end(trace, status, code, duration_us)
        except OSError:
            # The call is done and its beginning is on record: the row will say `interrupted`.
            log.exception("end of call not recorded", extra={"action": "audit"})


async def _run(tool: AnyTool, call: Call, taken: BaseModel) -> object:
    """The handler; again when two writers met, because the store rolled all of it back."""
    for attempt in range(TRIES):
        try:
            return await tool.run(call, taken)  # pyright: ignore[reportArgumentType] - `taken` was made by this tool's own model
        except Collision:
            if attempt == TRIES - 1:
                raise
    raise InternalError("unreachable")


def _result(given: object) -> Result:
    if isinstance(given, Result):
        return given
    if isinstance(given, Answer):
        answer = cast(Answer[BaseModel], given)
        return Result(_plain(answer.output), answer.content)
    return Result(_plain(given))


def _plain(output: object) -> Json:
    if not isinstance(output, BaseModel):
        raise TypeError(f"a tool gave {type(output).__name__}, not its output model")
    return output.model_dump(mode="json")


def _tenant_caller(who: Caller | Operator) -> Caller:
    if isinstance(who, Operator):
        raise Forbidden("MCP tools are tenant-scoped")
    return who


def _require_scope(caller: Caller, tool: AnyTool) -> None:
    if may_call(caller, tool):
        return
    if caller.is_anonymous:
        raise AuthRequired(f"{tool.name} needs a bearer token", scope=tool.scope.value)
    raise Forbidden(
        f"{tool.name} needs the scope {tool.scope.value}",
        scope=tool.scope.value,
        have=[*sorted(it.value for it in caller.scopes)],
    )


def _trace(
    who: Caller | Operator,
    name: str,
    tool: AnyTool | None,
    arguments: Mapping[str, Json],
    visit: Visit,
) -> Trace:
    is_tenant = isinstance(who, Caller)
    return Trace(
        id=uuid4(),
        tool=full_name(tool) if tool else name[:200],
        door=visit.door,
        tenant_id=who.tenant_id if is_tenant else None,
        user_id=who.user_id if is_tenant else None,
        credential_id=who.credential_id,
        arguments=audited(tool, arguments),
        client_ip=visit.client_ip,
        request_id=visit.request_id,
    )

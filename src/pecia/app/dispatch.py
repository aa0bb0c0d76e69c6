"""The one corridor: who asks, may they, is it valid, do it, write it down. It knows no door."""

import logging
import math
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast
from uuid import UUID, uuid4

import anyio
from pydantic import BaseModel

from pecia.app.deadline import run_until_deadline
from pecia.app.fair_queue import SlotLimits, SlotOwner
from pecia.app.scheduler import Scheduler
from pecia.kernel.errors import (
    AuthRequired,
    Collision,
    Forbidden,
    InternalError,
    Json,
    PeciaError,
    RateLimited,
    StorageFull,
    Timeout,
)
from pecia.kernel.identity.caller import Caller, CredentialKind, Operator, Scope
from pecia.kernel.rate_limit import RateLimiter
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.audit.record import AuditRecord, AuditStatus
from pecia.kernel.tool.call import Call, Channel, InputRequired
from pecia.kernel.tool.model import AnyTool, CitedOutput, ToolResult
from pecia.kernel.tool.null_channel import NULL_CHANNEL
from pecia.kernel.tool.redact import redact_arguments
from pecia.kernel.tool.validate import validate_arguments
from pecia.kernel.tool.view import ToolView, full_name, may_call

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
REMOTE_SLOT_LIMITS = SlotLimits(running=256, tenant_running=192, principal_running=64)
DENIAL_ERRORS = (AuthRequired, Forbidden)

T = TypeVar("T")

ANONYMOUS_CALLER = Caller(
    credential_id=UUID(int=0),
    kind=CredentialKind.ANONYMOUS,
    tenant_id=UUID(int=0),
    tenant="",
    user_id=None,
    user="nobody",
    scopes=frozenset(),
)
"""A visitor to a public page where no tenant is public. The store opens nothing for it."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """How a call came in: through which door, from where, and how to talk back."""

    interface: str
    client_ip: str | None = None
    request_id: str | None = None
    channel: Channel = NULL_CHANNEL
    timeout_s: float | None = None
    session: Mapping[str, Json] = field(default_factory=dict[str, Json])
    model_key: str | None = field(default=None, repr=False)
    """A caller's own key to a model, for this call alone."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What is asked for when it is no tool: a page, a socket, a resource, a prompt."""

    name: str
    scope: Scope
    public: bool = False
    """Open to everybody, even to a visitor who is nobody here."""
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What the audit keeps of the request: small, and no secret among it."""
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class _ExecutionLimits:
    """How long it may take, and whether it mostly waits for somebody else."""

    timeout_s: float | None
    is_remote: bool = False


class CallObserver(Protocol):
    """Hears of every call that begins and ends, to count it."""

    def began(self, trace: AuditRecord) -> None: ...

    def ended(
        self, trace: AuditRecord, status: AuditStatus, code: str | None, duration_us: int
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Everything a call passes, in order. It is the only caller of a tool's handler."""

    audit_log: AuditLog
    limiter: RateLimiter
    timeout_s: float
    scheduler: Scheduler = field(default_factory=Scheduler)
    """For what this process and its database do themselves."""
    remote_scheduler: Scheduler = field(default_factory=lambda: Scheduler(REMOTE_SLOT_LIMITS))
    """For calls that mostly wait for other servers: they would hold the slots of all others."""
    observers: list[CallObserver] = field(default_factory=list[CallObserver])

    async def call(
        self,
        who: Caller | Operator,
        view: ToolView,
        name: str,
        arguments: Mapping[str, Json],
        visit: RequestContext,
    ) -> ToolResult:
        """Run one tool for one caller. Whatever happens leaves exactly one audit row."""
        tool = view.tools.get(name) or view.aliases.get(name)
        named = full_name(tool) if tool else name[:200]
        trace = _trace(who, named, redact_arguments(tool, arguments), visit)
        return await self._with_audit(
            trace, lambda: self._call_tool(who, view, name, arguments, visit, trace)
        )

    async def run(
        self,
        who: Caller | Operator | None,
        errand: Operation,
        visit: RequestContext,
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        """The same walk for what is no tool. Only a public errand may be nobody's."""
        trace = _trace(who, errand.name, errand.arguments, visit)
        return await self._with_audit(
            trace, lambda: self._run_operation(who, errand, visit, trace, work)
        )

    async def _with_audit(self, trace: AuditRecord, work: Callable[[], Awaitable[T]]) -> T:
        self._begin(trace)
        started = time.perf_counter_ns()
        status: AuditStatus = "crashed"
        code: str | None = None
        try:
            given = await work()
            if isinstance(given, ToolResult) and given.is_error:
                status, code = "error", given.failure.code.name if given.failure else None
            else:
                status = "ok"
            return given
        except InputRequired:
            status, code = "ok", "INPUT_REQUIRED"
            raise
        except PeciaError as error:
            status = "denied" if isinstance(error, DENIAL_ERRORS) else "error"
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

    def record_denial(
        self, error: PeciaError, visit: RequestContext, tool: str = "authenticate"
    ) -> None:
        """Write down a denial that came before anyone was known."""
        trace = AuditRecord(
            uuid4(), tool, visit.interface, client_ip=visit.client_ip, request_id=visit.request_id
        )
        self._begin(trace)
        self._end(trace, "denied", error.code.name, 0)

    def record_refusal(
        self, who: Caller | Operator, name: str, error: PeciaError, visit: RequestContext
    ) -> PeciaError:
        """Write down a call whose arguments nobody could read. Returns what to raise."""
        trace = _trace(who, name[:200], {}, visit)
        self._begin(trace)
        try:
            self.limiter.take(_rate_limit_key(who, visit))
        except RateLimited as limited:
            error = limited
        self._end(trace, "error", error.code.name, 0)
        return error

    async def _call_tool(
        self,
        who: Caller | Operator,
        view: ToolView,
        name: str,
        arguments: Mapping[str, Json],
        visit: RequestContext,
        trace: AuditRecord,
    ) -> ToolResult:
        caller = _require_tenant_caller(who)
        self.limiter.take(_rate_limit_key(caller, visit))
        tool = view.find(name)
        _require_scope(caller, tool.name, tool.scope, reached=may_call(caller, tool))
        taken = validate_arguments(tool, arguments)
        return _to_result(
            await self._run_with_deadline(
                caller,
                visit,
                trace,
                _ExecutionLimits(tool.timeout_s, tool.open_world),
                lambda call: _run_with_retry(tool, call, taken),
            )
        )

    async def _run_operation(
        self,
        who: Caller | Operator | None,
        errand: Operation,
        visit: RequestContext,
        trace: AuditRecord,
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        caller = ANONYMOUS_CALLER if who is None else _require_tenant_caller(who)
        self.limiter.take(_rate_limit_key(caller, visit))
        if not errand.public:
            reached = errand.scope in caller.scopes and not caller.is_anonymous
            _require_scope(caller, errand.name, errand.scope, reached=reached)
        return await self._run_with_deadline(
            caller, visit, trace, _ExecutionLimits(errand.timeout_s), work
        )

    async def _run_with_deadline(
        self,
        caller: Caller,
        visit: RequestContext,
        trace: AuditRecord,
        terms: "_ExecutionLimits",
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        """The work in its turn, answered by its deadline: what the visit asks for, but never more
        than the thing itself allows. Waiting for the turn counts.
        """
        most_s = terms.timeout_s
        limit_s = min(visit.timeout_s or most_s or self.timeout_s, most_s or math.inf)
        deadline = anyio.current_time() + limit_s
        call = Call(caller, visit.channel, trace, deadline, visit.session, visit.model_key)
        if math.isinf(limit_s):
            # A socket mostly waits for its client, for hours: it holds no slot.
            return await work(call)
        lane = self.remote_scheduler if terms.is_remote else self.scheduler
        slot = lane.slot(SlotOwner(caller.tenant_id, _rate_limit_key(caller, visit)))
        call.idle = slot.idle

        async def run() -> T:
            await slot.acquire()
            try:
                return await work(call)
            finally:
                slot.release()

        try:
            return await run_until_deadline(deadline, run)
        except TimeoutError:
            if not slot.was_taken:
                raise slot.overload_error() from None
            raise Timeout(
                f"{trace.tool} took longer than {limit_s:g} s", timeout_s=limit_s
            ) from None

    def _begin(self, trace: AuditRecord) -> None:
        """What cannot be written down is not done."""
        try:
            self.audit_log.begin(trace)
        except OSError as error:
            raise StorageFull("the audit trail cannot be written; free disk space") from error
        for watcher in self.observers:
            watcher.began(trace)

    def _end(
        self, trace: AuditRecord, status: AuditStatus, code: str | None, duration_us: int
    ) -> None:
        try:
            self.audit_log.end(trace, status, code, duration_us)
        except OSError:
            # The call is done and its beginning is on record: the row will say `interrupted`.
            log.exception("end of call not recorded", extra={"action": "audit"})
        for watcher in self.observers:
            watcher.ended(trace, status, code, duration_us)


async def _run_with_retry(tool: AnyTool, call: Call, taken: BaseModel) -> object:
    """The handler; again when two writers met, because the store rolled all of it back."""
    for attempt in range(MAX_ATTEMPTS):
        try:
            return await tool.run(call, taken)  # pyright: ignore[reportArgumentType] - `taken` was made by this tool's own model
        except Collision:
            if attempt == MAX_ATTEMPTS - 1:
                raise
    raise InternalError("unreachable")


def _to_result(given: object) -> ToolResult:
    if isinstance(given, ToolResult):
        return given
    if isinstance(given, CitedOutput):
        answer = cast(CitedOutput[BaseModel], given)
        return ToolResult(_to_json(answer.output), answer.content)
    return ToolResult(_to_json(given))


def _to_json(output: object) -> Json:
    if not isinstance(output, BaseModel):
        raise TypeError(f"a tool gave {type(output).__name__}, not its output model")
    return output.model_dump(mode="json")


def _require_tenant_caller(who: Caller | Operator) -> Caller:
    if isinstance(who, Operator):
        raise Forbidden("MCP tools are tenant-scoped")
    return who


def _rate_limit_key(who: Caller | Operator, visit: RequestContext) -> Hashable:
    """Whose calls are counted together."""
    user = who.user_id if isinstance(who, Caller) else who.credential_id
    return user or visit.client_ip or "anonymous"


def _require_scope(caller: Caller, name: str, scope: Scope, *, reached: bool) -> None:
    if reached:
        return
    if caller.is_anonymous:
        raise AuthRequired(f"{name} needs a bearer token", scope=scope.value)
    raise Forbidden(
        f"{name} needs the scope {scope.value}",
        scope=scope.value,
        have=[*sorted(it.value for it in caller.scopes)],
    )


def _trace(
    who: Caller | Operator | None, name: str, arguments: Mapping[str, Json], visit: RequestContext
) -> AuditRecord:
    is_tenant = isinstance(who, Caller)
    return AuditRecord(
        id=uuid4(),
        tool=name,
        door=visit.interface,
        tenant_id=who.tenant_id if is_tenant else None,
        user_id=who.user_id if is_tenant else None,
        credential_id=who.credential_id if who else None,
        arguments=arguments,
        client_ip=visit.client_ip,
        request_id=visit.request_id,
    )

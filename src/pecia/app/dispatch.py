"""The one path of a request: scope, rate limit, validation, slot, deadline; audited from its begin
to its end. Knows no interface.
"""

import errno
import logging
import math
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar, cast
from uuid import UUID, uuid4

import anyio
from pydantic import BaseModel

from pecia.app.scheduler import Scheduler, SlotLimits, SlotOwner, run_until_deadline
from pecia.kernel.errors import (
    MAY_BE_DONE_HINT,
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
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.audit.spool import AuditSpool
from pecia.kernel.store.audit.status import AuditStatus
from pecia.kernel.tool.call import Call, Channel, InputRequired
from pecia.kernel.tool.model import AnyTool, CitedOutput, DeferredTool, ToolResult
from pecia.kernel.tool.null_channel import NULL_CHANNEL
from pecia.kernel.tool.on_demand import implementation, load_tools
from pecia.kernel.tool.validate import redact_arguments, validate_arguments
from pecia.kernel.tool.view import ToolView, full_name, may_call

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
REMOTE_SLOT_LIMITS = SlotLimits(running=256, tenant_running=192, principal_running=64)
FULL_DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
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
"""Nobody, on a public page where no tenant is public. Row-level security shows it nothing."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """How a call came in: interface, client address, and the channel to talk back."""

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
    """A request that is not a tool call: a page, a socket, a resource, a prompt."""

    name: str
    scope: Scope
    public: bool = False
    """Open to everybody, without a token too."""
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What the audit log keeps of the request: small, without secrets."""
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call whose tool was looked up and whose scope suffices. It runs once."""

    caller: Caller
    view: ToolView
    name: str
    tool: AnyTool | None
    """None for an unknown name, which the call then reports."""
    arguments: Mapping[str, Json]
    prepared: "_PreparedTool | None" = None


@dataclass(frozen=True, slots=True)
class _PreparedTool:
    """A tool with its arguments, as its own model parsed them."""

    tool: AnyTool
    parsed: BaseModel


@dataclass(frozen=True, slots=True)
class _ExecutionLimits:
    """The timeout, whether the call mostly waits for another server, and whether it writes."""

    timeout_s: float | None
    is_remote: bool = False
    is_write: bool = False


class CallObserver(Protocol):
    """Notified when a call begins and ends; used for metrics."""

    def on_call_start(self, trace: AuditRecord) -> None: ...

    def on_call_end(
        self, trace: AuditRecord, status: AuditStatus, code: str | None, duration_us: int
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Every step of a call, in order. The only caller of a tool's handler."""

    audit_spool: AuditSpool
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
        context: RequestContext,
    ) -> ToolResult:
        """Run one tool for one caller. Every outcome leaves exactly one audit row."""
        admitted = await self.admit(who, view, name, arguments, context)
        return await self.run_call(admitted, context)

    async def admit(
        self,
        who: Caller | Operator,
        view: ToolView,
        name: str,
        arguments: Mapping[str, Json],
        context: RequestContext,
    ) -> ToolCall:
        """Look the tool up and check the scope. A denial is audited here, all else by the call."""
        tool = view.lookup(name)
        runs = await _load_implementation(tool) if isinstance(tool, DeferredTool) else tool
        try:
            caller = _require_tenant_caller(who)
            if tool is not None:
                _require_scope(caller, tool.name, tool.scope, reached=may_call(caller, tool))
        except DENIAL_ERRORS as error:
            record = _record_of_call(who, runs, name, arguments, context)
            raise self._refuse(record, who, error, context) from None
        return ToolCall(caller, view, name, runs, arguments)

    def prepare(self, call: ToolCall, context: RequestContext) -> ToolCall:
        """Take the rate limit and validate now, not when the call runs: for an interface that
        cannot refuse it any more then. A refusal is audited here.
        """
        try:
            return replace(call, prepared=self._prepare(call, context))
        except PeciaError as error:
            record = _record_of_call(call.caller, call.tool, call.name, call.arguments, context)
            self._begin(record)
            self._end(record, _failure_status(error), error.code.name, 0)
            raise

    def _prepare(self, call: ToolCall, context: RequestContext) -> "_PreparedTool":
        self.limiter.take(_rate_limit_key(call.caller, context))
        if call.tool is None:
            # Read at the first mistake; most processes never need it.
            from pecia.features.discovery.rank import load_phrases

            raise call.view.not_found(call.name, load_phrases())
        return _PreparedTool(call.tool, validate_arguments(call.tool, call.arguments))

    async def run_call(self, call: ToolCall, context: RequestContext) -> ToolResult:
        """Run an admitted call: rate limit, validation, slot, deadline, audit."""
        record = _record_of_call(call.caller, call.tool, call.name, call.arguments, context)
        return await self._with_audit(record, lambda: self._run_tool(call, context, record))

    async def run(
        self,
        who: Caller | Operator | None,
        operation: Operation,
        context: RequestContext,
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        """The same steps for what is not a tool. Only a public operation may have no caller."""
        record = _record(who, operation.name, operation.arguments, context)
        return await self._with_audit(
            record, lambda: self._run_operation(who, operation, context, record, work)
        )

    async def _with_audit(self, record: AuditRecord, work: Callable[[], Awaitable[T]]) -> T:
        self._begin(record)
        started = time.perf_counter_ns()
        status: AuditStatus = "crashed"
        code: str | None = None
        try:
            result = await work()
            if isinstance(result, ToolResult) and result.is_error:
                status, code = "error", result.failure.code.name if result.failure else None
            else:
                status = "ok"
            return result
        except InputRequired:
            status, code = "ok", "INPUT_REQUIRED"
            raise
        except PeciaError as error:
            status, code = _failure_status(error), error.code.name
            raise
        except anyio.get_cancelled_exc_class():
            status = "cancelled"
            raise
        except Exception as error:
            code = InternalError.code.name
            log.exception("crashed", extra={"action": "call", "tool": record.tool})
            raise InternalError(
                "internal error; the server log has it under this request id",
                request_id=str(record.request_id or record.id),
            ) from error
        finally:
            self._end(record, status, code, (time.perf_counter_ns() - started) // 1000)

    def record_denial(
        self,
        error: PeciaError,
        context: RequestContext,
        arguments: Mapping[str, Json] | None = None,
    ) -> None:
        """Audit a denial that came before the caller was known."""
        record = AuditRecord(
            uuid4(),
            "authenticate",
            context.interface,
            arguments=arguments or {},
            client_ip=context.client_ip,
            request_id=context.request_id,
        )
        self._begin(record)
        self._end(record, "denied", error.code.name, 0)

    def record_refusal(
        self, who: Caller | Operator, name: str, error: PeciaError, context: RequestContext
    ) -> PeciaError:
        """Audit a request that is refused before it is a call. Returns what to raise."""
        return self._refuse(_record(who, name[:200], {}, context), who, error, context)

    def _refuse(
        self,
        record: AuditRecord,
        who: Caller | Operator,
        error: PeciaError,
        context: RequestContext,
    ) -> PeciaError:
        self._begin(record)
        try:
            self.limiter.take(_rate_limit_key(who, context))
        except RateLimited as limited:
            error = limited
        self._end(record, _failure_status(error), error.code.name, 0)
        return error

    async def _run_tool(
        self, call: ToolCall, context: RequestContext, record: AuditRecord
    ) -> ToolResult:
        ready = call.prepared or self._prepare(call, context)
        tool = ready.tool
        return _to_result(
            await self._run_with_deadline(
                call.caller,
                context,
                record,
                _ExecutionLimits(tool.timeout_s, tool.open_world, not tool.read_only),
                lambda call: _run_with_retry(tool, call, ready.parsed),
            )
        )

    async def _run_operation(
        self,
        who: Caller | Operator | None,
        operation: Operation,
        context: RequestContext,
        record: AuditRecord,
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        caller = ANONYMOUS_CALLER if who is None else _require_tenant_caller(who)
        self.limiter.take(_rate_limit_key(caller, context))
        if not operation.public:
            reached = operation.scope in caller.scopes and not caller.is_anonymous
            _require_scope(caller, operation.name, operation.scope, reached=reached)
        return await self._run_with_deadline(
            caller, context, record, _ExecutionLimits(operation.timeout_s), work
        )

    async def _run_with_deadline(
        self,
        caller: Caller,
        context: RequestContext,
        record: AuditRecord,
        limits: "_ExecutionLimits",
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        """Run the work in a slot, within the timeout of the request, capped by that of the tool.
        Waiting for the slot counts.
        """
        max_s = limits.timeout_s
        limit_s = min(context.timeout_s or max_s or self.timeout_s, max_s or math.inf)
        deadline = anyio.current_time() + limit_s
        call = Call(caller, context.channel, record, deadline, context.session, context.model_key)
        if math.isinf(limit_s):
            # A socket mostly waits for its client, for hours: it holds no slot.
            return await work(call)
        scheduler = self.remote_scheduler if limits.is_remote else self.scheduler
        slot = scheduler.slot(SlotOwner(caller.tenant_id, _rate_limit_key(caller, context)))
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
            message = f"{record.tool} took longer than {limit_s:g} s"
            hint = _timeout_hint(limit_s, context.timeout_s, max_s)
            if limits.is_write:
                hint = f"{MAY_BE_DONE_HINT} {hint}"
                raise Timeout(message, timeout_s=limit_s, retryable=False, hint=hint) from None
            raise Timeout(message, timeout_s=limit_s, hint=hint) from None

    def _begin(self, record: AuditRecord) -> None:
        """A call that cannot be audited is not run."""
        try:
            self.audit_spool.begin(record)
        except OSError as error:
            log.error(  # noqa: TRY400 - the path is all that the traceback would add
                "audit log not writable",
                extra={"action": "audit", "folder": str(self.audit_spool.folder)},
            )
            raise _spool_error(error) from error
        for observer in self.observers:
            observer.on_call_start(record)

    def _end(
        self, record: AuditRecord, status: AuditStatus, code: str | None, duration_us: int
    ) -> None:
        try:
            self.audit_spool.end(record, status, code, duration_us)
        except OSError:
            # The call is done and its begin is on disk: the row will say `interrupted`.
            log.exception("end of call not recorded", extra={"action": "audit"})
        for observer in self.observers:
            observer.on_call_end(record, status, code, duration_us)


def _spool_error(error: OSError) -> StorageFull:
    """The reason, without the path: callers of other machines read it. The server log has it."""
    why = (error.strerror or type(error).__name__).lower()
    if error.errno in FULL_DISK_ERRNOS:
        hint = "Free space on the disk of the server's home, then try again."
    else:
        hint = "The server must be able to write to the folder `spool` of its home; its log has it."
    return StorageFull(f"the audit log cannot be written: {why}", hint=hint)


def _timeout_hint(limit_s: float, asked_s: float | None, max_s: float | None) -> str:
    """Which of the three limits ended the call, and what changes it."""
    if max_s is not None and limit_s >= max_s:
        return f"{max_s:g} s is this operation's own limit and no setting: ask for less at once."
    if asked_s is not None:
        return "The request asked for this limit: ask for more, up to request_timeout_max_s."
    return "Try again, or ask for less at once; the setting PECIA_REQUEST_TIMEOUT_S allows more."


async def _load_implementation(tool: DeferredTool) -> AnyTool:
    if tool.group.tools is None:
        await load_tools([tool])
    return implementation(tool)


async def _run_with_retry(tool: AnyTool, call: Call, parsed: BaseModel) -> object:
    """Run the handler; retry on a write conflict, which rolled everything back."""
    for attempt in range(1, MAX_ATTEMPTS + 1):
        call.attempt = attempt
        try:
            return await tool.run(call, parsed)  # pyright: ignore[reportArgumentType] - `parsed` was made by this tool's own model
        except Collision:
            if attempt == MAX_ATTEMPTS:
                raise
    raise InternalError("unreachable")


def _to_result(output: object) -> ToolResult:
    if isinstance(output, ToolResult):
        return output
    if isinstance(output, CitedOutput):
        cited = cast(CitedOutput[BaseModel], output)
        return ToolResult(_to_json(cited.output), cited.content)
    return ToolResult(_to_json(output))


def _to_json(output: object) -> Json:
    if not isinstance(output, BaseModel):
        raise TypeError(f"a tool returned {type(output).__name__}, not its output model")
    return output.model_dump(mode="json")


def _require_tenant_caller(who: Caller | Operator) -> Caller:
    if isinstance(who, Operator):
        raise operator_refusal()
    return who


def operator_refusal() -> Forbidden:
    """Tools belong to tenants: an operator's token calls none, on any interface."""
    return Forbidden(
        "an operator's token calls no tools",
        hint="Use a token of a tenant; its administrators make them: pecia token make LABEL.",
    )


def _rate_limit_key(who: Caller | Operator, context: RequestContext) -> Hashable:
    """The user, else the client address: calls of one key share a bucket."""
    user = who.user_id if isinstance(who, Caller) else who.credential_id
    return user or context.client_ip or "anonymous"


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


def _failure_status(error: PeciaError) -> AuditStatus:
    return "denied" if isinstance(error, DENIAL_ERRORS) else "error"


def _record_of_call(
    who: Caller | Operator,
    tool: AnyTool | None,
    name: str,
    arguments: Mapping[str, Json],
    context: RequestContext,
) -> AuditRecord:
    named = full_name(tool) if tool else name[:200]
    return _record(who, named, redact_arguments(tool, arguments), context)


def _record(
    who: Caller | Operator | None, name: str, arguments: Mapping[str, Json], context: RequestContext
) -> AuditRecord:
    is_tenant = isinstance(who, Caller)
    return AuditRecord(
        id=uuid4(),
        tool=name,
        interface=context.interface,
        tenant_id=who.tenant_id if is_tenant else None,
        user_id=who.user_id if is_tenant else None,
        credential_id=who.credential_id if who else None,
        arguments=arguments,
        client_ip=context.client_ip,
        request_id=context.request_id,
    )

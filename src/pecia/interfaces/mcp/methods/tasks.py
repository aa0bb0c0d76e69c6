"""The tasks extension: a long call outlives its request, and the client polls it.

Tasks live in this process, belong to the caller that started them, and expire after a TTL.
"""

import math
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    RequestParams,
)
from pydantic import BaseModel, Field, ValidationError

from pecia.interfaces.mcp.content import drop_none
from pecia.interfaces.mcp.errors import CAPABILITIES_FIELD, rpc_error
from pecia.interfaces.mcp.methods.input_request import parse_reply, to_client_request
from pecia.interfaces.mcp.request_context import (
    TASKS_EXTENSION,
    Context,
    McpRequestContext,
    get_request_context,
    has_tasks_extension,
    is_modern_client,
)
from pecia.kernel.errors import Json, MethodNotFound, QuotaExceeded, Unprocessable
from pecia.kernel.tool.call import (
    Channel,
    ClientInquiry,
    ClientReply,
    Elicitation,
    InputRequired,
    RootsRequest,
    SamplingRequest,
)

TTL_S = 600.0
POLL_INTERVAL_MS = 200
MAX_TASKS = 100
"""Concurrent tasks per caller."""


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId")


class TaskUpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses", default_factory=dict[str, Any])


@dataclass(slots=True, eq=False)
class McpTask:
    """One call that may outlive its request. It is the channel of that call, too."""

    owner: str
    request: Channel
    """The channel to the client while the request is open."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    status: str = "working"
    message: str | None = None
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    is_detached: bool = False
    answerable: anyio.Event = field(default_factory=anyio.Event)
    """Set when the request can be answered: with the result, or with the task id."""
    result: dict[str, Any] | None = None
    failure: Exception | None = None
    inquiries: dict[str, ClientInquiry] = field(default_factory=dict[str, ClientInquiry])
    replies: dict[str, ClientReply] = field(default_factory=dict[str, ClientReply])
    reply_event: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    expires_at: float = math.inf

    @property
    def is_open(self) -> bool:
        return self.status in ("working", "input_required")

    def set_status(self, status: str) -> None:
        self.status, self.updated_at = status, datetime.now(UTC)
        if not self.is_open:
            self.expires_at = anyio.current_time() + TTL_S
            self.answerable.set()

    def to_wire(self) -> dict[str, Any]:
        """The task in the protocol's shape."""
        found: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.created_at.isoformat(),
            "lastUpdatedAt": self.updated_at.isoformat(),
            "ttlMs": round(TTL_S * 1000),
            "pollIntervalMs": POLL_INTERVAL_MS,
            "statusMessage": self.message,
            "result": self.result,
            "error": _error(self.failure),
        }
        if self.status == "input_required":
            found["inputRequests"] = {key: _dump_request(it) for key, it in self.inquiries.items()}
        return drop_none(found)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.message = message or (f"{done:g} of {total:g}" if total else f"{done:g}")
        self.updated_at = datetime.now(UTC)
        if not self.is_detached:
            await self.request.progress(done, total, message)

    async def partial(self, found: Mapping[str, Json]) -> None:
        if not self.is_detached:
            await self.request.partial(found)

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        if not self.is_detached:
            await self.request.log(level, message, fields)

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        if not self.is_detached:
            return await self.request.inquire(inquiries)
        self.inquiries = {key: it for key, it in inquiries.items() if key not in self.replies}
        while self.inquiries:
            self.set_status("input_required")
            await self.reply_event.wait()
            self.reply_event = anyio.Event()
        self.set_status("working")
        return {key: self.replies[key] for key in inquiries}

    async def detach(self) -> bool:
        self.is_detached = True
        self.answerable.set()
        return True

    def answer(self, answers: Mapping[str, Any]) -> None:
        """Take the answers that fit an open question; ignore others."""
        for key, given in answers.items():
            inquiry = self.inquiries.get(key)
            found = (
                parse_reply(inquiry, _parse_result(inquiry, given)) if inquiry is not None else None
            )
            if found is not None:
                self.replies[key] = found
                del self.inquiries[key]
        self.reply_event.set()


class McpTaskStore:
    """Every task of this process."""

    def __init__(self) -> None:
        self._tasks: dict[str, McpTask] = {}
        self._group: TaskGroup | None = None

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Own the tasks until cancelled."""
        async with anyio.create_task_group() as self._group:
            task_status.started()
            await anyio.sleep_forever()

    async def run(
        self,
        here: McpRequestContext,
        request: Channel,
        work: Callable[[Channel], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The result of the work; or, when it detaches from its request, the task to poll."""
        task = McpTask(here.owner, request)
        assert self._group is not None
        self._group.start_soon(_execute, task, work)
        try:
            await task.answerable.wait()
        finally:
            if not task.is_detached:
                task.scope.cancel()
        if task.is_detached:
            self._store(task)
            return {"resultType": "task", **task.to_wire()}
        if task.failure is not None:
            raise task.failure
        return task.result or {}

    async def get(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        return {"resultType": "complete", **self._find(ctx, params).to_wire()}

    async def update(self, ctx: Context, params: TaskUpdateParams) -> dict[str, Any]:
        self._find(ctx, params).answer(params.input_responses)
        return {"resultType": "complete"}

    async def cancel(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        task = self._find(ctx, params)
        if task.is_open:
            task.scope.cancel()
            task.set_status("cancelled")
        return {"resultType": "complete"}

    def _find(self, ctx: Context, params: TaskParams) -> McpTask:
        if not is_modern_client(ctx):
            # The extension is modern: legacy clients get "method not found".
            unknown = MethodNotFound(f"Method not found: {ctx.method}", method=ctx.method)
            raise rpc_error(unknown, modern=False)
        if not has_tasks_extension(ctx):
            raise rpc_error(tasks_unsupported(), modern=True)
        _check_header(ctx, params)
        self._evict_expired()
        task = self._tasks.get(params.task_id)
        # Another caller's task is reported as unknown.
        if task is None or task.owner != get_request_context(ctx).owner:
            raise MCPError(INVALID_PARAMS, "Unknown task", {"code": "NOT_FOUND"})
        return task

    def _store(self, task: McpTask) -> None:
        self._evict_expired()
        mine = [it for it in self._tasks.values() if it.owner == task.owner]
        if len(mine) >= MAX_TASKS:
            task.scope.cancel()
            full = QuotaExceeded(
                f"at most {MAX_TASKS} tasks at a time", quota="tasks", limit=MAX_TASKS
            )
            raise rpc_error(full, modern=True)
        self._tasks[task.id] = task

    def _evict_expired(self) -> None:
        now = anyio.current_time()
        for task in [it for it in self._tasks.values() if it.expires_at < now]:
            del self._tasks[task.id]


def tasks_unsupported() -> Unprocessable:
    """The error for a client without the tasks extension."""
    missing: dict[str, Json] = {"extensions": {TASKS_EXTENSION: {}}}
    return Unprocessable(
        "this client did not declare the tasks extension", **{CAPABILITIES_FIELD: missing}
    )


async def _execute(task: McpTask, work: Callable[[Channel], Awaitable[dict[str, Any]]]) -> None:
    """Run the work to its end, and keep its outcome for the client."""
    try:
        with task.scope:
            task.result = await work(task)
            task.set_status("completed")
            return
        task.set_status("cancelled")
    except (MCPError, InputRequired) as failure:
        task.failure = failure
        task.set_status("failed")


def _error(failure: Exception | None) -> dict[str, Any] | None:
    if isinstance(failure, MCPError):
        return failure.error.model_dump(exclude_none=True)
    return None


def _check_header(ctx: Context, params: TaskParams) -> None:
    given = ctx.request.headers.get("mcp-name") if ctx.request is not None else None
    if given is not None and given != params.task_id:
        raise MCPError(HEADER_MISMATCH, "Mcp-Name does not match params.taskId")


def _parse_result(inquiry: ClientInquiry | None, given: Any) -> BaseModel | None:
    kind = {
        Elicitation: ElicitResult,
        SamplingRequest: CreateMessageResult,
        RootsRequest: ListRootsResult,
    }
    try:
        return kind[type(inquiry)].model_validate(given, by_name=False) if inquiry else None
    except ValidationError:
        return None


def _dump_request(inquiry: ClientInquiry) -> dict[str, Any]:
    return to_client_request(inquiry).model_dump(by_alias=True, mode="json", exclude_none=True)

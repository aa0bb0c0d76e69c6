"""What a running call can say to its client, in either era of the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import orjson
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    LOG_LEVEL_META_KEY,
    InputRequiredResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)

from pecia.doors.mcp.inquiry import (
    Rounds,
    as_state,
    askable,
    from_state,
    mark,
    reply,
    request,
    result_type,
)
from pecia.doors.mcp.levels import is_wanted, known
from pecia.doors.mcp.standing import Context, connection_of, modern, standing_of
from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.tool.call import InputRequired, Inquiry, Question, Reply

LEVEL = "log_level"
"""Where a session keeps the level that its client asked for."""


@dataclass(frozen=True, slots=True)
class Speaking:
    """Progress and logs, which both eras carry alike."""

    ctx: Context

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self.ctx.session.report_progress(done, total, message)

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        least = self._least()
        if least is None or not is_wanted(known(level), least):
            return
        data = {"message": message, **fields} if fields else message
        params = LoggingMessageNotificationParams(level=known(level), data=data, logger="pecia")
        await self.ctx.session.send_notification(
            LoggingMessageNotification(params=params), self.ctx.request_id
        )

    async def detach(self) -> bool:
        return False

    def _least(self) -> str | None:
        """The newer era is told only what the very request asked for."""
        if modern(self.ctx):
            meta: Mapping[str, Any] = self.ctx.meta or {}
            return meta.get(LOG_LEVEL_META_KEY)
        return connection_of(self.ctx).state.get(LEVEL, "debug")


@dataclass(frozen=True, slots=True)
class Asking(Speaking):
    """The older era: the client is asked while the call runs."""

    async def inquire(self, inquiries: Mapping[str, Inquiry]) -> Mapping[str, Reply]:
        able = _askable(self.ctx, inquiries)
        return {
            key: await self._one(key, it) if key in able else Reply("cancel")
            for key, it in inquiries.items()
        }

    async def _one(self, key: str, inquiry: Inquiry) -> Reply:
        metadata = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        try:
            answer = await self.ctx.session.send_request(
                request(inquiry), result_type(inquiry), metadata=metadata
            )
        except NoBackChannelError:
            raise Unprocessable(
                "without a session a client cannot be asked", question=key
            ) from None
        except MCPError as error:
            raise Unprocessable(f"the client refused: {error.message}", question=key) from error
        found = reply(inquiry, answer)
        if found is None:
            raise Unprocessable("the client's answer does not fit the question", question=key)
        return found


@dataclass(frozen=True, slots=True)
class Returning(Speaking):
    """The newer era: the client takes the questions with it, and comes back with the answers."""

    answers: Mapping[str, object] = field(default_factory=dict[str, object])
    earlier: Rounds = field(default_factory=Rounds)
    given: dict[str, Reply] = field(default_factory=dict[str, Reply])
    """What this run was told, kept for the next one."""

    async def inquire(self, inquiries: Mapping[str, Inquiry]) -> Mapping[str, Reply]:
        known = {key: self._known(key, it) for key, it in inquiries.items()}
        found = {key: it for key, it in known.items() if it is not None}
        self.given.update(found)
        left = {key: it for key, it in inquiries.items() if key not in found}
        if able := _askable(self.ctx, left):
            raise InputRequired(able)
        return {key: found.get(key, Reply("cancel")) for key in inquiries}

    def waiting(self, asked: InputRequired) -> InputRequiredResult:
        """The answer that sends the client away with the questions."""
        asks = {mark(key, it) for key, it in asked.inquiries.items() if _confirms(it)}
        return InputRequiredResult(
            input_requests={key: request(it) for key, it in asked.inquiries.items()},
            request_state=orjson.dumps(as_state(Rounds(self.given, frozenset(asks)))).decode(),
        )

    def _known(self, key: str, inquiry: Inquiry) -> Reply | None:
        if key in self.earlier.replies:
            return self.earlier.replies[key]
        if _confirms(inquiry) and mark(key, inquiry) not in self.earlier.confirmations:
            # A yes that came with the request itself is no person's: nobody had asked.
            return None
        return reply(inquiry, self.answers.get(key))


def _askable(ctx: Context, inquiries: Mapping[str, Inquiry]) -> Mapping[str, Inquiry]:
    """What this client can ask its person. A yes upon which something is done is asked of those
    alone that have proved to be the person's."""
    able = askable(ctx.session.client_capabilities, inquiries)
    if standing_of(ctx).may_confirm:
        return able
    return {key: it for key, it in able.items() if not _confirms(it)}


def _confirms(inquiry: Inquiry) -> TypeGuard[Question]:
    return isinstance(inquiry, Question) and inquiry.is_confirmation


def returning(ctx: Context, answers: Mapping[str, object] | None, state: str | None) -> Returning:
    """The channel of a request that may be a return. The state was opened before, and is ours."""
    earlier = from_state(orjson.loads(state)) if state else Rounds()
    return Returning(ctx, answers or {}, earlier)

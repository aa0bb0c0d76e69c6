"""Progress, logs and questions from a running call to its client, in both eras of the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard, get_args

import orjson
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    LOG_LEVEL_META_KEY,
    InputRequiredResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)

from pecia.interfaces.mcp.methods.input_request import (
    InquiryRounds,
    dump_rounds,
    load_rounds,
    parse_reply,
    question_digest,
    result_type,
    select_askable,
    to_client_request,
)
from pecia.interfaces.mcp.request_context import (
    Context,
    get_connection,
    get_request_context,
    is_modern_client,
)
from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.tool.call import (
    ClientInquiry,
    ClientReply,
    Elicitation,
    FormWithheld,
    InputRequired,
)

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From `debug` to `emergency`."""


def logging_level(level: str) -> LoggingLevel:
    """Our log level as the protocol's."""
    return LEVELS[LEVELS.index(level)] if level in LEVELS else "info"


def is_level_enabled(level: LoggingLevel, least: str) -> bool:
    """Whether a message of that level passes the minimum `least`."""
    return LEVELS.index(level) >= LEVELS.index(logging_level(least))


LOG_LEVEL_KEY = "log_level"
"""The state key for the log level that the client set."""


@dataclass(frozen=True, slots=True)
class BaseClientChannel:
    """Progress and logs, the same in both eras."""

    ctx: Context

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self.ctx.session.report_progress(done, total, message)

    async def partial(self, found: Mapping[str, Json]) -> None:
        """MCP has no partial results."""

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        least = self._min_level()
        if least is None or not is_level_enabled(logging_level(level), least):
            return
        data = {"message": message, **fields} if fields else message
        params = LoggingMessageNotificationParams(
            level=logging_level(level), data=data, logger="pecia"
        )
        await self.ctx.session.send_notification(
            LoggingMessageNotification(params=params), self.ctx.request_id
        )

    async def detach(self) -> bool:
        return False

    def _min_level(self) -> str | None:
        """Modern clients set the level per request."""
        if is_modern_client(self.ctx):
            meta: Mapping[str, Any] = self.ctx.meta or {}
            return meta.get(LOG_LEVEL_META_KEY)
        return get_connection(self.ctx).state.get(LOG_LEVEL_KEY, "debug")


@dataclass(frozen=True, slots=True)
class SessionChannel(BaseClientChannel):
    """Legacy: the client is asked while the call runs."""

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        able = _select_askable(self.ctx, inquiries)
        return {
            key: await self._ask(key, it) if key in able else ClientReply("cancel")
            for key, it in inquiries.items()
        }

    async def _ask(self, key: str, inquiry: ClientInquiry) -> ClientReply:
        metadata = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        try:
            answer = await self.ctx.session.send_request(
                to_client_request(inquiry), result_type(inquiry), metadata=metadata
            )
        except NoBackChannelError:
            raise Unprocessable(
                "a client without a session cannot be asked questions", question=key
            ) from None
        except MCPError as error:
            raise Unprocessable(f"the client refused: {error.message}", question=key) from error
        found = parse_reply(inquiry, answer)
        if found is None:
            raise Unprocessable("the client's answer does not fit the question", question=key)
        return found


@dataclass(frozen=True, slots=True)
class InputRequiredChannel(BaseClientChannel):
    """Modern: the call ends with the questions, and the client retries it with the answers."""

    answers: Mapping[str, object] = field(default_factory=dict[str, object])
    previous_rounds: InquiryRounds = field(default_factory=InquiryRounds)
    replies: dict[str, ClientReply] = field(default_factory=dict[str, ClientReply])
    """Replies so far, kept for the next round."""

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        known = {key: self._find_reply(key, it) for key, it in inquiries.items()}
        found = {key: it for key, it in known.items() if it is not None}
        self.replies.update(found)
        left = {key: it for key, it in inquiries.items() if key not in found}
        if able := _select_askable(self.ctx, left):
            raise InputRequired(able)
        return {key: found.get(key, ClientReply("cancel")) for key in inquiries}

    def input_required_result(self, required: InputRequired) -> InputRequiredResult:
        """The result that returns the questions to the client."""
        asks = {
            question_digest(key, it)
            for key, it in required.inquiries.items()
            if _is_confirmation(it)
        }
        return InputRequiredResult(
            input_requests={key: to_client_request(it) for key, it in required.inquiries.items()},
            request_state=orjson.dumps(
                dump_rounds(InquiryRounds(self.replies, frozenset(asks)))
            ).decode(),
        )

    def _find_reply(self, key: str, inquiry: ClientInquiry) -> ClientReply | None:
        if key in self.previous_rounds.replies:
            return self.previous_rounds.replies[key]
        if (
            _is_confirmation(inquiry)
            and question_digest(key, inquiry) not in self.previous_rounds.confirmations
        ):
            # A confirmation sent before it was asked for does not come from a person.
            return None
        return parse_reply(inquiry, self.answers.get(key))


def _select_askable(
    ctx: Context, inquiries: Mapping[str, ClientInquiry]
) -> Mapping[str, ClientInquiry]:
    """The questions that this client can show. Confirmations go only to clients that are proven
    to act for a person."""
    able = select_askable(ctx.session.client_capabilities, inquiries)
    if get_request_context(ctx).may_confirm:
        return able
    left = {key: it for key, it in able.items() if not _is_confirmation(it)}
    if able and not left:
        raise FormWithheld(
            "in a local install, forms go to clients that `pecia mcp` connects", questions=[*able]
        )
    return left


def _is_confirmation(inquiry: ClientInquiry) -> TypeGuard[Elicitation]:
    return isinstance(inquiry, Elicitation) and inquiry.is_confirmation


def client_channel(
    ctx: Context, answers: Mapping[str, object] | None, state: str | None
) -> SessionChannel | InputRequiredChannel:
    """The channel of a request, which may be a retry. The signature of `state` was verified."""
    if not is_modern_client(ctx):
        return SessionChannel(ctx)
    earlier = load_rounds(orjson.loads(state)) if state else InquiryRounds()
    return InputRequiredChannel(ctx, answers or {}, earlier)

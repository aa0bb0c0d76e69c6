"""Questions to a client as MCP writes them, and its answers as we do. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from jsonschema import Draft202012Validator
from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from typing_extensions import TypeIs

from pecia.doors.mcp.errors import CAPABILITIES
from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.tool.call import Inquiry, Question, Reply, Roots, Sampling

Wire = ElicitRequest | CreateMessageRequest | ListRootsRequest
Answer = ElicitResult | CreateMessageResult | ListRootsResult


def request(inquiry: Inquiry) -> Wire:
    """The request that asks it."""
    match inquiry:
        case Question(message=message, schema=schema):
            form = ElicitRequestFormParams(message=message, requested_schema=dict(schema))
            return ElicitRequest(params=form)
        case Sampling(messages, max_tokens):
            said = [SamplingMessage.model_validate(it) for it in messages]
            return CreateMessageRequest(
                params=CreateMessageRequestParams(messages=said, max_tokens=max_tokens)
            )
        case Roots():
            return ListRootsRequest()


def reply(inquiry: Inquiry, answer: object) -> Reply | None:
    """What an answer says; None where it does not answer the question."""
    match inquiry, answer:
        case Question(), ElicitResult():
            return _form(inquiry, answer)
        case Sampling(), CreateMessageResult():
            said = answer.content
            text = said.text if isinstance(said, TextContent) else ""
            return Reply("accept", {"text": text, "model": answer.model, "role": answer.role})
        case Roots(), ListRootsResult():
            return Reply("accept", {"roots": [str(it.uri) for it in answer.roots]})
        case _:
            return None


def result_type(inquiry: Inquiry) -> type[Answer]:
    match inquiry:
        case Question():
            return ElicitResult
        case Sampling():
            return CreateMessageResult
        case Roots():
            return ListRootsResult


def askable(
    can: ClientCapabilities | None, inquiries: Mapping[str, Inquiry]
) -> Mapping[str, Inquiry]:
    """Those that the client said it can answer. Where it can answer none, there is no use."""
    able = {key: it for key, it in inquiries.items() if _can(can, _capability(it))}
    if able or not inquiries:
        return able
    missing = sorted({_capability(it) for it in inquiries.values()})
    raise Unprocessable(
        f"this client cannot be asked: it has no {', '.join(missing)}",
        questions=[*inquiries],
        **{CAPABILITIES: cast(Json, {name: {} for name in missing})},
    )


@dataclass(frozen=True, slots=True)
class Rounds:
    """What the client carries from one round to the next: what it said, and what it was asked."""

    replies: Mapping[str, Reply] = field(default_factory=dict[str, Reply])
    confirmations: frozenset[str] = frozenset()
    """The questions, each by `mark`, upon whose yes something is done."""


def mark(key: str, question: Question) -> str:
    """Stands for a question to the letter."""
    return sha256(f"{key}\n{question.message}".encode()).hexdigest()


def as_state(rounds: Rounds) -> dict[str, Any]:
    """The rounds so far, as they travel with the client."""
    replies = {
        key: {"action": it.action, "content": dict(it.content)}
        for key, it in rounds.replies.items()
    }
    return {"replies": replies, "confirmations": sorted(rounds.confirmations)}


def from_state(state: object) -> Rounds:
    """The same, read back. It was sealed by us, so its shape is known."""
    if not _is_mapping(state) or "replies" not in state:
        return Rounds()
    replies = {key: Reply(it["action"], it["content"]) for key, it in state["replies"].items()}
    return Rounds(replies, frozenset(state["confirmations"]))


def _is_mapping(state: object) -> TypeIs[Mapping[str, Any]]:
    return isinstance(state, Mapping)


def _form(question: Question, answer: ElicitResult) -> Reply | None:
    if answer.action != "accept":
        return Reply(answer.action)
    content = dict(answer.content or {})
    # A form that does not fit its schema is no answer: the client is asked again.
    if not Draft202012Validator(dict(question.schema)).is_valid(content):  # pyright: ignore[reportUnknownMemberType] - the library is untyped here
        return None
    return Reply("accept", cast(Mapping[str, Json], content))


def _capability(inquiry: Inquiry) -> str:
    match inquiry:
        case Question():
            return "elicitation"
        case Sampling():
            return "sampling"
        case Roots():
            return "roots"


def _can(can: ClientCapabilities | None, name: str) -> bool:
    found = getattr(can, name) if can is not None else None
    if isinstance(found, ElicitationCapability):
        # Neither of the two: a client of before there were two, which shows forms.
        return found.form is not None or found.url is None
    return found is not None

"""Questions and answers between our model and MCP's. Pure."""

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

from pecia.interfaces.mcp.errors import CAPABILITIES_FIELD
from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.tool.call import (
    ClientInquiry,
    ClientReply,
    Elicitation,
    RootsRequest,
    SamplingRequest,
)

ClientRequest = ElicitRequest | CreateMessageRequest | ListRootsRequest
ClientResult = ElicitResult | CreateMessageResult | ListRootsResult


def to_client_request(inquiry: ClientInquiry) -> ClientRequest:
    """The question as an MCP request."""
    match inquiry:
        case Elicitation(message=message, schema=schema):
            form = ElicitRequestFormParams(message=message, requested_schema=dict(schema))
            return ElicitRequest(params=form)
        case SamplingRequest(messages, max_tokens):
            converted = [SamplingMessage.model_validate(it) for it in messages]
            return CreateMessageRequest(
                params=CreateMessageRequestParams(messages=converted, max_tokens=max_tokens)
            )
        case RootsRequest():
            return ListRootsRequest()


def parse_reply(inquiry: ClientInquiry, answer: object) -> ClientReply | None:
    """The reply in an answer; None where it does not fit the question."""
    match inquiry, answer:
        case Elicitation(), ElicitResult():
            return _parse_form(inquiry, answer)
        case SamplingRequest(), CreateMessageResult():
            content = answer.content
            text = content.text if isinstance(content, TextContent) else ""
            return ClientReply("accept", {"text": text, "model": answer.model, "role": answer.role})
        case RootsRequest(), ListRootsResult():
            return ClientReply("accept", {"roots": [str(it.uri) for it in answer.roots]})
        case _:
            return None


def result_type(inquiry: ClientInquiry) -> type[ClientResult]:
    match inquiry:
        case Elicitation():
            return ElicitResult
        case SamplingRequest():
            return CreateMessageResult
        case RootsRequest():
            return ListRootsResult


def select_askable(
    can: ClientCapabilities | None, inquiries: Mapping[str, ClientInquiry]
) -> Mapping[str, ClientInquiry]:
    """Those that the client declared support for; an error where it supports none."""
    able = {
        key: it for key, it in inquiries.items() if _has_capability(can, _required_capability(it))
    }
    if able or not inquiries:
        return able
    missing = sorted({_required_capability(it) for it in inquiries.values()})
    raise Unprocessable(
        f"this client cannot answer questions: it does not support {', '.join(missing)}",
        questions=[*inquiries],
        **{CAPABILITIES_FIELD: cast(Json, {name: {} for name in missing})},
    )


@dataclass(frozen=True, slots=True)
class InquiryRounds:
    """The state between rounds: the replies so far, and the confirmations asked for."""

    replies: Mapping[str, ClientReply] = field(default_factory=dict[str, ClientReply])
    confirmations: frozenset[str] = frozenset()
    """Digests of the confirmation questions, see `question_digest`."""


def question_digest(key: str, question: Elicitation) -> str:
    """A digest of the exact question."""
    return sha256(f"{key}\n{question.message}".encode()).hexdigest()


def dump_rounds(rounds: InquiryRounds) -> dict[str, Any]:
    """The rounds so far, as request state."""
    replies = {
        key: {"action": it.action, "content": dict(it.content)}
        for key, it in rounds.replies.items()
    }
    return {"replies": replies, "confirmations": sorted(rounds.confirmations)}


def load_rounds(state: object) -> InquiryRounds:
    """The same, read back. We signed it, so its shape is known."""
    if not _is_mapping(state) or "replies" not in state:
        return InquiryRounds()
    replies = {
        key: ClientReply(it["action"], it["content"]) for key, it in state["replies"].items()
    }
    return InquiryRounds(replies, frozenset(state["confirmations"]))


def _is_mapping(state: object) -> TypeIs[Mapping[str, Any]]:
    return isinstance(state, Mapping)


def _parse_form(question: Elicitation, answer: ElicitResult) -> ClientReply | None:
    if answer.action != "accept":
        return ClientReply(answer.action)
    content = dict(answer.content or {})
    # A form that does not match its schema is no answer: the client is asked again.
    if not Draft202012Validator(dict(question.schema)).is_valid(content):  # pyright: ignore[reportUnknownMemberType] - the library is untyped here
        return None
    return ClientReply("accept", cast(Mapping[str, Json], content))


def _required_capability(inquiry: ClientInquiry) -> str:
    match inquiry:
        case Elicitation():
            return "elicitation"
        case SamplingRequest():
            return "sampling"
        case RootsRequest():
            return "roots"


def _has_capability(can: ClientCapabilities | None, name: str) -> bool:
    found = getattr(can, name) if can is not None else None
    if isinstance(found, ElicitationCapability):
        # Neither of the two: an older client, which supports forms.
        return found.form is not None or found.url is None
    return found is not None

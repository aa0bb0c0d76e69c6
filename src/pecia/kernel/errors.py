"""Every failure a caller may see, with its stable code. Raised in features, rendered in interfaces.

PeciaError
├── ParseError, InvalidRequest, MethodNotFound           the envelope is wrong
├── ToolNotFound, NotFound                               there is no such thing, or none you may see
├── BadArgument                                          one argument is wrong, and `field` names it
│   ├── MissingField, InvalidInput, InvalidEnum
│   ├── InvalidFormat, OutOfRange, PayloadTooLarge
│   └── NotAgentSettable, MixedScope
├── Unprocessable                                        each part is right, the whole is not
├── AuthRequired, Forbidden                              who you are, what you may do
├── Conflict                                             the thing changed since you read it
├── RateLimited, QuotaExceeded, StorageFull              too much
├── UpstreamError, Timeout, Unavailable, Cancelled       somebody else, or the clock
└── InternalError                                        our fault

The codes and legacy JSON-RPC numbers are those of the compiled-knowledge reference. The 2026-07-28
revision reserves that range, so our own numbers move by a thousand there, and unknown names are
invalid params: clients should read `code`, never the number.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from pecia.kernel.redaction import redact

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

INVALID_PARAMS = -32602

SESSION_SOURCE = "session"
"""`source` of an error about the settings of a session: every request of that session gets it."""


@dataclass(frozen=True, slots=True)
class Code:
    """A stable name, its number in either era of MCP, its HTTP status, and whether to try again.

    `hint` is the default advice: an error that is not retryable must say what to change.
    """

    name: str
    rpc: int
    http: int
    retryable: bool = False
    rpc_modern: int = 0
    hint: str = ""

    def number(self, *, modern: bool) -> int:
        """The JSON-RPC number to send to a client of that era."""
        if not modern:
            return self.rpc
        if self.rpc_modern:
            return self.rpc_modern
        return self.rpc + 1000 if -32019 <= self.rpc <= -32000 else self.rpc


class PeciaError(Exception):
    """A failure with a stable code; `fields` are facts a client can act on."""

    code: ClassVar[Code]

    def __init__(self, message: str, **fields: Json) -> None:
        # A message often shows what came, and goes to logs, job results and clients' own logs.
        self.message = redact(message)
        super().__init__(self.message)
        self.fields: Mapping[str, Json] = {name: _redact_detail(it) for name, it in fields.items()}

    def payload(self) -> dict[str, Json]:
        """The one shape of an error, the same on every interface."""
        payload: dict[str, Json] = {
            "code": self.code.name,
            "message": self.message,
            "retryable": self.code.retryable,
            **self.fields,
        }
        if not payload["retryable"] and "field" not in payload and self.code.hint:
            payload.setdefault("hint", self.code.hint)
        return payload


def _redact_detail(value: Json) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact(it) if isinstance(it, str) else it for it in value]
    return value


class ParseError(PeciaError):
    """The body is not valid JSON."""

    code = Code("PARSE_ERROR", rpc=-32700, http=400, hint="Send valid JSON.")


class InvalidRequest(PeciaError):
    """The body is JSON, but not a request."""

    code = Code("INVALID_REQUEST", rpc=-32600, http=400, hint="Send a JSON-RPC 2.0 request.")


class MethodNotFound(PeciaError):
    """No such method."""

    code = Code(
        "METHOD_NOT_FOUND",
        rpc=-32601,
        http=404,
        hint="The methods are listed in docs/reference/mcp-methods.md.",
    )


class ToolNotFound(PeciaError):
    """No such tool in this view."""

    code = Code(
        "TOOL_NOT_FOUND",
        rpc=-32601,
        http=404,
        rpc_modern=INVALID_PARAMS,
        hint="Every tool is listed by tools/list, GET /api/v1/tools and `pecia call --list`.",
    )


class NotFound(PeciaError):
    """There is none, or none that this caller may see: the two look the same."""

    code = Code(
        "NOT_FOUND",
        rpc=-32004,
        http=404,
        rpc_modern=INVALID_PARAMS,
        hint="Not found, or no access.",
    )


def list_hint(command: str) -> str:
    """The hint of a NotFound, with the command or tool that lists what the caller may see."""
    return f"Not found, or no access. Try `{command}`."


class BadArgument(PeciaError):
    """One argument is wrong. `field` names it, as a dotted path."""

    code = Code("INVALID_INPUT", rpc=INVALID_PARAMS, http=400)

    def __init__(self, message: str, *, field: str, **fields: Json) -> None:
        super().__init__(message, field=field, **fields)


class MissingField(BadArgument):
    """A required argument is absent."""

    code = Code("MISSING_FIELD", rpc=INVALID_PARAMS, http=400)


class InvalidInput(BadArgument):
    """Wrong type, or a name that is not an argument. `expected` and `got` say which."""

    code = Code("INVALID_INPUT", rpc=INVALID_PARAMS, http=400)


class InvalidEnum(BadArgument):
    """A value outside the allowed set, which `allowed` lists."""

    code = Code("INVALID_ENUM", rpc=INVALID_PARAMS, http=400)


class InvalidFormat(BadArgument):
    """The right type in the wrong shape."""

    code = Code("INVALID_FORMAT", rpc=INVALID_PARAMS, http=400)


class OutOfRange(BadArgument):
    """Too short, too small or too large a number. `min` and `max` say the range."""

    code = Code("OUT_OF_RANGE", rpc=INVALID_PARAMS, http=400)


class PayloadTooLarge(BadArgument):
    """Longer than the maximum, which `max` gives."""

    code = Code("PAYLOAD_TOO_LARGE", rpc=-32005, http=413)


class NotAgentSettable(BadArgument):
    """A setting that only people may change."""

    code = Code("NOT_AGENT_SETTABLE", rpc=INVALID_PARAMS, http=403)


class MixedScope(BadArgument):
    """One patch that would land in two configuration files."""

    code = Code("MIXED_SCOPE", rpc=INVALID_PARAMS, http=400)


class Unprocessable(PeciaError):
    """Every field is well formed, the whole cannot be used."""

    code = Code(
        "UNPROCESSABLE",
        rpc=-32007,
        http=422,
        hint="Correct the value in the message, and send it again.",
    )


class AuthRequired(PeciaError):
    """No token, or an invalid one."""

    code = Code(
        "AUTH_REQUIRED",
        rpc=-32001,
        http=401,
        hint="Send a valid token in the Authorization header.",
    )


class Forbidden(PeciaError):
    """Known, but without the scope or the role."""

    code = Code(
        "FORBIDDEN",
        rpc=-32002,
        http=403,
        hint="Ask an administrator for the right, or use another token.",
    )


class ConfirmationRequired(PeciaError):
    """A person must confirm first, outside this request. `confirmation` names it."""

    code = Code(
        "CONFIRMATION_REQUIRED",
        rpc=-32014,
        http=428,
        hint="Have a person run `pecia confirm` with the id, then make the same call again.",
    )


class Conflict(PeciaError):
    """The thing changed, or exists already."""

    code = Code("CONFLICT", rpc=-32008, http=409, hint="Read it again, then decide.")


class Collision(Conflict):
    """A write conflict that this writer lost. The dispatcher retries the handler; a client that
    still gets it may retry too."""

    def __init__(self, message: str, **fields: Json) -> None:
        super().__init__(message, **{"retryable": True, **fields})


class RateLimited(PeciaError):
    """Too many calls. `retry_after_seconds` says how long to wait."""

    code = Code("RATE_LIMITED", rpc=-32003, http=429, retryable=True)


class QuotaExceeded(PeciaError):
    """The tenant's quota is used up. `quota`, `limit` and `used` say which."""

    code = Code(
        "QUOTA_EXCEEDED", rpc=-32009, http=403, hint="Remove something, or ask for a larger quota."
    )


class StorageFull(PeciaError):
    """The disk or the database takes no more writes."""

    code = Code("STORAGE_FULL", rpc=-32010, http=507, retryable=True)


class UpstreamError(PeciaError):
    """A model provider, an upstream server or the database failed."""

    code = Code("UPSTREAM_ERROR", rpc=-32006, http=502, retryable=True, hint="Change the request.")


MAY_BE_DONE_HINT = "It may have been done, in part or whole: check before you retry."


class Timeout(PeciaError):
    """The deadline passed. `timeout_s` says which one."""

    code = Code("TIMEOUT", rpc=-32011, http=504, retryable=True)


class Unavailable(PeciaError):
    """Not now: starting, stopping, or another node holds it."""

    code = Code(
        "UNAVAILABLE", rpc=-32012, http=503, retryable=True, hint="Ask the operator to set it up."
    )


class Cancelled(PeciaError):
    """The caller disconnected. Only the request log shows this code: the audit row has the status
    `cancelled` and no code."""

    code = Code("CANCELLED", rpc=-32013, http=499, hint="Send it again if you still need it.")


class InternalError(PeciaError):
    """Unexpected. The message has no details; the server log does, under the same request id."""

    code = Code("INTERNAL_ERROR", rpc=-32603, http=500, retryable=True)


def iter_errors() -> Iterator[type[PeciaError]]:
    """Every concrete class, in the order of the tree above."""
    waiting = list(PeciaError.__subclasses__())
    while waiting:
        found = waiting.pop(0)
        # A refinement that keeps the code of its kind hides nothing.
        kinds = [it for it in found.__subclasses__() if "code" in vars(it)]
        waiting = [*kinds, *waiting]
        if not kinds:
            yield found

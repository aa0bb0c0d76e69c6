"""Frames that no client should send, and what every answer to one must be. Pure.

Whatever comes, the answer is a JSON-RPC envelope, or the error that HTTP itself is told with.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias, cast

Headers: TypeAlias = list[tuple[bytes, bytes]]

PATHS = ("/mcp", "/mcp/all", "/mcp/lake", "/mcp/conformance", "/mcp/readonly", "/api/mcp")
METHODS = (
    *("initialize", "notifications/initialized", "ping", "tools/list", "tools/call"),
    *("resources/list", "resources/templates/list", "resources/read", "resources/subscribe"),
    *("resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete"),
    *("logging/setLevel", "server/discover", "tasks/get", "tasks/cancel", "tasks/update"),
    *("notifications/cancelled", "notifications/progress", "no/such", "", "__class__"),
)
NAMES = ("list_sources", "find_tools", "call_tool", "whoami", "test_simple_text", "nope", "")
VERSIONS = ("2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28", "2031-01-01", "x", "")
META = "io.modelcontextprotocol"

STATUSES = frozenset((200, 202, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 421, 422, 429))


@dataclass(frozen=True, slots=True)
class Frame:
    """One request over HTTP; over the other transports its body alone."""

    kind: str
    path: str
    method: str
    headers: Headers
    body: bytes


def frame(chance: Random, sessions: Sequence[str] = ()) -> Frame:
    """Any frame: sometimes nearly right, sometimes not even JSON."""
    kind, make = chance.choice(KINDS)
    body = make(chance)
    method = "POST" if chance.random() < 0.98 else chance.choice(("GET", "DELETE", "PUT", "HEAD"))
    return Frame(kind, chance.choice(PATHS), method, _headers(chance, body, sessions), body)


def complaint(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    """What is wrong with an answer over HTTP; None where it is sound."""
    if status not in STATUSES:
        return f"the status is {status}"
    kind = headers.get("content-type", "").partition(";")[0]
    if kind == "text/event-stream":
        return _first(envelope_complaint(it) for it in events(body))
    if status == 202 or not body:
        return None if not body and status in (200, 202) else f"{status} with {body[:100]!r}"
    if kind != "application/json":
        return f"{status} is told as {kind}"
    try:
        found = json.loads(body)
    except ValueError as error:
        return f"the answer is no JSON: {error}"
    if isinstance(found, list):
        return _first(envelope_complaint(it) for it in cast(list[Any], found))
    return envelope_complaint(found)


def envelope_complaint(found: Any) -> str | None:
    """What is wrong with one message of ours."""
    if not isinstance(found, dict):
        return f"an answer is no object: {found!r}"[:200]
    fields = cast(dict[str, Any], found)
    if "jsonrpc" not in fields:
        return _plain_complaint(fields)
    if fields["jsonrpc"] != "2.0":
        return "jsonrpc is not 2.0"
    if "method" in fields:
        return None if isinstance(fields["method"], str) else "method is no string"
    if ("result" in fields) == ("error" in fields):
        return f"neither or both of result and error: {[*fields]}"
    if "result" in fields:
        return None if isinstance(fields["result"], dict) else "result is no object"
    return _error_complaint(fields["error"])


def events(body: bytes) -> list[Any]:
    """The messages in a stream of events."""
    lines = (it[5:].strip() for it in body.splitlines() if it.startswith(b"data:"))
    return [json.loads(it) for it in lines if it]


def _error_complaint(error: Any) -> str | None:
    if not isinstance(error, dict):
        return "error is no object"
    facts = cast(dict[str, Any], error)
    if not isinstance(facts.get("code"), int) or not isinstance(facts.get("message"), str):
        return f"error without a number and a message: {facts}"[:300]
    # -32603 would be a crash that was told politely.
    return f"a fault of ours: {facts}"[:300] if facts["code"] == -32603 else None


def _plain_complaint(fields: Mapping[str, Any]) -> str | None:
    """The error of the HTTP interface, for what is refused before a frame is parsed."""
    error = fields.get("error")
    if not isinstance(error, dict) or not isinstance(cast(Any, error).get("code"), str):
        return f"no envelope: {[*fields]}"[:200]
    return None


def _first(found: Any) -> str | None:
    return next((it for it in found if it is not None), None)


def _noise(chance: Random) -> bytes:
    return chance.randbytes(chance.randint(0, 200))


def _bad_text(chance: Random) -> bytes:
    """JSON whose text is not UTF-8, or holds what no text may hold."""
    body = bytearray(_right(chance))
    spot = chance.randrange(len(body))
    piece = chance.choice(
        (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\x00", b"\\ud800", b"\xef\xbb\xbf")
    )
    body[spot:spot] = piece
    return bytes(body)


def _torn(chance: Random) -> bytes:
    body = _right(chance)
    return body[: chance.randrange(len(body))]


def _deep(chance: Random) -> bytes:
    depth = chance.choice((10, 200, 1000, 1100, 5000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nest = opening * depth + b"1" + closing * depth * chance.choice((0, 1, 1))
    if chance.random() < 0.5:
        return nest
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":%b}}'
        % nest
    )


def _numbers(chance: Random) -> bytes:
    number = chance.choice(
        (b"1e400", b"-0", b"9" * 5000, b"1.5", b"NaN", b"Infinity", b"18446744073709551616", b"01")
    )
    shape = chance.choice(
        (
            b'{"jsonrpc":"2.0","id":%b,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":%b}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_tools",'
            b'"arguments":{"query":"x","limit":%b}}}',
        )
    )
    return shape % number


def _doubled(chance: Random) -> bytes:
    """The same key twice."""
    names = [*chance.choices(("jsonrpc", "id", "method", "params", "result"), k=6)]
    pairs = (f"{json.dumps(it)}:{json.dumps(_odd(chance, 1))}" for it in ("jsonrpc", *names))
    return ("{" + ",".join(pairs) + "}").encode()


def _batch(chance: Random) -> bytes:
    size = chance.choice((0, 1, 2, 3, 101))
    members = (_right(chance) if chance.random() < 0.7 else _numbers(chance) for _ in range(size))
    return b"[" + b",".join(members) + b"]"


def _wrong(chance: Random) -> bytes:
    """A request with some of its parts of another type."""
    message = _message(chance)
    for name in chance.sample(("jsonrpc", "id", "method", "params"), k=chance.randint(1, 2)):
        if chance.random() < 0.3:
            message.pop(name, None)
        else:
            message[name] = _odd(chance, 2)
    return json.dumps(message).encode()


def _wrong_params(chance: Random) -> bytes:
    message = _message(chance)
    names = ("name", "arguments", "uri", "cursor", "_meta", "requestId", "level", "ref", "argument")
    more = ("requestState", "inputResponses", "taskId", "protocolVersion", "capabilities")
    given = {name: _odd(chance, 3) for name in chance.sample((*names, *more), k=3)}
    message["params"] = {**message.get("params", {}), **given}
    return json.dumps(message).encode()


def _right(chance: Random) -> bytes:
    return json.dumps(_message(chance)).encode()


def _message(chance: Random) -> dict[str, Any]:
    method = chance.choice(METHODS)
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": {}}
    if not method.startswith("notifications/") and chance.random() < 0.95:
        message["id"] = chance.choice((1, 7, "a", "", -1, 2**53))
    if method == "initialize":
        message["params"] = {
            "protocolVersion": chance.choice(VERSIONS),
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
    if method in ("tools/call", "prompts/get"):
        message["params"] = {"name": chance.choice(NAMES), "arguments": {}}
    if method.startswith("resources/") and chance.random() < 0.7:
        message["params"] = {"uri": chance.choice(("test://static-text", "x", "kdbl://a/b", ""))}
    if chance.random() < 0.4:
        message["params"] = {**message["params"], "_meta": _meta(chance)}
    return message


def _meta(chance: Random) -> dict[str, Any]:
    version = chance.choice((*VERSIONS, "2026-07-28", "2026-07-28", 5))
    found: dict[str, Any] = {f"{META}/protocolVersion": version}
    found[f"{META}/clientCapabilities"] = {}
    if chance.random() < 0.2:
        found.pop(chance.choice([*found]))
    if chance.random() < 0.2:
        found["progressToken"] = _odd(chance, 1)
    return found


def _odd(chance: Random, depth: int) -> Any:
    plain = (None, True, 0, -1, 1.5, 2**63, "", "x", "2.0", "\u0000", "é\U0001f600", "a" * 300)
    if depth == 0 or chance.random() < 0.6:
        return chance.choice(plain)
    if chance.random() < 0.5:
        return [_odd(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    return {str(_odd(chance, 0)): _odd(chance, depth - 1) for _ in range(chance.randint(0, 3))}


def _headers(chance: Random, body: bytes, sessions: Sequence[str]) -> Headers:
    """Those of a good client, with some left out, changed or made up."""
    found: dict[str, str] = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    if chance.random() < 0.4:
        found |= _mirrored(chance, body)
    if sessions and chance.random() < 0.3:
        found["mcp-session-id"] = chance.choice(sessions)
    if chance.random() < 0.25:
        found |= dict(chance.sample(ODD_HEADERS, k=chance.randint(1, 2)))
    if chance.random() < 0.1:
        found.pop(chance.choice([*found]))
    pairs = [(name.encode(), value.encode("utf-8", "replace")) for name, value in found.items()]
    return pairs + ([chance.choice(pairs)] if pairs and chance.random() < 0.02 else [])


def _mirrored(chance: Random, body: bytes) -> dict[str, str]:
    found = {"mcp-protocol-version": chance.choice((*VERSIONS, "2026-07-28", "2026-07-28"))}
    try:
        message = json.loads(body)
        found["mcp-method"] = str(message["method"])
        found["mcp-name"] = str(message["params"]["name"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return found
    return {name: "".join(it for it in value if it.isprintable()) for name, value in found.items()}


ODD_HEADERS = (
    ("accept", "application/json"),
    ("accept", "*/*"),
    ("accept", "image/png, ,;q=x"),
    ("content-type", "text/plain"),
    ("content-type", "application/json; charset=latin-1"),
    ("mcp-session-id", "no-such-session"),
    ("mcp-session-id", "\u00ff"),
    ("mcp-protocol-version", "2026-07-28\u00e9"),
    ("mcp-name", "=?base64?!!!?="),
    ("mcp-param-x", "=?base64?AAAA?="),
    ("x-mcp-toolsets", "lake,nothing"),
    ("x-mcp-tools", "list_sources"),
    ("x-mcp-readonly", "perhaps"),
    ("x-pecia-session", "e30="),
    ("x-pecia-session", "W10="),
    ("x-pecia-session", "!"),
    ("x-pecia-stdio", "1"),
    ("x-pecia-timeout", "nan"),
    ("x-pecia-timeout", "1e9"),
    ("authorization", "Bearer nonsense"),
    ("authorization", "Basic eA=="),
    ("last-event-id", "7"),
)

Make: TypeAlias = Callable[[Random], bytes]
KINDS: Sequence[tuple[str, Make]] = (
    ("noise", _noise),
    ("bad text", _bad_text),
    ("torn", _torn),
    ("deep", _deep),
    ("numbers", _numbers),
    ("doubled", _doubled),
    ("batch", _batch),
    ("wrong", _wrong),
    ("wrong", _wrong),
    ("wrong params", _wrong_params),
    ("wrong params", _wrong_params),
    ("right", _right),
    ("right", _right),
    ("right", _right),
)

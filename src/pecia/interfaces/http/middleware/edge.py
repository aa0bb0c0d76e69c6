"""The edge, one pass for every request: client address, Host and Origin, size and read timeout of
the body, headers of the response; then the app of the path. It knows no tool and no caller.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import anyio
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pecia.interfaces.http.errors import HttpStatusError, render_error
from pecia.interfaces.http.middleware.proxy_headers import (
    HTTP_SCHEMES,
    PROXY_HEADERS,
    ForwardedClient,
    IpNetwork,
    client_behind_proxy,
    is_trusted,
    parse_address,
)
from pecia.interfaces.http.request_info import PEER_KEY, SCOPE_KEY, RequestInfo
from pecia.kernel import logs
from pecia.kernel.errors import (
    Cancelled,
    Forbidden,
    InvalidInput,
    InvalidRequest,
    PayloadTooLarge,
    Timeout,
)
from pecia.kernel.identity import owner_token, pat
from pecia.kernel.redaction import redact
from pecia.kernel.settings.kernel import KernelSettings

SINGLE_HEADERS = ("authorization", "content-length", "content-type", "host", "origin")
"""Sent twice, one parser might take the first and another the last."""

ROUTINE_PATHS = frozenset(("/healthz", "/readyz", "/metrics"))
TOKEN_PARAMETERS = frozenset(("access_token", "authorization", "bearer"))
MAX_PARAMETERS = 1000
CORS_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT")
CORS_EXPOSED_HEADERS = ("Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "X-Request-Id")

DRAIN_TIMEOUT_S = 1.0
CLOSE_HEADERS = {"connection": "close"}

DEFAULT_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""Strict by default: a page that needs more sets a header of its own."""

START_MESSAGES = frozenset(
    ("http.response.start", "websocket.http.response.start", "websocket.accept")
)

WILDCARD_ADDRESSES = frozenset(("", "0.0.0.0", "::"))
"""Wildcard listen addresses, never a valid Host: browsers resolve some to this machine."""

LOOPBACK_HOSTS = frozenset(("localhost", "127.0.0.1", "[::1]"))

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?", re.IGNORECASE)

_VALID_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_UNSAFE_PATH = re.compile(r"[\x00-\x1f\x7f\\]|(^|/)\.{1,2}(/|$)")


@dataclass(frozen=True, slots=True)
class TrustedHosts:
    """The host names of this server, and the origins that it trusts."""

    hosts: frozenset[str]
    """With a port, that port; without one, any."""
    origins: frozenset[str]

    @classmethod
    def from_settings(cls, settings: KernelSettings) -> "TrustedHosts":
        public = urlsplit(settings.public_url or "")
        known = [settings.host, public.hostname or "", *settings.allowed_hosts]
        own = [f"{public.scheme}://{public.netloc}"] if public.netloc else []
        return cls(
            LOOPBACK_HOSTS
            | {_bracket_ipv6(it.lower()) for it in known if it not in WILDCARD_ADDRESSES},
            frozenset(_normalize_origins([*own, *settings.allowed_origins])),
        )

    def has_host(self, host: str) -> bool:
        """Whether a `Host` header names this server: protects against DNS rebinding."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].lower().removesuffix(".")
        return name in self.hosts or f"{name}{found[2] or ''}" in self.hosts

    def has_origin(self, origin: str, *, own: str) -> bool:
        """Whether a page of that origin may call: our own, or one in `allowed_origins`."""
        return origin.lower() == own.lower() or self.is_cors_origin(origin)

    def is_cors_origin(self, origin: str) -> bool:
        """Whether that origin is named in the settings, and so gets CORS headers."""
        return origin.lower() in self.origins


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The limits of one request body."""

    max_bytes: int
    idle_s: float
    """The timeout for the next chunk of the body."""
    total_s: float


class LimitedBody:
    """A `receive` that counts bytes. What is over the limit is not passed on: an error is."""

    def __init__(self, receive: Receive, limits: BodyLimits, *, is_complete: bool = False) -> None:
        self._receive = receive
        self._limits = limits
        self._seen_bytes = 0
        self._is_over = False
        self._deadline: float | None = None
        self.is_complete = is_complete

    async def __call__(self) -> Message:
        if self._is_over:
            raise payload_too_large(self._limits.max_bytes)
        if self.is_complete:
            return await self._receive()
        message = await self._receive_chunk()
        self.is_complete = not message.get("more_body", False)
        body, left = message.get("body", b""), self._limits.max_bytes - self._seen_bytes
        self._seen_bytes += len(body)
        if len(body) <= left:
            return message
        # Its beginning may say what is refused; the error comes with the next call.
        self._is_over = True
        return {**message, "body": body[:left], "more_body": True}

    async def drain(self) -> None:
        """Drain the rest of the body for a moment: a client that writes does not read.

        Without it the connection would be reset, and the error response lost.
        """
        with anyio.move_on_after(DRAIN_TIMEOUT_S):
            while not self.is_complete:
                message = await self._receive()
                self.is_complete = not message.get("more_body", False)

    async def _receive_chunk(self) -> Message:
        now = anyio.current_time()
        if self._deadline is None:
            self._deadline = now + self._limits.total_s
        limit_s = min(self._limits.idle_s, self._deadline - now)
        with anyio.CancelScope(deadline=now + limit_s):
            return await self._receive()
        # A body that timed out is not drained.
        self.is_complete = True
        slow = Timeout(
            f"the body was sent too slowly: the wait ended after {limit_s:.3g} s",
            timeout_s=limit_s,
            hint="Send less at once, or over a faster connection.",
        )
        raise HttpStatusError(slow, 408, CLOSE_HEADERS)


class ResponseSender:
    """A `send` that completes the headers, and keeps the status for the log."""

    def __init__(self, send: Send, request_id: str, body: LimitedBody) -> None:
        self._send = send
        self._body = body
        self.extra_headers: list[tuple[bytes, bytes]] = [(b"x-request-id", request_id.encode())]
        self.status: int | None = None
        self._closes = False

    async def __call__(self, message: Message) -> None:
        if message["type"] in START_MESSAGES:
            await self._send(self._complete_headers(message))
        elif self._closes and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._body.drain()
            await self._send({"type": message["type"], "body": b"", "more_body": False})
        else:
            await self._send(message)

    def _complete_headers(self, message: Message) -> Message:
        self.status = message.get("status", 101)
        headers: list[tuple[bytes, bytes]] = [*message.get("headers", ())]
        if message["type"] == "websocket.accept":
            return {**message, "headers": [*headers, *self.extra_headers]}
        self._closes = (b"connection", b"close") in headers
        names = {name.lower() for name, _ in headers}
        defaults = [it for it in DEFAULT_HEADERS if it[0] not in names]
        return {**message, "headers": [*headers, *defaults, *self.extra_headers]}


@dataclass(frozen=True, slots=True)
class EdgeRules:
    """The rules that the edge enforces."""

    hosts: TrustedHosts
    trusted: tuple[IpNetwork, ...]
    body: BodyLimits
    public_url: str | None
    resources: Sequence[str] = ()
    """The paths of protected endpoints, each with all below it. The longest that fits counts."""
    own_refusals: frozenset[str] = frozenset()
    """Paths whose apps read until `LimitedBody` stops them, and answer that themselves."""

    def resource_of(self, path: str) -> str:
        """The protected endpoint that a path belongs to; empty for none."""
        fits = (it for it in self.resources if path == it or path.startswith(f"{it}/"))
        return max(fits, key=len, default="")


class EdgeMiddleware:
    """ASGI middleware: rejects malformed requests, logs one line, adds headers.

    Exact paths are served by dict lookup, O(1) however many tools there are; all else by `inner`.
    """

    def __init__(
        self, inner: ASGIApp, rules: EdgeRules, exact: Mapping[str, ASGIApp] | None = None
    ) -> None:
        self._inner = inner
        self._rules = rules
        self._exact = exact or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A copy: uvicorn appends trailers to its own list, and trailers are not headers.
        pairs = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = _join_headers(pairs)
        request_id = _request_id(headers.get("x-request-id", ""))
        with logs.log_request("http", request_id=request_id) as line:
            line.note(method=scope.get("method", "GET"), path=scope["path"])
            line.is_routine = scope["path"] in ROUTINE_PATHS
            body = LimitedBody(receive, self._rules.body, is_complete=scope["type"] == "websocket")
            reply = ResponseSender(send, request_id, body)
            # What is rejected before the client is known is answered as to an anonymous one.
            anonymous = RequestInfo(request_id, None, False, self._rules.public_url or "", "", line)
            inner = {**scope, "headers": pairs, SCOPE_KEY: anonymous}
            try:
                await self._serve(inner, headers, body, reply)
            except ClientDisconnect:
                line.fail(Cancelled("the client disconnected"))
            except Exception as failure:  # noqa: BLE001 - the outermost handler.
                await _send_error(failure, inner, body, reply)
            finally:
                line.note(http_status=reply.status)

    async def _serve(
        self, scope: Scope, headers: Mapping[str, str], body: LimitedBody, reply: ResponseSender
    ) -> None:
        peer = scope["client"][0] if scope.get("client") else None
        far = resolve_client(peer, scope["scheme"], headers, self._rules.trusted)
        scope[SCOPE_KEY] = arrival = self._request_info(scope, far)
        arrival.log_line.note(client_ip=far.client_ip)
        _check_well_formed(scope)
        self._check_host_and_origin(far, headers)
        if self._rules.hosts.is_cors_origin(headers.get("origin", "")):
            await self._with_cors(headers, reply)(scope, body, reply)
            return
        self._check_length(scope, headers)
        await self._app_of(scope)(scope, body, reply)

    def _check_length(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Reject a body that is declared too long, unless its app says so in its own protocol."""
        limits = self._rules.body
        if scope.get("method") == "POST" and scope["path"] in self._rules.own_refusals:
            limits = replace(limits, max_bytes=sys.maxsize)
        check_length(headers.get("content-length"), limits)

    def _app_of(self, scope: Scope) -> ASGIApp:
        if scope["type"] != "http":
            return self._inner
        return self._exact.get(scope["path"], self._inner)

    def _with_cors(self, headers: Mapping[str, str], reply: ResponseSender) -> ASGIApp:
        """The app for an origin in `allowed_origins`: the operator trusts it with every header.

        Errors become responses inside CORS: such a page may read them. No credentials: the
        console's cookie is for its own origin.
        """

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                self._check_length(scope, headers)
                await self._app_of(scope)(scope, receive, send)
            except ClientDisconnect:
                raise
            except Exception as failure:
                if reply.status is not None:
                    raise
                await render_error(failure, scope)(scope, receive, send)

        return CORSMiddleware(
            answer,
            allow_origins=(headers["origin"],),
            allow_methods=CORS_METHODS,
            allow_headers=("*",),
            allow_private_network=True,
            expose_headers=CORS_EXPOSED_HEADERS,
        )

    def _request_info(self, scope: Scope, far: ForwardedClient) -> RequestInfo:
        anonymous: RequestInfo = scope[SCOPE_KEY]
        address = parse_address(far.client_ip)
        return RequestInfo(
            request_id=anonymous.request_id,
            client_ip=far.client_ip,
            is_local=address is not None and address.is_loopback and not far.was_forwarded,
            base_url=self._rules.public_url or f"{far.scheme}://{far.host}",
            resource=self._rules.resource_of(scope["path"]),
            log_line=anonymous.log_line,
            peer=scope.get("state", {}).get(PEER_KEY),
        )

    def _check_host_and_origin(self, far: ForwardedClient, headers: Mapping[str, str]) -> None:
        if not self._rules.hosts.has_host(far.host):
            raise HttpStatusError(
                InvalidRequest(
                    f"this server has no host name {far.host[:200]!r}; "
                    "the operator can add it to allowed_hosts",
                    header="Host",
                    hint="use the address that `pecia status` shows, or add this one to the "
                    "setting allowed_hosts and restart the server",
                ),
                421,
            )
        if "origin" in headers:
            own = f"{far.scheme}://{far.host}"
            if not self._rules.hosts.has_origin(headers["origin"], own=own):
                raise _forbidden_origin(headers["origin"])
        elif _is_cross_site(headers):
            raise _forbidden_origin("another site")


def resolve_client(
    peer: str | None, scheme: str, headers: Mapping[str, str], trusted: Sequence[IpNetwork]
) -> ForwardedClient:
    """The client behind the peer. `headers` has every value of a name, joined by commas."""
    address = parse_address(peer)
    direct = ForwardedClient(
        client_ip=str(address) if address else None,
        scheme=HTTP_SCHEMES[scheme],
        host=headers.get("host", ""),
        was_forwarded=not PROXY_HEADERS.isdisjoint(headers),
    )
    if not direct.was_forwarded or address is None or not is_trusted(address, trusted):
        return direct
    return client_behind_proxy(direct, address, headers, trusted)


def payload_too_large(max_bytes: int) -> HttpStatusError:
    error = PayloadTooLarge(
        f"the body is longer than {max_bytes} bytes",
        field="body",
        max=max_bytes,
        hint="Send less at once; the operator allows more with the setting body_limit_bytes.",
    )
    return HttpStatusError(error, error.code.http, CLOSE_HEADERS)


def check_length(declared: str | None, limits: BodyLimits) -> None:
    """Reject by `Content-Length` alone, before anything is read."""
    if declared is None:
        return
    if not declared.isascii() or not declared.isdigit():
        raise InvalidRequest(
            "Content-Length is not a number",
            header="Content-Length",
            hint="send the length of the body in bytes",
        )
    if int(declared) > limits.max_bytes:
        raise payload_too_large(limits.max_bytes)


async def _send_error(
    failure: Exception, scope: Scope, body: LimitedBody, reply: ResponseSender
) -> None:
    response = render_error(failure, scope)
    if reply.status is not None:
        # The response has begun: the server cuts the connection, and the client sees it truncated.
        raise failure
    await response(scope, body, reply)


def _forbidden_origin(origin: str) -> Forbidden:
    return Forbidden(
        f"pages of {origin[:200]} may not call this server; "
        "the operator can add it to allowed_origins",
        header="Origin",
    )


def _is_cross_site(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of another site sent it, by an image or a script.

    Such requests have no Origin, and in local mode they would run as the owner.
    """
    site, mode = headers.get("sec-fetch-site", ""), headers.get("sec-fetch-mode", "")
    return site in ("cross-site", "same-site") and mode != "navigate"


def _check_well_formed(scope: Scope) -> None:
    """Reject what two parsers could read in two ways."""
    names = [name.decode("latin-1") for name, _ in scope["headers"]]
    for name in SINGLE_HEADERS:
        if names.count(name) > 1:
            raise InvalidRequest(
                f"the header {name} is repeated", header=name, hint="send this header once"
            )
    if _UNSAFE_PATH.search(scope["path"]):
        raise InvalidRequest(
            "the path contains dot segments, backslashes or control characters",
            hint="send the path without them; quote what is part of a name",
        )
    _check_query(scope["query_string"])


def _check_query(query: bytes) -> None:
    """A token in a URL ends up in logs, histories and Referer headers."""
    if not query:
        return
    try:
        pairs = parse_qsl(
            query.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS
        )
    except ValueError:
        raise InvalidRequest(
            f"the query has more than {MAX_PARAMETERS} parameters", hint="send fewer parameters"
        ) from None
    for name, value in pairs:
        if (
            name.lower() in TOKEN_PARAMETERS
            or pat.is_pat(value)
            or owner_token.is_owner_token(value)
        ):
            raise InvalidInput(
                f'"{name[:100]}" in the query holds a token; '
                "send it in the Authorization header, and revoke this one",
                field=name[:100],
                expected="an Authorization header",
            )


def _join_headers(pairs: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; repeated ones joined by commas."""
    found: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _request_id(client_id: str) -> str:
    """The client's own id, unless it is malformed or contains a secret: ids are logged."""
    is_sane = _VALID_ID.fullmatch(client_id) is not None and redact(client_id) == client_id
    return client_id if is_sane else uuid4().hex


def _normalize_origins(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        parts = urlsplit(text)
        yield f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else text.lower()


def _bracket_ipv6(host: str) -> str:
    """IPv6 addresses are in brackets in a Host header."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host

"""The outermost middleware, one pass for every request. It knows no tool and no caller."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl
from uuid import uuid4

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from pecia.interfaces.http.errors import HttpStatusError, render_error
from pecia.interfaces.http.middleware.body_limit import BodyLimits, LimitedBody, check_length
from pecia.interfaces.http.middleware.proxy_headers import (
    ForwardedClient,
    IpNetwork,
    parse_address,
    resolve_client,
)
from pecia.interfaces.http.middleware.response_headers import ResponseSender
from pecia.interfaces.http.middleware.trusted_hosts import TrustedHosts
from pecia.interfaces.http.protocol import PEER_KEY
from pecia.interfaces.http.request_info import SCOPE_KEY, RequestInfo
from pecia.kernel import logs
from pecia.kernel.errors import Cancelled, Forbidden, InvalidInput, InvalidRequest
from pecia.kernel.identity import owner_token, pat
from pecia.kernel.redaction import redact

SINGLE_HEADERS = ("authorization", "content-length", "content-type", "host", "origin")
"""Sent twice, one parser might take the first and another the last."""

ROUTINE_PATHS = frozenset(("/healthz", "/readyz", "/metrics"))
TOKEN_PARAMETERS = frozenset(("access_token", "authorization", "bearer"))
MAX_PARAMETERS = 1000
CORS_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT")
CORS_EXPOSED_HEADERS = ("Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "X-Request-Id")

_VALID_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_UNSAFE_PATH = re.compile(r"[\x00-\x1f\x7f\\]|(^|/)\.{1,2}(/|$)")


@dataclass(frozen=True, slots=True)
class EdgeRules:
    """The rules that the edge enforces."""

    hosts: TrustedHosts
    trusted: tuple[IpNetwork, ...]
    body: BodyLimits
    public_url: str | None
    resource_of: Callable[[str], str]
    """The protected endpoint that a path belongs to."""


class EdgeMiddleware:
    """ASGI middleware: rejects malformed requests, logs one line, adds headers."""

    def __init__(self, inner: ASGIApp, rules: EdgeRules) -> None:
        self._inner = inner
        self._rules = rules

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
        check_length(headers.get("content-length"), self._rules.body)
        await self._inner(scope, body, reply)

    def _with_cors(self, headers: Mapping[str, str], reply: ResponseSender) -> ASGIApp:
        """The app for an origin in `allowed_origins`: the operator trusts it with every header.

        Errors become responses inside CORS: such a page may read them. No credentials: we set no
        cookie.
        """

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                check_length(headers.get("content-length"), self._rules.body)
                await self._inner(scope, receive, send)
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
                ),
                421,
            )
        if "origin" in headers:
            own = f"{far.scheme}://{far.host}"
            if not self._rules.hosts.has_origin(headers["origin"], own=own):
                raise _forbidden_origin(headers["origin"])
        elif _is_cross_site(headers):
            raise _forbidden_origin("another site")


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
            raise InvalidRequest(f"the header {name} is repeated", header=name)
    if _UNSAFE_PATH.search(scope["path"]):
        raise InvalidRequest("the path contains dot segments, backslashes or control characters")
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
        raise InvalidRequest(f"the query has more than {MAX_PARAMETERS} parameters") from None
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

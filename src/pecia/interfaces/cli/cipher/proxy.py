"""A reverse proxy for the toolset `cipher` on a port of its own. It answers nothing itself: the
server's responses are passed on, checks of Host and Origin included.

It adds the owner's token only for the owner's own processes. Other clients must send a token, and
are forwarded with that and nothing of ours."""

import hmac
import signal
import socket
from collections.abc import Callable, Mapping

import anyio
import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from pecia.app.local_owner import SIGN_IN_HELP
from pecia.interfaces.http.middleware.proxy_headers import PROXY_HEADERS
from pecia.interfaces.http.protocol import PEER_KEY
from pecia.interfaces.http.server import LOOP_OPTIONS, serve_asgi
from pecia.kernel.errors import AuthRequired, InvalidInput, NotFound, PeciaError, Unavailable
from pecia.kernel.settings.kernel import KernelSettings

HEALTH_PATH = "/healthz"

# Paths that clients of Cipher use, and the paths of the toolset.
UPSTREAM_PATHS = {
    "/mcp": "/mcp/cipher",
    "/http": "/mcp/cipher",
    "/sse": "/sse/cipher",
    "/messages/cipher": "/messages/cipher",
    HEALTH_PATH: HEALTH_PATH,
}
SHUTDOWN_GRACE_S = 1.0
CONNECT_TIMEOUT_S = 10.0

# Hop-by-hop headers, and those that the HTTP client sets itself.
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"date")
)
_NOT_FORWARDED = _HOP_BY_HOP | {b"content-length", b"x-pecia-session"}


class CipherProxy:
    """An ASGI app that forwards each request, with the settings of this session."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        url: str,
        headers: Mapping[str, str],
        kernel: KernelSettings,
    ) -> None:
        self._client = client
        self._url = url
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._body_bytes = kernel.body_limit_bytes
        self._trusts_process = kernel.owner_proof == "process"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        try:
            answer = await self._send_upstream(Request(scope, receive))
        except PeciaError as error:
            response = JSONResponse({"error": error.payload()}, error.code.http)
            await response(scope, receive, send)
            return
        async with anyio.create_task_group() as group:
            # Notice a disconnect of the client while the server sends nothing.
            group.start_soon(_wait_for_disconnect, receive, group.cancel_scope.cancel)
            try:
                await _forward_response(answer, send)
            finally:
                with anyio.CancelScope(shield=True):
                    await answer.aclose()
            group.cancel_scope.cancel()

    async def _send_upstream(self, request: Request) -> httpx2.Response:
        path = UPSTREAM_PATHS.get(request.url.path)
        if path is None:
            raise NotFound(
                f"nothing is served at {request.url.path[:200]}", allowed=[*UPSTREAM_PATHS]
            )
        query = f"?{request.url.query}" if request.url.query else ""
        upstream = self._client.build_request(
            request.method,
            f"{self._url}{path}{query}",
            headers=self._forward_headers(request),
            content=await self._read_body(request),
        )
        try:
            return await self._client.send(upstream, stream=True)
        except httpx2.HTTPError as error:
            raise Unavailable(f"no answer from the server: {error}", retryable=True) from None

    async def _read_body(self, request: Request) -> bytes:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > self._body_bytes:
                raise InvalidInput(
                    f"the request body is longer than {self._body_bytes} bytes", field="body"
                )
        return body

    def _forward_headers(self, request: Request) -> list[tuple[bytes, bytes]]:
        """The client's headers, plus token and session settings where it sent none."""
        headers = [(name, it) for name, it in request.headers.raw if name not in _NOT_FORWARDED]
        names = {name for name, _ in headers}
        if not self._is_owner_request(request):
            if b"authorization" not in names and request.url.path != HEALTH_PATH:
                raise AuthRequired(SIGN_IN_HELP)
            # To the server this connection is the owner's; `Via` marks it as forwarded.
            return [*headers, (b"via", b"1.1 pecia-cipher")]
        return [*headers, *((name, it) for name, it in self._headers if name not in names)]

    def _is_owner_request(self, request: Request) -> bool:
        authorization = request.headers.get("authorization")
        if authorization is not None:
            own = dict(self._headers).get(b"authorization")
            return own is not None and hmac.compare_digest(own, authorization.encode("latin-1"))
        if not PROXY_HEADERS.isdisjoint(request.headers.keys()):
            # Forwarded by another proxy: not from the owner.
            return False
        peer = request.scope.get("state", {}).get(PEER_KEY)
        return self._trusts_process and peer is not None and peer.is_same_user


def serve_proxy(
    kernel: KernelSettings, listener: socket.socket, url: str, headers: Mapping[str, str]
) -> None:
    """Serve on that socket until SIGINT or SIGTERM."""
    anyio.run(_serve, kernel, listener, url, headers, backend_options=LOOP_OPTIONS)


async def _serve(
    kernel: KernelSettings, listener: socket.socket, url: str, headers: Mapping[str, str]
) -> None:
    brief = kernel.model_copy(update={"shutdown_grace_s": SHUTDOWN_GRACE_S})
    # No timeout here: the server limits how long a call takes.
    patient = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=patient, limits=limits, trust_env=False) as client:
        front = CipherProxy(client, url, headers, kernel)
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with serve_asgi(front, brief, listener):
                async for _ in signals:
                    return


async def _wait_for_disconnect(receive: Receive, gone: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    gone()


async def _forward_response(answer: httpx2.Response, send: Send) -> None:
    headers = [
        (name.lower(), it) for name, it in answer.headers.raw if name.lower() not in _HOP_BY_HOP
    ]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    try:
        async for piece in answer.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except httpx2.HTTPError:
        # The server disconnected mid-response: do not end the response as if it were complete.
        return
    await send({"type": "http.response.body", "body": b""})

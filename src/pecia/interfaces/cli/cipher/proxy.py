"""A port of its own for the toolset `cipher`, before the server of this home. It answers nothing
itself: whoever comes is told what the server says, checks of Host and Origin included.

It speaks to the server as the owner, so it does that for the owner's own processes alone. Whoever
else comes brings a token, and is passed on with that and nothing of ours."""

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

# Where a client of Cipher looks, and where the toolset is.
UPSTREAM_PATHS = {
    "/mcp": "/mcp/cipher",
    "/http": "/mcp/cipher",
    "/sse": "/sse/cipher",
    "/messages/cipher": "/messages/cipher",
    HEALTH_PATH: HEALTH_PATH,
}
SHUTDOWN_GRACE_S = 1.0
CONNECT_TIMEOUT_S = 10.0

# Each side of a front has its own connection, and says so itself.
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"date")
)
_NOT_FORWARDED = _HOP_BY_HOP | {b"content-length", b"x-pecia-session"}


class CipherProxy:
    """An ASGI app that sends each request on, with the settings of this session."""

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
            told = JSONResponse({"error": error.payload()}, error.code.http)
            await told(scope, receive, send)
            return
        async with anyio.create_task_group() as group:
            # A client that hangs up must be heard while the server says nothing.
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
        asked = self._client.build_request(
            request.method,
            f"{self._url}{path}{query}",
            headers=self._forward_headers(request),
            content=await self._read_body(request),
        )
        try:
            return await self._client.send(asked, stream=True)
        except httpx2.HTTPError as error:
            raise Unavailable(f"no answer from the server: {error}", retryable=True) from None

    async def _read_body(self, request: Request) -> bytes:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > self._body_bytes:
                raise InvalidInput(f"a request has at most {self._body_bytes} bytes", field="body")
        return body

    def _forward_headers(self, request: Request) -> list[tuple[bytes, bytes]]:
        """What the client says, and what it says nothing of: who asks, and this session."""
        said = [(name, it) for name, it in request.headers.raw if name not in _NOT_FORWARDED]
        names = {name for name, _ in said}
        if not self._is_owner_request(request):
            if b"authorization" not in names and request.url.path != HEALTH_PATH:
                raise AuthRequired(SIGN_IN_HELP)
            # To the server this connection is one of the owner's; a mark of a proxy says it is not.
            return [*said, (b"via", b"1.1 pecia-cipher")]
        return [*said, *((name, it) for name, it in self._headers if name not in names)]

    def _is_owner_request(self, request: Request) -> bool:
        given = request.headers.get("authorization")
        if given is not None:
            own = dict(self._headers).get(b"authorization")
            return own is not None and hmac.compare_digest(own, given.encode("latin-1"))
        if not PROXY_HEADERS.isdisjoint(request.headers.keys()):
            # A proxy of the owner's speaks for somebody else.
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
    # A call may take as long as the server lets it.
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
        # The server went away over its answer. What is not whole is not ended as if it were.
        return
    await send({"type": "http.response.body", "body": b""})

"""`GET /files/download`: an original file by signed link, with the rights of the link's principal.

The link alone decides: a bearer token sent with it changes nothing.
"""

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import quote

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from pecia.app.app import App
from pecia.app.dispatch import Operation
from pecia.features.lake.downloads.link import DownloadTicket
from pecia.features.lake.downloads.original import OpenOriginal
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.disconnect import cancel_on_disconnect
from pecia.kernel.errors import Json, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call

OPERATION_NAME = "files/download"
BLOCK_BYTES = 1 << 18
DEFAULT_TYPE = "application/octet-stream"
# Types that a browser shows without running anything. All others are saved.
INLINE_TYPES = frozenset(
    {"application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp", "text/plain"}
)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The bytes that are sent: from `start` up to but not including `end`, of `size`."""

    start: int
    end: int
    size: int


@dataclass(frozen=True, slots=True)
class DownloadHandler:
    """The handler."""

    app: App
    authenticator: HttpAuthenticator

    async def handle(self, request: Request) -> Response:
        context = self.authenticator.request_context(request)
        ticket, refusal = self._read_ticket(request)
        # Public: the rights are those of the link's principal, checked by the store.
        operation = Operation(
            OPERATION_NAME, Scope.READ, public=True, arguments=_audit_arguments(ticket)
        )

        async def fetch(call: Call) -> OpenOriginal:
            if ticket is None:
                raise refusal
            return await self.app.original_fetcher.fetch(call, ticket)

        who = (
            ticket.caller
            if ticket
            else await self.authenticator.authenticate_optional(request, context)
        )
        original = await cancel_on_disconnect(
            request.receive, lambda: self.app.dispatcher.run(who, operation, context, fetch)
        )
        return _response(original, request.headers.get("range"))

    def _read_ticket(self, request: Request) -> tuple[DownloadTicket | None, NotFound]:
        """An invalid link is audited as well, so it does not raise here."""
        try:
            token = request.query_params.get("token", "")
            return self.app.original_fetcher.open_ticket(token), NotFound("")
        except NotFound as refusal:
            return None, refusal


def parse_range(wanted: str | None, size: int) -> ByteRange | None:
    """The requested Range; the whole file if it cannot be parsed, None if past the end.

    Multiple ranges are answered with the whole file, as the protocol allows.
    """
    whole = ByteRange(0, size, size)
    found = _RANGE.fullmatch(wanted.strip()) if wanted else None
    if found is None or not any(found.groups()):
        return whole
    first, last = found.groups()
    if not first:
        # A suffix range: the last N bytes.
        start = max(0, size - int(last))
        return ByteRange(start, size, size) if int(last) and size else None
    start = int(first)
    end = min(size, int(last) + 1) if last else size
    if last and int(last) < start:
        return whole
    return ByteRange(start, end, size) if start < size else None


_RANGE = re.compile(r"bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})", re.ASCII)


def content_disposition(key: str, content_type: str) -> str:
    """`Content-Disposition`. Keys are encoded, so none can inject a header."""
    name = key.rpartition("/")[2] or "file"
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name)
    how = "inline" if content_type in INLINE_TYPES else "attachment"
    return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _response(original: OpenOriginal, wanted: str | None) -> Response:
    content_type = _content_type(original.facts.content_type)
    part = parse_range(wanted, original.size)
    headers = {
        "accept-ranges": "bytes",
        # Not as media_type, to which Starlette would add a charset that is not known.
        "content-type": content_type,
        "content-disposition": content_disposition(original.facts.key, content_type),
        "x-content-type-options": "nosniff",
    }
    if part is None:
        original.body.close()
        return Response(status_code=416, headers={"content-range": f"bytes */{original.size}"})
    headers["content-length"] = str(part.end - part.start)
    is_part = part.end - part.start < part.size
    if is_part:
        headers["content-range"] = f"bytes {part.start}-{part.end - 1}/{part.size}"
    return StreamingResponse(_blocks(original.body, part), 206 if is_part else 200, headers)


def _content_type(declared: str | None) -> str:
    """The content type of the source, if it is well formed."""
    return declared if declared and _TYPE.fullmatch(declared) else DEFAULT_TYPE


_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+", re.ASCII | re.IGNORECASE)


async def _blocks(body: BinaryIO, part: ByteRange) -> AsyncGenerator[bytes]:
    with body:
        await run_sync(body.seek, part.start)
        left = part.end - part.start
        while left and (block := await run_sync(body.read, min(BLOCK_BYTES, left))):
            left -= len(block)
            yield block


def _audit_arguments(ticket: DownloadTicket | None) -> dict[str, Json]:
    if ticket is None:
        return {}
    return {"source_id": ticket.source_id, "key": ticket.key, "revision": ticket.revision}

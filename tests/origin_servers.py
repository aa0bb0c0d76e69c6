"""Places that files come from, on loopback, that a test can change while it runs: a site, a bucket.

Each is a server in a thread of this process, so that commands in other processes can reach it.
"""

import hashlib
import hmac
import re
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Handler: TypeAlias = Callable[[BaseHTTPRequestHandler], Answer | None]
"""None: the handler answered by itself, in whatever way it chose."""


@contextmanager
def served(handle: Handler) -> Generator[str]:
    """A server for the time of the block; its URL, without a slash at the end."""

    class Asked(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            try:
                answer = handle(self)
                if answer is not None:
                    self._send(answer)
            except (ConnectionError, TimeoutError):
                self.close_connection = True

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:
            """Tests have nothing to say."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Who hangs up on a villain is right."""

    server = Quiet(("127.0.0.1", 0), Asked)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Site:
    """Pages by path. With `authorization` set, nothing is shown to who says anything else."""

    pages: dict[str, str] = field(default_factory=dict[str, str])
    authorization: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])

    def __call__(self, request: BaseHTTPRequestHandler) -> Answer:
        shown = request.headers.get("authorization")
        self.asked.append((request.path, shown))
        if self.authorization and shown != self.authorization:
            return Answer(401, b"who are you?")
        body = self.pages.get(request.path)
        if body is None:
            return Answer(404, b"nothing here")
        kind = "text/plain" if request.path.endswith(".txt") else "text/html; charset=utf-8"
        return Answer(200, body.encode(), {"Content-Type": kind})


@dataclass
class Store:
    """A server that speaks S3 for one bucket, in path style, and checks every signature itself.

    What it computes, it computes from the request as it came; it shares no code with the client.
    """

    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    bucket: str = "shelf"
    region: str = "eu-test-1"
    key_id: str = "AKIDEXAMPLE"
    secret: str = ""
    page: int = 2
    asked: list[str] = field(default_factory=list[str])

    def __call__(self, request: BaseHTTPRequestHandler) -> Answer:
        self.asked.append(request.path)
        if self.secret and (reason := self._wrong(request)):
            return _refused(403, reason)
        parts = urlsplit(request.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        if bucket != self.bucket:
            return _refused(404, "NoSuchBucket")
        if not key:
            return self._listed(dict(parse_qsl(parts.query)))
        if key not in self.objects:
            return _refused(404, "NoSuchKey")
        return Answer(200, self.objects[key], {"ETag": _etag(self.objects[key])})

    def _listed(self, query: dict[str, str]) -> Answer:
        after = query.get("continuation-token", "")
        prefix = query.get("prefix", "")
        keys = sorted(it for it in self.objects if it.startswith(prefix) and it > after)
        shown, rest = keys[: self.page], keys[self.page :]
        body = "".join(map(self._entry, shown))
        more = f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>" if rest else ""
        document = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<EncodingType>url</EncodingType><IsTruncated>{str(bool(rest)).lower()}</IsTruncated>"
            f"{more}{body}</ListBucketResult>"
        )
        return Answer(200, document.encode(), {"Content-Type": "application/xml"})

    def _entry(self, key: str) -> str:
        body = self.objects[key]
        return (
            f"<Contents><Key>{quote(key)}</Key><Size>{len(body)}</Size>"
            f"<ETag>{escape(_etag(body))}</ETag><StorageClass>STANDARD</StorageClass>"
            "<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>"
        )

    def _wrong(self, request: BaseHTTPRequestHandler) -> str:
        found = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
        moment = request.headers.get("x-amz-date", "")
        if found is None or found["key"] != self.key_id:
            return "AccessDenied"
        at = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs(datetime.now(UTC) - at) > timedelta(minutes=15):
            return "RequestTimeTooSkewed"
        if found["scope"] != f"{moment[:8]}/{self.region}/s3/aws4_request":
            return "AuthorizationHeaderMalformed"
        said = hmac.compare_digest(found["signature"], self._signature(request, found, moment))
        return "" if said else "SignatureDoesNotMatch"

    def _signature(
        self, request: BaseHTTPRequestHandler, found: "re.Match[str]", moment: str
    ) -> str:
        path, _, query = request.path.partition("?")
        names = found["names"].split(";")
        lines = [f"{it}:{request.headers.get(it, '').strip()}\n" for it in names]
        wire = "\n".join(
            [
                request.command,
                path,
                "&".join(sorted(query.split("&"))) if query else "",
                "".join(lines),
                found["names"],
                request.headers.get("x-amz-content-sha256", ""),
            ]
        )
        digest = hashlib.sha256(wire.encode()).hexdigest()
        key = ("AWS4" + self.secret).encode()
        for part in found["scope"].split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        told = f"AWS4-HMAC-SHA256\n{moment}\n{found['scope']}\n{digest}"
        return hmac.new(key, told.encode(), hashlib.sha256).hexdigest()


_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>[^,]+),\s*"
    r"SignedHeaders=(?P<names>[^,]+),\s*Signature=(?P<signature>[0-9a-f]{64})"
)


def _etag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def _refused(status: int, code: str) -> Answer:
    return Answer(status, f"<Error><Code>{code}</Code></Error>".encode())

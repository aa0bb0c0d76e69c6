"""HTTP client of a running server. It renders nothing and retries nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, cast
from urllib.parse import quote, urlsplit

from pecia.kernel.errors import (
    InternalError,
    InvalidFormat,
    Json,
    PeciaError,
    Unavailable,
    iter_errors,
)

API = "/api/v1"
HEALTH_TIMEOUT_S = 2.0
CALL_TIMEOUT_S = 330.0
"""Longer than the longest deadline of a call: the server's own timeout error says more."""


def encode_arguments(arguments: Mapping[str, Json]) -> bytes:
    """The arguments as JSON. Bytes in another encoding are refused by the name of their argument: a
    word, a file or a pipe may hold them."""
    try:
        return json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        pass
    for name, value in arguments.items():
        text = json.dumps(value, ensure_ascii=False)
        if not is_utf8(text):
            raise InvalidFormat(
                f"{name} is not UTF-8 text", field=name, expected="UTF-8", got=ascii(text[:200])
            )
    raise InvalidFormat("the name of an argument is not UTF-8 text", field="arguments")


def is_utf8(text: str) -> bool:
    """Whether it can be sent. What was no UTF-8 on a disk or a command line cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """A server's response, of any status."""

    status: int
    body: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class ServerClient:
    """A server that may run at an address."""

    url: str
    token: str | None = None

    def health(self, *, limit_s: float = HEALTH_TIMEOUT_S) -> Mapping[str, Any] | None:
        """Its `/healthz` document; None when nothing answers there, or another program does."""
        try:
            answer = self.request("GET", "/healthz", limit_s=limit_s)
        except PeciaError:
            return None
        found = answer.json()
        return cast(Mapping[str, Any], found) if isinstance(found, dict) else None

    def checks(self, *, limit_s: float = HEALTH_TIMEOUT_S) -> Mapping[str, Any]:
        """Its own health checks, by name; none when nothing answers there."""
        try:
            found = self.request("GET", "/readyz", limit_s=limit_s).json()
        except PeciaError:
            return {}
        checks = cast(dict[str, Any], found).get("checks") if isinstance(found, dict) else None
        return cast(Mapping[str, Any], checks) if isinstance(checks, dict) else {}

    def has_endpoint(self, path: str, *, limit_s: float) -> bool:
        """Whether a protected endpoint is served there: each publishes its metadata."""
        about = f"/.well-known/oauth-protected-resource{quote(path)}"
        return self.request("GET", about, limit_s=limit_s).status == 200

    def list_tools(self) -> list[Mapping[str, Any]]:
        """Every tool that the caller may use, with its schema."""
        found: list[Mapping[str, Any]] = []
        cursor = ""
        while True:
            page = self._parse_response(
                self.request("GET", f"{API}/tools?limit=500&cursor={quote(cursor)}")
            )
            found += page["tools"]
            cursor = page["next_cursor"]
            if not cursor:
                return found

    def find_tool(self, name: str) -> Mapping[str, Any]:
        """One tool, by any of its names, with its schema."""
        found = self._parse_response(self.request("GET", f"{API}/tools/{quote(name, safe='')}"))
        return cast(Mapping[str, Any], found)

    def list_spaces(self) -> list[str]:
        """The names of the spaces that the caller may see."""
        names: list[str] = []
        cursor: str | None = None
        while True:
            page = cast(
                Any, self.call(f"{API}/admin/list_spaces", {"limit": 200, "cursor": cursor})
            )
            names += [it["name"] for it in page["spaces"]]
            cursor = page["next_cursor"]
            if not cursor:
                return names

    def call(self, path: str, arguments: Mapping[str, Json]) -> Json:
        """Call the tool at that path. Its errors are raised here as the same class."""
        return cast(Json, self._parse_response(self.request("POST", path, arguments)))

    def answer_confirmation(self, confirmation: str, answer: str) -> None:
        """Confirm or refuse a pending confirmation."""
        path = f"{API}/confirmations/{quote(confirmation, safe='')}"
        self._parse_response(self.request("POST", path, {"answer": answer}))

    def get(self, path: str, *, limit_s: float = CALL_TIMEOUT_S) -> Json:
        """A JSON page of a feature."""
        return cast(Json, self._parse_response(self.request("GET", path, limit_s=limit_s)))

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Json] | None = None,
        *,
        limit_s: float = CALL_TIMEOUT_S,
    ) -> ServerResponse:
        """One request, one response, within the timeout."""
        where = urlsplit(self.url)
        kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
        connection = kind(where.hostname or "", where.port, timeout=limit_s)
        data = None if body is None else encode_arguments(body)
        try:
            connection.request(method, path, data, self._headers())
            answer = connection.getresponse()
            return ServerResponse(answer.status, answer.read())
        except (OSError, HTTPException) as error:
            raise Unavailable(f"no answer from {self.url}: {error}", url=self.url) from error
        finally:
            connection.close()

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        return headers | ({"authorization": f"Bearer {self.token}"} if self.token else {})

    def _parse_response(self, answer: ServerResponse) -> Any:
        found = answer.json()
        if answer.status < 400:
            return found
        raise error_from_document(found) or InternalError(f"{self.url} answered {answer.status}")


def error_from_document(document: Any) -> PeciaError | None:
    """The error in a server's response, as the class it had there."""
    payload = cast(Any, document).get("error") if isinstance(document, dict) else None
    if not isinstance(payload, dict):
        return None
    facts = dict(cast(Mapping[str, Any], payload))
    kind = _error_class(str(facts.pop("code", "")))
    message = str(facts.pop("message", "refused"))
    if facts.get("retryable") == kind.code.retryable:
        # The class says so already; what the server said of this one error stays.
        del facts["retryable"]
    error = kind.__new__(kind)
    # Not through its constructor, which may require fields that this server did not send.
    PeciaError.__init__(error, message, **facts)
    return error


def _error_class(code: str) -> type[PeciaError]:
    return next((it for it in iter_errors() if it.code.name == code), InternalError)

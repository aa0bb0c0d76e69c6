"""The one place where an error becomes an HTTP response. It adds no message of its own."""

from collections.abc import Mapping
from http import HTTPStatus

import orjson
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from pecia.interfaces.http.auth.challenge import challenge_headers
from pecia.interfaces.http.pages.template import RawHtml, render_page
from pecia.interfaces.http.request_info import get_request_info
from pecia.kernel.errors import InternalError, PeciaError, RateLimited


class HttpStatusError(Exception):
    """A failure whose HTTP status says more than its code does: 405, 408, 415, 421."""

    def __init__(
        self, error: PeciaError, status: int, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.status = status
        self.headers = headers or {}


def render_error(failure: Exception, scope: Scope) -> Response:
    """Any error as a response, JSON or HTML by `Accept`; its code goes to the log line."""
    error, status, headers = _split_failure(failure)
    get_request_info(scope).log_line.fail(failure if isinstance(error, InternalError) else error)
    connection = HTTPConnection(scope)
    headers |= challenge_headers(error, connection)
    headers |= retry_after_headers(error)
    if wants_html(connection.headers.get("accept", "")):
        hint = error.payload().get("hint")
        lines = [_sentence(error.message), *([_sentence(hint)] if isinstance(hint, str) else [])]
        if status == HTTPStatus.UNAUTHORIZED:
            lines.append(RawHtml('<p><a class="button primary" href="/console/">Sign in</a></p>'))
        elif status == HTTPStatus.NOT_FOUND:
            lines.append(RawHtml('<p><a class="button" href="/">To the start page</a></p>'))
        return render_page(_title(status), lines, status=status, headers=headers)
    return json_response({"error": error.payload()}, status, headers)


def json_response(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response, encoded by orjson."""
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


def retry_after_headers(error: PeciaError) -> dict[str, str]:
    """`Retry-After`, for errors that know it."""
    seconds = error.fields.get("retry_after_seconds", 1 if isinstance(error, RateLimited) else None)
    return {} if seconds is None else {"retry-after": str(seconds)}


def wants_html(accept: str) -> bool:
    """Whether a browser asks: `Accept` names HTML and does not prefer JSON."""
    kinds = [it.partition(";")[0].strip().lower() for it in accept.split(",")]
    if "text/html" not in kinds:
        return False
    return "application/json" not in kinds[: kinds.index("text/html")]


def _split_failure(failure: Exception) -> tuple[PeciaError, int, dict[str, str]]:
    if isinstance(failure, HttpStatusError):
        return failure.error, failure.status, dict(failure.headers)
    if isinstance(failure, PeciaError):
        return failure, failure.code.http, {}
    error = InternalError("internal error; the server log has the details under this request id")
    return error, error.code.http, {}


def _sentence(message: str) -> str:
    """For a page: messages begin small, as they stand after a code in JSON."""
    end = "" if message.endswith((".", "!", "?", ":")) else "."
    return f"{message[:1].upper()}{message[1:]}{end}"


def _title(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}" if status in _KNOWN_STATUSES else str(status)


_KNOWN_STATUSES = frozenset(int(it) for it in HTTPStatus)

"""Failures as responses."""

import json

import pytest

from pecia.interfaces.http.errors import HttpStatusError, render_error, wants_html
from pecia.interfaces.http.request_info import SCOPE_KEY, RequestInfo
from pecia.kernel.errors import (
    AuthRequired,
    BadArgument,
    Forbidden,
    NotFound,
    PeciaError,
    RateLimited,
    iter_errors,
)
from pecia.kernel.logs import RequestRecord

METADATA = "https://pecia.example/.well-known/oauth-protected-resource/api/v1"


def scope(**headers: str) -> dict[str, object]:
    arrival = RequestInfo(
        "r", "127.0.0.1", True, "https://pecia.example", "/api/v1", RequestRecord("http")
    )
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "path": "/api/v1/x/y", "headers": pairs, SCOPE_KEY: arrival}


def made(kind: type[PeciaError]) -> PeciaError:
    return kind("why", field="x") if issubclass(kind, BadArgument) else kind("why")


@pytest.mark.parametrize("kind", [*iter_errors()], ids=lambda it: it.__name__)
def test_every_error_has_its_own_status_and_the_one_shape(kind: type[PeciaError]) -> None:
    response = render_error(made(kind), scope())
    told = json.loads(bytes(response.body))["error"]
    assert response.status_code == kind.code.http
    assert (told["code"], told["message"]) == (kind.code.name, "why")
    assert told["retryable"] is kind.code.retryable


def test_a_refusal_keeps_its_code_under_a_status_of_its_own() -> None:
    response = render_error(HttpStatusError(NotFound("gone"), 410, {"allow": "GET"}), scope())
    assert response.status_code == 410
    assert response.headers["allow"] == "GET"
    assert json.loads(bytes(response.body))["error"]["code"] == "NOT_FOUND"


def test_a_bug_tells_nothing_of_itself() -> None:
    response = render_error(RuntimeError("secret detail"), scope())
    assert response.status_code == 500
    assert b"secret detail" not in bytes(response.body)


def test_a_limit_says_how_long_to_wait() -> None:
    response = render_error(RateLimited("slow down", retry_after_seconds=7), scope())
    assert response.headers["retry-after"] == "7"


def test_without_a_token_the_challenge_names_no_error() -> None:
    response = render_error(AuthRequired("come with a token", scope="pecia.read"), scope())
    expected = f'Bearer resource_metadata="{METADATA}", scope="pecia.read"'
    assert response.headers["www-authenticate"] == expected


def test_a_bad_token_is_challenged_as_invalid() -> None:
    refused = AuthRequired("it has expired", scope="pecia.read")
    response = render_error(refused, scope(authorization="Bearer x"))
    assert response.headers["www-authenticate"] == (
        f'Bearer error="invalid_token", scope="pecia.read", resource_metadata="{METADATA}", '
        'error_description="it has expired"'
    )


def test_a_weak_token_is_told_which_scope_is_missing() -> None:
    refused = Forbidden("needs pecia.write", scope="pecia.write")
    response = render_error(refused, scope(authorization="Bearer x"))
    assert response.headers["www-authenticate"] == (
        f'Bearer error="insufficient_scope", scope="pecia.write", resource_metadata="{METADATA}", '
        'error_description="needs pecia.write"'
    )


def test_a_right_that_no_token_gives_is_not_challenged() -> None:
    response = render_error(Forbidden("only its owner may"), scope(authorization="Bearer x"))
    assert "www-authenticate" not in response.headers


def test_nothing_in_a_message_breaks_out_of_the_challenge() -> None:
    refused = AuthRequired('no "quotes" \\ or\r\nlines or é')
    header = render_error(refused, scope(authorization="Bearer x")).headers["www-authenticate"]
    assert header.endswith("""error_description="no 'quotes' ' or''lines or '\"""")


@pytest.mark.parametrize(
    ("accept", "page"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/json", False),
        ("*/*", False),
        ("", False),
        ("application/json, text/html", False),
        ("text/html, application/json;q=0.5", True),
    ],
)
def test_only_a_browser_gets_a_page(accept: str, page: bool) -> None:
    assert wants_html(accept) is page
    assert render_error(NotFound("x"), scope(accept=accept)).media_type == (
        "text/html" if page else "application/json"
    )


def test_what_a_message_quotes_cannot_become_markup() -> None:
    body = bytes(
        render_error(NotFound("<script>alert(1)</script>"), scope(accept="text/html")).body
    )
    assert b"<script>" not in body
    assert b"&lt;script&gt;" in body

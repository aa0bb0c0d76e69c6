"""Models over real HTTP, against a provider on loopback that says what each test scripted."""

import logging
import sys
import traceback

import anyio
import pytest

from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.models.chat_model import ProviderChatModel
from pecia.adapters.models.messages import ChatMessage, ChatOptions, TokenUsage
from pecia.adapters.models.providers import PROVIDERS, compatible_provider
from pecia.adapters.models.pydantic_ai_client import REQUIREMENT
from pecia.adapters.models.response_schema import schema_of_json
from pecia.kernel.errors import (
    Forbidden,
    InvalidFormat,
    MissingField,
    PayloadTooLarge,
    PeciaError,
    RateLimited,
    Timeout,
    Unavailable,
    UpstreamError,
)
from tests.provider import Calls, Fails, LoopbackProvider, Says, Scripted, Sends, Waits

pytestmark = pytest.mark.anyio

KEY = "sk-borrowed-0123456789abcdef"
HELLO = [ChatMessage("system", "Be brief."), ChatMessage("user", "Say hello.")]
EVERY = [*PROVIDERS, "compatible"]


TALK = schema_of_json(
    "emit_talk",
    {
        "type": "object",
        "properties": {"title": {"type": "string"}, "minutes": {"type": "integer"}},
        "required": ["title", "minutes"],
    },
)


def model_of(provider: LoopbackProvider, name: str = "compatible") -> ProviderChatModel:
    return ProviderChatModel(provider.as_provider(name), guard=provider.guard)


async def failure(script: Scripted, name: str = "compatible") -> PeciaError:
    """How a call fails to which this is the answer."""
    with LoopbackProvider(script) as provider:
        with pytest.raises(PeciaError) as caught:
            await model_of(provider, name).chat(HELLO, key=KEY, options=ChatOptions(timeout_s=5))
        assert len(provider.requests) == 1
    return caught.value


@pytest.mark.parametrize("name", EVERY)
async def test_every_provider_answers_in_words(name: str) -> None:
    with LoopbackProvider(Says("Hello there.", tokens=(21, 4))) as provider:
        reply = await model_of(provider, name).chat(HELLO, key=KEY)
    assert (reply.text, reply.usage, reply.truncated) == ("Hello there.", TokenUsage(21, 4), False)


@pytest.mark.parametrize("name", EVERY)
async def test_every_provider_answers_in_a_shape(name: str) -> None:
    with LoopbackProvider(Calls({"title": "Rust", "minutes": 40})) as provider:
        answer = await model_of(provider, name).chat_structured(HELLO, TALK, key=KEY)
    assert answer.value == {"title": "Rust", "minutes": 40}
    assert (answer.usage, answer.attempts) == (TokenUsage(10, 5), 1)


@pytest.mark.parametrize("name", EVERY)
async def test_the_key_is_in_one_header_and_nowhere_else(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with LoopbackProvider(Says("hi"), Fails(401, f"wrong key {KEY}")) as provider:
        model = model_of(provider, name)
        await model.chat(HELLO, key=KEY)
        with pytest.raises(UpstreamError) as caught:
            await model.chat(HELLO, key=KEY)
        headers = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}
        for request in provider.requests:
            assert request.places_of(KEY) == [f"header {headers.get(name, 'authorization')}"]
    shown = caplog.text + repr(model) + repr(vars(model)) + repr(caught.value.payload())
    assert KEY not in shown + "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_headers_of_the_environment_do_not_travel_with_a_borrowed_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-operator")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: of-the-operator")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-operator")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-operator")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with LoopbackProvider() as provider:
        for name in ("openai", "anthropic"):
            await model_of(provider, name).chat(HELLO, key=KEY)
        for request in provider.requests:
            assert request.places_of("of-the-operator") == []
            assert request.headers["user-agent"] == "pecia"


async def test_a_server_without_keys_is_asked_without_one() -> None:
    with LoopbackProvider() as provider:
        await model_of(provider).chat(HELLO, key="")
        assert "authorization" not in provider.requests[0].headers


@pytest.mark.parametrize("key", ["sk-a\nHost: evil", "sk a", "sk-é", "sk-\0"])
async def test_a_key_that_cannot_be_a_header_is_refused_without_showing_it(key: str) -> None:
    with LoopbackProvider() as provider:
        with pytest.raises(InvalidFormat) as caught:
            await model_of(provider).chat(HELLO, key=key)
        assert provider.requests == []
    assert key not in repr(caught.value.payload())
    assert caught.value.fields["field"] == "byok_key"


async def test_what_is_said_reaches_the_model_in_order() -> None:
    talk = [*HELLO, ChatMessage("assistant", "Hello."), ChatMessage("user", "Again.")]
    with LoopbackProvider() as provider:
        options = ChatOptions(temperature=0.2, max_tokens=99)
        await model_of(provider).chat(talk, key=KEY, options=options)
        body = provider.requests[0].body
    said = [(it["role"], it["content"]) for it in body["messages"]]
    assert said == [(it.role, it.text) for it in talk]
    assert body["temperature"] == 0.2
    assert 99 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert body["model"] == "loopback"


async def test_a_reply_that_hit_the_token_limit_says_so() -> None:
    with LoopbackProvider(Says("Hello th", truncated=True)) as provider:
        assert (await model_of(provider).chat(HELLO, key=KEY)).truncated
        with pytest.raises(UpstreamError) as caught:
            await model_of(provider).chat_structured(HELLO, TALK, key=KEY)
    assert caught.value.fields["reason"] == "cut_off"


async def test_an_answer_that_misses_the_shape_is_asked_for_again() -> None:
    script = (Calls({"title": "Rust"}), Calls({"title": "Rust", "minutes": 40}))
    with LoopbackProvider(*script) as provider:
        answer = await model_of(provider).chat_structured(HELLO, TALK, key=KEY)
        again = provider.requests[1].body["messages"]
    assert (answer.value["minutes"], answer.attempts, answer.usage) == (40, 2, TokenUsage(20, 10))
    assert "'minutes' is a required property" in again[-1]["content"]


async def test_an_answer_that_never_fits_is_an_upstream_error_with_the_reason() -> None:
    with LoopbackProvider(Calls({"title": "Rust", "minutes": "many"})) as provider:
        with pytest.raises(UpstreamError) as caught:
            await model_of(provider).chat_structured(
                HELLO, TALK, key=KEY, options=ChatOptions(attempts=3)
            )
        assert len(provider.requests) == 3
    assert caught.value.fields["reason"] == "bad_answer"
    assert "minutes" in caught.value.message
    assert "many" not in caught.value.message


async def test_a_shape_in_words_is_read_too() -> None:
    words = 'Here you are:\n```json\n{"title": "Rust", "minutes": 40}\n```'
    with LoopbackProvider(Says("I cannot."), Says(words)) as provider:
        answer = await model_of(provider).chat_structured(HELLO, TALK, key=KEY)
    assert answer.value == {"title": "Rust", "minutes": 40}


async def test_a_shape_may_be_a_plain_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
        "required": ["claims"],
    }
    shape = schema_of_json("emit_claims", schema)
    with LoopbackProvider(Calls({"claims": [1]}), Calls({"claims": ["a"]})) as provider:
        answer = await model_of(provider).chat_structured(HELLO, shape, key=KEY)
        first = provider.requests[0].body
    assert (answer.value, answer.attempts) == ({"claims": ["a"]}, 2)
    assert first["tools"][0]["function"]["name"] == "emit_claims"
    assert first["tool_choice"] != "auto"


@pytest.mark.parametrize(
    ("name", "status"), [*((name, 401) for name in EVERY), ("gemini", 403), ("openai", 403)]
)
async def test_a_refused_key_is_said_without_repeating_it(name: str, status: int) -> None:
    error = await failure(Fails(status, f"Incorrect API key provided: {KEY}"), name)
    assert isinstance(error, UpstreamError)
    assert error.payload()["retryable"] is False
    assert (error.fields["reason"], error.fields["status"]) == ("key_refused", status)
    assert KEY[:6] not in str(error.payload())


@pytest.mark.parametrize("name", EVERY)
async def test_too_many_requests_say_how_long_to_wait(name: str) -> None:
    error = await failure(Fails(429, "slow down", {"Retry-After": "7"}), name)
    assert isinstance(error, RateLimited)
    assert error.fields["retry_after_seconds"] == 7


@pytest.mark.parametrize("wait", ["", "soon", "-5", "nan", "inf", "99999999999"])
async def test_a_wait_that_makes_no_sense_becomes_the_usual_one(wait: str) -> None:
    error = await failure(Fails(429, "slow down", {"Retry-After": wait}))
    assert error.fields["retry_after_seconds"] == 30


@pytest.mark.parametrize(
    ("name", "status"), [*((name, 500) for name in EVERY), ("compatible", 503), ("anthropic", 529)]
)
async def test_a_failing_provider_may_be_asked_again(name: str, status: int) -> None:
    error = await failure(Fails(status), name)
    assert isinstance(error, UpstreamError)
    assert error.payload()["retryable"] is True
    assert error.fields["status"] == status


@pytest.mark.parametrize(
    ("status", "reason"), [(402, "no_credit"), (404, "no_such_model"), (400, "request_refused")]
)
async def test_a_refused_request_is_not_worth_repeating(status: int, reason: str) -> None:
    error = await failure(Fails(status, f"schema too complex for {KEY}"))
    assert (error.fields["reason"], error.payload()["retryable"]) == (reason, False)
    assert KEY not in error.message
    assert ("schema too complex" in error.message) is (status == 400)


async def test_a_key_of_any_form_is_taken_out_of_what_a_provider_says() -> None:
    script = Fails(400, "unknown field for hunter22 in keyword list")
    with LoopbackProvider(script) as provider, pytest.raises(UpstreamError) as caught:
        await model_of(provider).chat(HELLO, key="hunter22")
    assert "unknown field for … in keyword list" in caught.value.message


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini"])
async def test_a_silent_provider_ends_at_the_deadline(name: str) -> None:
    with LoopbackProvider(Waits()) as provider, pytest.raises(Timeout) as caught:
        await model_of(provider, name).chat(HELLO, key=KEY, options=ChatOptions(timeout_s=0.5))
    assert caught.value.fields["timeout_s"] == 0.5


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"choices":[]}'])
async def test_an_answer_that_makes_no_sense_is_an_upstream_error(name: str, body: bytes) -> None:
    error = await failure(Sends(body), name)
    assert isinstance(error, UpstreamError)


async def test_an_answer_without_end_is_refused() -> None:
    error = await failure(Sends(b'{"x":"' + b"x" * 40_000_000))
    assert isinstance(error, PayloadTooLarge)


async def test_a_provider_that_is_not_there_is_an_upstream_error() -> None:
    with LoopbackProvider() as provider:
        gone, guard = provider.as_provider(), provider.guard
    with pytest.raises(UpstreamError):
        await ProviderChatModel(gone, guard=guard).chat(HELLO, key=KEY)


async def test_a_redirect_does_not_take_the_key_along() -> None:
    with LoopbackProvider() as elsewhere:
        moved = Sends(b"", 307, {"Location": f"{elsewhere.url}/v1/chat/completions"})
        error = await failure(moved)
        assert isinstance(error, UpstreamError)
        assert elsewhere.requests == []


async def test_a_private_base_url_is_refused_unless_the_operator_allowed_it() -> None:
    with LoopbackProvider() as provider:
        with pytest.raises(Forbidden):
            await ProviderChatModel(provider.as_provider()).chat(HELLO, key=KEY)
        assert provider.requests == []


async def test_a_key_does_not_travel_in_the_clear() -> None:
    with pytest.raises(Forbidden) as caught:
        await ProviderChatModel(compatible_provider("http://models.example.com/v1"), name="m").chat(
            HELLO, key=KEY
        )
    assert caught.value.fields["rule"] == "plaintext"
    trusted = EgressGuard(EgressRules.from_trusted_hosts(["models.example.com"]))
    with pytest.raises(UpstreamError):
        await ProviderChatModel(
            compatible_provider("http://models.example.com/v1"),
            name="m",
            guard=_knowing_nobody(trusted),
        ).chat(HELLO, key=KEY)


def _knowing_nobody(guard: EgressGuard) -> EgressGuard:
    async def nobody(host: str, port: int) -> tuple[()]:
        return ()

    return EgressGuard(guard.rules, nobody)


async def test_cancelling_a_call_ends_it() -> None:
    with LoopbackProvider(Waits()) as provider:
        with anyio.move_on_after(0.2) as scope:
            await model_of(provider).chat(HELLO, key=KEY)
        assert scope.cancelled_caught


async def test_without_the_extra_the_error_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.direct", None)
    with LoopbackProvider() as provider, pytest.raises(Unavailable) as caught:
        await model_of(provider).chat(HELLO, key=KEY)
    assert f"pip install '{REQUIREMENT}'" in str(caught.value.fields["hint"])


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(MissingField):
        ProviderChatModel(compatible_provider("https://models.example.com/v1"))

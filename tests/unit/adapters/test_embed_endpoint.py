"""Vectors over real HTTP, from a server on loopback that says what each test scripted."""

import json
import logging
import traceback
from collections.abc import Sequence

import numpy as np
import pytest
from pydantic import SecretStr

from pecia.adapters.embedding.endpoint import EndpointEmbedder, EndpointOptions
from pecia.adapters.embedding.factory import open_embedder
from pecia.adapters.embedding.settings import EmbedSettings
from pecia.adapters.models.providers import compatible_provider
from pecia.kernel.errors import (
    Forbidden,
    InvalidFormat,
    PeciaError,
    RateLimited,
    Timeout,
    UpstreamError,
)
from tests.provider import Fails, LoopbackProvider, Scripted, Sends, Waits

pytestmark = pytest.mark.anyio

KEY = "sk-borrowed-0123456789abcdef"


def vectors(*rows: Sequence[float], backwards: bool = False) -> Sends:
    data = [{"index": number, "embedding": row} for number, row in enumerate(rows)]
    return Sends(json.dumps({"data": data[::-1] if backwards else data}).encode())


def embedder_of(
    provider: LoopbackProvider, asking: EndpointOptions | None = None
) -> EndpointEmbedder:
    quick = asking or EndpointOptions(timeout_s=5, retries=2, batch=2, backoff_initial_s=0)
    return EndpointEmbedder(provider.as_provider(), key=KEY, options=quick, guard=provider.guard)


async def failure(
    *script: Scripted, asking: EndpointOptions | None = None
) -> tuple[PeciaError, int]:
    with LoopbackProvider(*script) as provider:
        async with embedder_of(provider, asking) as embedder:
            with pytest.raises(PeciaError) as caught:
                await embedder.embed(["hello"])
        return caught.value, len(provider.requests)


async def test_vectors_come_in_the_order_of_the_texts_and_of_length_one() -> None:
    with LoopbackProvider(vectors([3, 4], [0, 2], backwards=True)) as provider:
        async with embedder_of(provider) as embedder:
            found = await embedder.embed(["one", "two"])
            assert await embedder.dimension() == 2
    assert np.allclose(found, [[0.6, 0.8], [0, 1]])
    assert found.dtype == np.float32
    (request,) = provider.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {
        "model": "loopback",
        "input": ["one", "two"],
        "encoding_format": "float",
    }


async def test_the_dimension_is_asked_for_once() -> None:
    with LoopbackProvider(vectors([1, 0, 0])) as provider:
        async with embedder_of(provider) as embedder:
            assert [await embedder.dimension(), await embedder.dimension()] == [3, 3]
            assert (await embedder.embed([])).shape == (0, 3)
    assert len(provider.requests) == 1


async def test_many_texts_go_in_several_requests() -> None:
    with LoopbackProvider(vectors([1, 0], [1, 0]), vectors([0, 1])) as provider:
        async with embedder_of(provider) as embedder:
            found = await embedder.embed(["a", "b", "c"])
    assert found.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert [it.body["input"] for it in provider.requests] == [["a", "b"], ["c"]]


async def test_a_failure_that_passes_is_survived() -> None:
    script = (Fails(503), Fails(429, headers={"retry-after": "0"}), vectors([1, 0]))
    with LoopbackProvider(*script) as provider:
        async with embedder_of(provider) as embedder:
            assert (await embedder.embed(["a"])).tolist() == [[1, 0]]
    assert len(provider.requests) == 3


async def test_a_server_that_stays_down_is_an_error_after_its_retries() -> None:
    error, requests = await failure(Fails(500))
    assert isinstance(error, UpstreamError)
    assert (error.fields["status"], requests) == (500, 3)


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_a_refusal_is_not_repeated(status: int) -> None:
    error, requests = await failure(Fails(status, f"no to {KEY}"))
    assert isinstance(error, UpstreamError)
    assert requests == 1
    assert KEY not in json.dumps(error.payload())


async def test_a_wait_that_is_too_long_is_left_to_the_caller() -> None:
    error, requests = await failure(Fails(429, headers={"retry-after": "600"}))
    assert isinstance(error, RateLimited)
    assert (error.fields["retry_after_seconds"], requests) == (600, 1)


async def test_silence_is_a_timeout() -> None:
    error, _ = await failure(Waits(), asking=EndpointOptions(timeout_s=0.2, retries=0))
    assert isinstance(error, Timeout)
    assert error.fields["timeout_s"] == 0.2


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"[]",
        b'{"data": [{"embedding": "words"}]}',
        b'{"data": []}',
        b'{"data": [{"embedding": [1]}, {"embedding": [1]}]}',
        b'{"data": [{"embedding": [1, null]}]}',
        b'{"data": [{"index": "x", "embedding": [1]}]}',
    ],
)
async def test_an_answer_that_is_not_vectors_is_an_error(body: bytes) -> None:
    error, requests = await failure(Sends(body))
    assert isinstance(error, UpstreamError)
    assert (error.fields["reason"], requests) == ("bad_answer", 1)


async def test_vectors_that_change_their_dimension_are_refused() -> None:
    with LoopbackProvider(vectors([1, 0]), vectors([1, 0, 0])) as provider:
        async with embedder_of(provider) as embedder:
            await embedder.embed(["a"])
            with pytest.raises(UpstreamError, match="2 numbers were expected, 3 came"):
                await embedder.embed(["b"])


async def test_the_key_is_in_one_header_and_in_no_log_error_or_representation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with LoopbackProvider(vectors([1]), Fails(401, f"wrong key {KEY}")) as provider:
        async with embedder_of(provider) as embedder:
            await embedder.embed(["a"])
            with pytest.raises(UpstreamError) as caught:
                await embedder.embed(["a"])
            assert KEY not in repr(embedder)
    assert all(it.places_of(KEY) == ["header authorization"] for it in provider.requests)
    assert KEY not in caplog.text
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=False)
    assert KEY not in "".join(shown.format())
    assert caught.value.__context__ is None


async def test_a_key_is_not_sent_in_the_clear_to_a_host_that_nobody_allowed() -> None:
    provider = compatible_provider("http://embeddings.example/v1", default_model="m")
    async with EndpointEmbedder(provider, key=KEY) as embedder:
        with pytest.raises(Forbidden):
            await embedder.embed(["a"])


async def test_a_key_that_cannot_be_a_header_names_its_setting() -> None:
    with LoopbackProvider(vectors([1])) as provider:
        asked = EndpointEmbedder(provider.as_provider(), key="two words", guard=provider.guard)
        async with asked as embedder:
            with pytest.raises(InvalidFormat) as caught:
                await embedder.embed(["a"])
    assert caught.value.fields["field"] == "embed.key"


async def test_the_settings_open_an_endpoint_on_an_internal_host() -> None:
    with LoopbackProvider(vectors([0, 5])) as provider:
        settings = EmbedSettings(
            kind="endpoint", url=f"{provider.url}/v1", model="small", key=SecretStr(KEY)
        )
        async with open_embedder(settings) as embedder:
            assert embedder is not None
            assert embedder.name == "small@127.0.0.1"
            assert (await embedder.embed([" "])).tolist() == [[0, 1]]
    assert provider.requests[0].body["input"] == ["."]

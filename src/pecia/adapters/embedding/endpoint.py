"""Vectors from any server that speaks OpenAI's embeddings. The texts leave this machine.

The key travels in one header to one origin. It is in no log, no error and no representation.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

import anyio
import httpx2
import orjson

from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.transport import GuardedTransport
from pecia.adapters.models.errors import translate_error
from pecia.adapters.models.key_transport import KeyedTransport, require_valid_key
from pecia.adapters.models.providers import ModelProvider, require_secure_origin
from pecia.kernel.corpus.vectors.embedder import Vectors, normalize
from pecia.kernel.errors import PeciaError, RateLimited, UpstreamError

BACKOFF_INITIAL_S = 0.5
BACKOFF_MAX_S = 30.0


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """How the endpoint is asked. A wait doubles with each retry."""

    timeout_s: float = 30
    retries: int = 3
    batch: int = 64
    backoff_initial_s: float = BACKOFF_INITIAL_S


@dataclass
class EndpointEmbedder:
    """Embeds with one model of one server. Use it as an async context manager."""

    provider: ModelProvider
    language: str = ""
    key: str = field(default="", repr=False)
    options: EndpointOptions = field(default_factory=EndpointOptions)
    guard: EgressGuard = field(default_factory=EgressGuard)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack, repr=False)
    _client: httpx2.AsyncClient | None = field(default=None, repr=False)
    _dimension: int | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The host is part of it: two servers may give one name to two models."""
        return f"{self.provider.default_model}@{httpx2.URL(self.provider.base_url).host}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def dimension(self) -> int:
        if self._dimension is None:
            await self.embed(["dimension"])
        # A successful answer has set it.
        return cast(int, self._dimension)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.zeros((0, await self.dimension()), np.float32)
        size = self.options.batch
        parts = [texts[at : at + size] for at in range(0, len(texts), size)]
        return np.concatenate([await self._embed_with_retry(part) for part in parts])

    async def _embed_with_retry(self, texts: Sequence[str]) -> Vectors:
        wait_s = self.options.backoff_initial_s
        for left in range(self.options.retries, -1, -1):
            try:
                return self._check_vectors(await self._request(texts), len(texts))
            except PeciaError as error:
                if not left or not _is_retryable(error):
                    raise
                asked_s = error.fields.get("retry_after_seconds", 0)
                pause_s = max(wait_s, float(asked_s) if isinstance(asked_s, int) else 0)
                if pause_s > BACKOFF_MAX_S:
                    raise
            await anyio.sleep(pause_s)
            wait_s *= 2
        raise AssertionError("the last attempt returns or raises")

    async def _request(self, texts: Sequence[str]) -> object:
        timeout_s = self.options.timeout_s
        # An empty input is an error to most servers, and a blank text has no meaning anyway.
        said = [text if text.strip() else "." for text in texts]
        body = {
            "model": self.provider.default_model,
            "input": said,
            "encoding_format": "float",
        }
        try:
            with anyio.fail_after(timeout_s):
                answer = await (await self._open()).post(
                    f"{self.provider.base_url}/embeddings",
                    content=orjson.dumps(body),
                    headers={"content-type": "application/json"},
                )
            return _read(answer)
        except (_ErrorStatus, TimeoutError, httpx2.HTTPError, PeciaError) as error:
            failure = translate_error(error, self.provider, timeout_s=timeout_s, key=self.key)
        # Raised out here, it is not linked to the request and what that holds.
        raise failure

    async def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            origin = require_secure_origin(self.provider, self.guard.rules)
            key = require_valid_key(self.key, field="embed.key") if self.key else ""
            header = self.provider.key_header(key) if key else None
            transport = KeyedTransport(GuardedTransport(self.guard), origin, header)
            client = httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False)
            self._client = await self._stack.enter_async_context(client)
        return self._client

    def _check_vectors(self, answer: object, count: int) -> Vectors:
        import numpy as np

        try:
            rows = cast(list[Mapping[str, Any]], cast(Mapping[str, Any], answer)["data"])
            rows = sorted(rows, key=lambda it: int(it.get("index", 0)))
            vectors = np.array([it["embedding"] for it in rows], np.float64)
        except (TypeError, KeyError, ValueError, AttributeError):
            raise self._invalid_answer("it is not a list of embeddings") from None
        if vectors.ndim != 2 or len(vectors) != count:
            raise self._invalid_answer(f"{count} vectors were expected, {len(vectors)} came")
        if not np.isfinite(vectors).all():
            raise self._invalid_answer("a vector holds what is not a number")
        if self._dimension not in (None, vectors.shape[1]):
            raise self._invalid_answer(
                f"vectors of {self._dimension} numbers were expected, {vectors.shape[1]} came"
            )
        self._dimension = vectors.shape[1]
        return normalize(vectors)

    def _invalid_answer(self, why: str) -> UpstreamError:
        return UpstreamError(
            f"the answer of {self.provider.name} is not usable: {why}",
            provider=self.provider.name,
            reason="bad_answer",
            retryable=False,
        )


class _ErrorStatus(Exception):
    """An error status, with the attributes that the mapping of failures reads."""

    def __init__(self, status: int, body: object, retry_after: float | None) -> None:
        super().__init__(status)
        self.status_code = status
        self.body = body
        self.retry_after = retry_after


def _read(answer: httpx2.Response) -> object:
    try:
        body: object = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        body = None
    if answer.is_success:
        return body
    raise _ErrorStatus(answer.status_code, body, _retry_after(answer.headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    said = headers.get("retry-after", "")
    return float(said) if said.isdecimal() else None


def _is_retryable(error: PeciaError) -> bool:
    return isinstance(error, RateLimited) or bool(error.payload()["retryable"])

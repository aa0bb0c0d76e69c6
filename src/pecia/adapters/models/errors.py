"""Maps a provider's failures. Nothing that could hold a key is repeated."""

import math
import re
from collections.abc import Iterator
from typing import cast

import httpx2

from pecia.adapters.models.providers import ModelProvider
from pecia.kernel.errors import PeciaError, RateLimited, Timeout, UpstreamError

DEFAULT_WAIT_S = 30
MAX_WAIT_S = 86_400
MAX_REASON_CHARS = 300

# Providers like to show the wrong key back, whole or in part.
_LIKE_A_KEY = re.compile(r"\b(sk-|AIza|Bearer )[A-Za-z0-9_*.-]{4,}")


def translate_error(
    error: Exception, provider: ModelProvider, *, timeout_s: float, key: str
) -> PeciaError:
    """The failure to raise in place of this one, with no link back to it, and without the key."""
    chain = list(_chain(error))
    ours = next((it for it in chain if isinstance(it, PeciaError)), None)
    if ours is not None:
        return ours
    if any(isinstance(it, TimeoutError | httpx2.TimeoutException) for it in chain):
        return Timeout(
            f"{provider.name} did not answer within {timeout_s:g} s",
            timeout_s=timeout_s,
            provider=provider.name,
        )
    status = next((it for it in map(_status, chain) if it is not None), None)
    if status is None:
        return UpstreamError(
            f"{provider.name} could not be reached, or was not understood",
            provider=provider.name,
            reason=type(chain[-1]).__name__,
        )
    if status == 429:
        return _rate_limited(error, provider)
    return _refusal_error(status, _safe_message(error, key), provider)


def _rate_limited(error: Exception, provider: ModelProvider) -> RateLimited:
    wait_s = _retry_after_s(error)
    message = f"{provider.name} is rate limited; retry in {wait_s} s"
    return RateLimited(message, retry_after_seconds=wait_s, provider=provider.name)


def _refusal_error(status: int, message: str, provider: ModelProvider) -> UpstreamError:
    reasons = {401: "key_refused", 403: "key_refused", 402: "no_credit", 404: "no_such_model"}
    reason = reasons.get(status, "request_refused" if status < 500 else "failed")
    words = {
        "key_refused": "refused the key",
        "no_credit": "says that the account of this key has no credit left",
        "no_such_model": "has no such model",
        "request_refused": f"refused the request: {message}",
        "failed": f"failed with status {status}",
    }
    return UpstreamError(
        f"{provider.name} {words[reason]}",
        provider=provider.name,
        status=status,
        reason=reason,
        retryable=status >= 500 or status == 408,
    )


def _retry_after_s(error: Exception) -> int:
    asked = getattr(error, "retry_after", None)
    if isinstance(asked, int | float) and 0 <= asked <= MAX_WAIT_S:
        return math.ceil(asked)
    return DEFAULT_WAIT_S


def _safe_message(error: Exception, key: str) -> str:
    text = _message_in(getattr(error, "body", None)) or "it did not say why"
    text = _LIKE_A_KEY.sub("…", text.replace(key, "…") if key else text)
    return text if len(text) <= MAX_REASON_CHARS else f"{text[:MAX_REASON_CHARS]}…"


def _message_in(body: object) -> str:
    """Every provider has its own envelope, and all of them have a message somewhere in it."""
    if not isinstance(body, dict):
        return body if isinstance(body, str) else ""
    known = cast(dict[str, object], body)
    return _message_in(known.get("message")) or _message_in(known.get("error"))


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__

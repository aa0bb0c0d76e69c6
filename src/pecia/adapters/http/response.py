"""An answer of the web, and how much of one is waited for."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpFetchLimits:
    """`timeout_s` covers the whole answer, hops and last byte included: a slow drip ends there."""

    max_bytes: int = 10_000_000
    timeout_s: float = 30
    connect_s: float = 10
    hops: int = 5


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """A whole answer. An error status is an answer too; what it means is the caller's to say."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[str, ...] = ()

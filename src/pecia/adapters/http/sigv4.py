"""Signed requests to servers that speak S3, by AWS Signature Version 4. Pure: no clock, no I/O."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qsl, quote

ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY_BODY_SHA256 = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """Who signs. `session` goes with keys that are lent for a while."""

    key_id: str
    secret: str = field(repr=False)
    session: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class UnsignedRequest:
    """A request without a body, as it goes over the wire. Path and query are quoted already."""

    method: str
    host: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def sign_request(ask: UnsignedRequest, keys: AwsKeys, region: str, at: datetime) -> dict[str, str]:
    """The headers of the request, with the signature among them. `at` is in UTC."""
    moment = at.strftime("%Y%m%dT%H%M%SZ")
    headers = {
        **{name.lower(): value for name, value in ask.headers.items()},
        "host": ask.host,
        "x-amz-content-sha256": EMPTY_BODY_SHA256,
        "x-amz-date": moment,
    }
    if keys.session:
        headers["x-amz-security-token"] = keys.session
    names = ";".join(sorted(headers))
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    digest = hashlib.sha256(_canonical_request(ask, headers, names).encode()).hexdigest()
    signature = _mac(
        _signing_key(keys.secret, scope), f"{ALGORITHM}\n{moment}\n{scope}\n{digest}"
    ).hex()
    headers["authorization"] = (
        f"{ALGORITHM} Credential={keys.key_id}/{scope},SignedHeaders={names},Signature={signature}"
    )
    return headers


def quote_key(text: str) -> str:
    """As these servers spell a key in a path: everything but letters, digits, `-._~` and `/`."""
    return quote(text, safe="/-._~")


def _canonical_request(ask: UnsignedRequest, headers: Mapping[str, str], names: str) -> str:
    lines = [f"{name}:{' '.join(headers[name].split())}" for name in names.split(";")]
    return "\n".join(
        (ask.method, ask.path, _sort_query(ask.query), *lines, "", names, EMPTY_BODY_SHA256)
    )


def _sort_query(query: str) -> str:
    pairs = [
        (quote(name, safe="-._~"), quote(value, safe="-._~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    return key


def _mac(key: bytes, message: str) -> bytes:
    return hmac.digest(key, message.encode(), "sha256")

"""What an issuer's JWK set says, and which of its keys goes with a token.

Pure. It takes over public keys only: never a private one, and never a symmetric one.
"""

import json
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from typing import TypeAlias, cast

from joserfc.errors import JoseError
from joserfc.jwk import Key, import_key

from pecia.kernel.errors import Json, UpstreamError
from pecia.kernel.identity.token_error import invalid_token

MAX_JWKS_BYTES = 256 * 1024
MIN_RSA_BITS = 2048

_Shape: TypeAlias = tuple[str, str | None]

# The key type and curve that each algorithm needs. None is symmetric: a public key must not pass
# for a shared secret.
KEY_SHAPE_BY_ALGORITHM: dict[str, _Shape] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
_SHAPES = frozenset(KEY_SHAPE_BY_ALGORITHM.values())
_PUBLIC_MEMBERS = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}


@dataclass(frozen=True, slots=True)
class Jwk:
    """One key that may verify signatures."""

    kid: str | None
    algorithm: str | None
    shape: _Shape
    key: Key

    def fits(self, algorithm: str) -> bool:
        has_the_shape = KEY_SHAPE_BY_ALGORITHM.get(algorithm) == self.shape
        return has_the_shape and self.algorithm in (None, algorithm)


def canonical_algorithm(name: str) -> str:
    """RFC 9864 gave EdDSA with this curve a name of its own; the signature is the same."""
    return "EdDSA" if name == "Ed25519" else name


def choose_key(keys: tuple[Jwk, ...], kid: str | None, algorithm: str) -> Jwk | None:
    """The one key that fits, or None when only a newer key set could tell."""
    named = [key for key in keys if kid is None or key.kid == kid]
    fitting = [key for key in named if key.fits(algorithm)]
    if kid is not None and named and not fitting:
        raise invalid_token("the token's algorithm is not that of its key")
    if len(fitting) > 1:
        raise invalid_token("the token does not say which of its issuer's keys signed it")
    return fitting[0] if fitting else None


def parse_key_set(body: bytes) -> tuple[Jwk, ...]:
    """The keys we can use. Others are passed over, as RFC 7517 asks, so that they hide none."""
    if len(body) > MAX_JWKS_BYTES:
        raise UpstreamError(f"the key set has {len(body)} bytes, at most {MAX_JWKS_BYTES} are read")
    entries = _entries(body)
    if entries is None:
        raise UpstreamError('the key set is not a JSON object with a list of "keys"')
    published = [_parse_key(entry) for entry in entries if isinstance(entry, dict)]
    return tuple(key for key in published if key is not None)


def _entries(body: bytes) -> list[Json] | None:
    try:
        # This union is all that json.loads makes.
        document = cast(Json, json.loads(body))
    except (ValueError, RecursionError):
        return None
    entries = document.get("keys") if isinstance(document, dict) else None
    return entries if isinstance(entries, list) else None


def _parse_key(entry: dict[str, Json]) -> Jwk | None:
    shape = _shape(entry)
    key = _import_key(entry, shape[0]) if shape and _may_verify(entry) else None
    if shape is None or key is None:
        return None
    kid, algorithm = entry.get("kid"), entry.get("alg")
    return Jwk(
        kid=kid if isinstance(kid, str) else None,
        algorithm=canonical_algorithm(algorithm) if isinstance(algorithm, str) else None,
        shape=shape,
        key=key,
    )


def _shape(entry: dict[str, Json]) -> _Shape | None:
    kind, curve = entry.get("kty"), entry.get("crv")
    return next((it for it in _SHAPES if it[0] == kind and it[1] in (None, curve)), None)


def _may_verify(entry: dict[str, Json]) -> bool:
    operations = entry.get("key_ops", ["verify"])
    verifies = isinstance(operations, list) and "verify" in operations
    return verifies and entry.get("use", "sig") == "sig"


def _import_key(entry: dict[str, Json], kind: str) -> Key | None:
    members: dict[str, str | list[str]] = {"kty": kind}
    for name in _PUBLIC_MEMBERS[kind]:
        value = entry.get(name)
        if not isinstance(value, str):
            return None
        members[name] = value
    try:
        if kind == "RSA" and _bits(str(members["n"])) < MIN_RSA_BITS:
            return None
        return import_key(members)
    except (JoseError, ValueError):
        return None


def _bits(number: str) -> int:
    return int.from_bytes(urlsafe_b64decode(number + "==")).bit_length()

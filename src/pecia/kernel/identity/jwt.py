"""A signed JSON web token taken apart, and its signature checked against a given key.

Pure. It takes neither a key nor an address from the token, whatever `jku`, `x5u` or `jwk` say.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import Key
from joserfc.jws import CompactSignature, JWSRegistry, extract_compact, validate_compact

from pecia.kernel.errors import Json
from pecia.kernel.identity.jwk import canonical_algorithm
from pecia.kernel.identity.token_error import invalid_token

# Other types of signed JSON (logout tokens, proofs of possession) are made for other readers.
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
# `crit` and `b64` change what is signed; the others announce a token inside the token.
_REFUSED_HEADERS = frozenset({"crit", "b64", "enc", "zip", "cty"})


@dataclass(frozen=True, slots=True)
class SignedToken:
    """A token taken apart. Nothing in it is true before `prove` has returned."""

    algorithm: str
    kid: str | None
    claims: dict[str, Json]
    signed: CompactSignature
    content: str

    @property
    def fingerprint(self) -> str:
        """A name for a token that has none.

        Made of what was signed, without the signature: an ECDSA signature has a twin that is as
        good, and a revoked token must not come back under another name.
        """
        return f"sha256:{sha256(self.content.encode('ascii')).hexdigest()}"


def parse_jwt(token: str) -> SignedToken:
    """Take a token apart, and refuse at once what no key could make acceptable."""
    try:
        signed = extract_compact(token.encode("ascii"), registry=_Registry())
        # The library says these are a dict of anything; they are any JSON at all.
        header = cast(Json, signed.headers())
        claims = cast(Json, json.loads(signed.payload))
    except (JoseError, TypeError, ValueError, RecursionError) as error:
        raise invalid_token("the token is not a signed JSON web token") from error
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise invalid_token("the token's header and claims must be JSON objects")
    _refuse_header(header)
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or not isinstance(kid, str | None):
        raise invalid_token("the token's header must name its algorithm and key by text")
    return SignedToken(
        canonical_algorithm(algorithm), kid, claims, signed, token.rpartition(".")[0]
    )


def verify_signature(token: SignedToken, key: Key) -> None:
    """Return when this key signed this token by the algorithm it names."""
    registry = _Registry(algorithms=[_library_name(token.algorithm)], strict_check_header=False)
    try:
        is_genuine = validate_compact(token.signed, key, registry=registry)
    except (JoseError, ValueError) as error:
        raise invalid_token("the token's signature cannot be checked") from error
    if not is_genuine:
        raise invalid_token("the token's signature is not its issuer's")


class _Registry(JWSRegistry):
    """The library's checks, with a size limit that fits the certificates in some headers."""

    max_header_length = 8 * 1024
    max_signature_length = 2 * 1024

    def get_alg(self, name: str) -> JWSAlgModel:
        return super().get_alg(_library_name(name))


def _library_name(algorithm: str) -> str:
    # By its older name, which most issuers still write, the library warns at every use.
    return "Ed25519" if algorithm == "EdDSA" else algorithm


def _refuse_header(header: dict[str, Json]) -> None:
    found = sorted(_REFUSED_HEADERS & header.keys())
    if found:
        raise invalid_token(f"the token's header has {', '.join(found)}, which is not accepted")
    kind = header.get("typ", "JWT")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise invalid_token("the token is of a type made for another reader")

"""The text of a personal access token: made here, and refused here when mistyped, without any I/O.

It never says whether a token is known, alive or whose: that is the store's answer to its digest.
"""

import hmac
import re
import secrets
from hashlib import sha256
from typing import NewType
from zlib import crc32

from pecia.kernel.identity.token_error import invalid_token

PatDigest = NewType("PatDigest", bytes)

PREFIX = "peciapat_"
ENTROPY_BYTES = 32

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# 62 ** 43 is just above 2 ** 256, and 62 ** 6 above 2 ** 32.
_BODY_LENGTH = 43
_CHECKSUM_LENGTH = 6
_LENGTH = len(PREFIX) + _BODY_LENGTH + _CHECKSUM_LENGTH
_SHAPE = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_BODY_LENGTH + _CHECKSUM_LENGTH}}}")


def mint() -> str:
    """A new token. The only copy: what is kept is its digest."""
    return encode(secrets.token_bytes(ENTROPY_BYTES))


def encode(entropy: bytes) -> str:
    """The token of these 256 bits, with a checksum that catches every slip of one character."""
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"a token is made of {ENTROPY_BYTES} bytes")
    body = PREFIX + _base62(int.from_bytes(entropy), _BODY_LENGTH)
    return body + _checksum(body)


def is_pat(bearer: str) -> bool:
    """Whether this credential claims to be one of ours, rather than an issuer's token."""
    return bearer.startswith(PREFIX)


def check(text: str) -> PatDigest:
    """The digest under which a well-formed token is stored, or AuthRequired."""
    if len(text) != _LENGTH or not _SHAPE.fullmatch(text):
        raise invalid_token(
            f"not an access token: expected {PREFIX} and {_LENGTH - len(PREFIX)} letters or digits"
        )
    body, checksum = text[:-_CHECKSUM_LENGTH], text[-_CHECKSUM_LENGTH:]
    if not hmac.compare_digest(_checksum(body), checksum):
        raise invalid_token("the access token is mistyped: its checksum does not fit")
    # A plain hash is enough for 256 random bits, and looking it up leaks no prefix of the token.
    return PatDigest(sha256(text.encode("ascii")).digest())


def hint(text: str) -> str:
    """The last four characters, to tell one token from another in a list."""
    check(text)
    return text[-4:]


def _checksum(body: str) -> str:
    return _base62(crc32(body.encode("ascii")), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits: list[str] = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))

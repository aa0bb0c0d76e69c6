"""Boxes: sealed with a public key by who cannot open them, opened by who holds the private one.

X25519 with a fresh key for each box, then AES-GCM. Pure but for random numbers.
"""

import secrets
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PUBLIC_BYTES = 32
NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class SealedBox:
    """What is stored. The first bytes of `content` are the public half of the box's own key."""

    nonce: bytes = field(repr=False)
    content: bytes = field(repr=False)


def derive_public_key(private: bytes) -> bytes:
    """What may be given away."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def seal_box(public: bytes, bound_to: bytes, plaintext: bytes) -> SealedBox:
    """Seal for the holder of the private key, bound to `bound_to`."""
    own = X25519PrivateKey.generate()
    mine = own.public_key().public_bytes_raw()
    shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    nonce = secrets.token_bytes(NONCE_BYTES)
    return SealedBox(
        nonce, mine + _cipher(shared, mine, public).encrypt(nonce, plaintext, bound_to)
    )


def open_box(private: bytes, bound_to: bytes, box: SealedBox) -> bytes | None:
    """The plaintext; None when anything at all was changed."""
    theirs, ciphertext = box.content[:PUBLIC_BYTES], box.content[PUBLIC_BYTES:]
    try:
        shared = X25519PrivateKey.from_private_bytes(private).exchange(
            X25519PublicKey.from_public_bytes(theirs)
        )
        cipher = _cipher(shared, theirs, derive_public_key(private))
        return cipher.decrypt(box.nonce, ciphertext, bound_to)
    except (InvalidTag, ValueError):
        return None


def _cipher(shared: bytes, one: bytes, other: bytes) -> AESGCM:
    # Both halves are part of the key, so that a box cannot be given another sender.
    info = b"pecia.v1\0box\0" + one + other
    return AESGCM(HKDF(hashes.SHA256(), 32, None, info).derive(shared))

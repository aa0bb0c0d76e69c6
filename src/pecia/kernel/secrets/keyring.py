"""The keys of a process, and what it seals and signs with them.

Pure but for random numbers. A sealed secret opens only under its purpose and for the row it was
sealed for. No key and no plaintext is ever in a repr or an error.
"""

import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pecia.kernel.errors import Conflict, Forbidden, InvalidEnum, NotFound, Unprocessable
from pecia.kernel.secrets.sealed_box import SealedBox, derive_public_key, open_box, seal_box

KEY_BYTES = 32
NONCE_BYTES = 12


class Purpose(StrEnum):
    """What a key is for: credentials of sources, credentials of upstreams, our own signatures."""

    SOURCE = "source"
    UPSTREAM = "upstream"
    SIGNING = "signing"

    @classmethod
    def from_name(cls, name: str) -> "Purpose":
        if name not in cls.__members__.values():
            allowed = ", ".join(cls)
            raise InvalidEnum(
                f"purpose must be one of {allowed}; got {name!r}",
                field="purpose",
                allowed=[it.value for it in cls],
            )
        return cls(name)


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret as it is stored."""

    key_id: str
    nonce: bytes = field(repr=False)
    ciphertext: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SealingKey:
    """With this anybody can seal for a purpose; only who holds the key of this id can open."""

    key_id: str
    public: bytes

    def seal(self, purpose: Purpose, identity: bytes, plaintext: bytes) -> SealedSecret:
        """Encrypt for the row that `identity` names, and for no other."""
        box = seal_box(self.public, _bound_to(purpose, self.key_id, identity), plaintext)
        return SealedSecret(self.key_id, box.nonce, box.content)


@dataclass(frozen=True, slots=True)
class KeyringSignature:
    """A signature of ours. It is a bearer secret, so it is not shown either."""

    key_id: str
    mac: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PurposeKeys:
    """The keys of one purpose: the current one makes, the older ones still read."""

    current_id: str
    key_by_id: Mapping[str, bytes] = field(repr=False)

    @property
    def current(self) -> bytes:
        return self.key_by_id[self.current_id]

    def rotate(self) -> "PurposeKeys":
        key_id = secrets.token_hex(8)
        return PurposeKeys(key_id, {**self.key_by_id, key_id: secrets.token_bytes(KEY_BYTES)})


class Keyring:
    """The keys this process holds. Immutable: rotating gives another keyring."""

    __slots__ = ("_keys_by_purpose",)

    def __init__(self, keys_by_purpose: Mapping[Purpose, PurposeKeys]) -> None:
        self._keys_by_purpose = dict(keys_by_purpose)

    @classmethod
    def fresh(cls, purposes: Iterable[str] = tuple(Purpose)) -> "Keyring":
        """One new key for each purpose."""
        return cls({Purpose.from_name(name): PurposeKeys("", {}).rotate() for name in purposes})

    @property
    def purposes(self) -> frozenset[Purpose]:
        return frozenset(self._keys_by_purpose)

    def keys(self, purpose: Purpose) -> PurposeKeys:
        """The keys of this purpose, or Forbidden when this process was not given them."""
        keys = self._keys_by_purpose.get(purpose)
        if keys is None:
            raise Forbidden(
                f"this process has no {purpose} keys",
                hint="On a server only workers hold the keys of sources, in keys.json of their "
                "home. A server without any: start it once with its own home.",
            )
        return keys

    def with_missing_keys(self, purposes: Iterable[str]) -> "Keyring":
        """With a new key for each of these purposes that has none."""
        return Keyring({**Keyring.fresh(purposes)._keys_by_purpose, **self._keys_by_purpose})

    def restrict_to(self, purposes: Iterable[str]) -> "Keyring":
        """What another process may hold; the rest cannot be had from it."""
        wanted = [Purpose.from_name(name) for name in purposes]
        return Keyring({purpose: self.keys(purpose) for purpose in wanted})

    def rotate(self, purpose: Purpose) -> "Keyring":
        """A new current key. What the older ones made can still be read."""
        return Keyring({**self._keys_by_purpose, purpose: self.keys(purpose).rotate()})

    def retire(self, purpose: Purpose, key_id: str) -> "Keyring":
        """Without an older key. What it sealed, and nobody sealed again, is lost for good."""
        keys = self.keys(purpose)
        if key_id not in keys.key_by_id:
            raise NotFound(
                f"there is no {purpose} key {key_id!r}",
                key_id=key_id,
                available=[*keys.key_by_id],
                hint=f"The {purpose} keys of this home: {', '.join(keys.key_by_id)}.",
            )
        if key_id == keys.current_id:
            raise Conflict(f"key {key_id} is the current {purpose} key; rotate first")
        kept = {name: key for name, key in keys.key_by_id.items() if name != key_id}
        return Keyring({**self._keys_by_purpose, purpose: PurposeKeys(keys.current_id, kept)})

    def seal(self, purpose: Purpose, identity: bytes, plaintext: bytes) -> SealedSecret:
        """Encrypt for the row that `identity` names, and for no other."""
        keys = self.keys(purpose)
        nonce = secrets.token_bytes(NONCE_BYTES)
        bound_to = _bound_to(purpose, keys.current_id, identity)
        ciphertext = _cipher(keys.current).encrypt(nonce, plaintext, bound_to)
        return SealedSecret(keys.current_id, nonce, ciphertext)

    def open(self, purpose: Purpose, identity: bytes, sealed: SealedSecret) -> bytes:
        """The plaintext, or Unprocessable when anything at all was changed."""
        key = self._key_of(purpose, sealed)
        bound_to = _bound_to(purpose, sealed.key_id, identity)
        try:
            return _cipher(key).decrypt(sealed.nonce, sealed.ciphertext, bound_to)
        except (InvalidTag, ValueError):
            raise _tampered_error(purpose, sealed) from None

    def sealing_key(self, purpose: Purpose) -> SealingKey:
        """What others need to seal for this purpose, and cannot open anything with."""
        keys = self.keys(purpose)
        return SealingKey(keys.current_id, derive_public_key(_derive(keys.current, b"box")))

    def open_sealed_box(self, purpose: Purpose, identity: bytes, sealed: SealedSecret) -> bytes:
        """What a sealing key sealed, or Unprocessable when anything at all was changed."""
        key = self._key_of(purpose, sealed)
        bound_to = _bound_to(purpose, sealed.key_id, identity)
        box = SealedBox(sealed.nonce, sealed.ciphertext)
        plaintext = open_box(_derive(key, b"box"), bound_to, box)
        if plaintext is None:
            raise _tampered_error(purpose, sealed)
        return plaintext

    def is_old(self, purpose: Purpose, sealed: SealedSecret) -> bool:
        """Whether its key was rotated since, so that it should be sealed again."""
        return sealed.key_id != self.keys(purpose).current_id

    def reseal(self, purpose: Purpose, identity: bytes, sealed: SealedSecret) -> SealedSecret:
        """The same secret under the current key."""
        return self.seal(purpose, identity, self.open(purpose, identity, sealed))

    def sign(self, context: str, message: bytes) -> KeyringSignature:
        """HMAC-SHA-256 under a key of this context, so that a cursor never passes for a link."""
        keys = self.keys(Purpose.SIGNING)
        return KeyringSignature(keys.current_id, _mac(keys.current, context, message))

    def is_valid_signature(self, context: str, message: bytes, signature: KeyringSignature) -> bool:
        """Whether `sign` made this signature, with a key that is not retired."""
        key = self.keys(Purpose.SIGNING).key_by_id.get(signature.key_id)
        return key is not None and hmac.compare_digest(_mac(key, context, message), signature.mac)

    def _key_of(self, purpose: Purpose, sealed: SealedSecret) -> bytes:
        key = self.keys(purpose).key_by_id.get(sealed.key_id)
        if key is None:
            raise Unprocessable(
                f"a sealed {purpose} secret needs the key {sealed.key_id!r}, which is not in the "
                "keys.json of this home",
                key_id=sealed.key_id,
                hint="Copy keys.json from the home that sealed it, or from its backup; without it "
                "the secret must be entered again.",
            )
        return key

    def __repr__(self) -> str:
        return f"Keyring({', '.join(sorted(self._keys_by_purpose))})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a keyring does not leave its process")


def _tampered_error(purpose: Purpose, sealed: SealedSecret) -> Unprocessable:
    return Unprocessable(
        f"a sealed {purpose} secret does not open: it was changed, or belongs elsewhere",
        key_id=sealed.key_id,
    )


def _cipher(key: bytes) -> AESGCM:
    return AESGCM(_derive(key, b"seal"))


def _mac(key: bytes, context: str, message: bytes) -> bytes:
    return hmac.digest(_derive(key, b"sign\0" + context.encode()), message, "sha256")


def _derive(key: bytes, use: bytes) -> bytes:
    # No two uses share key bytes, so that what one does can never weaken another.
    return hmac.digest(key, b"pecia.v1\0" + use, "sha256")


def _bound_to(purpose: Purpose, key_id: str, identity: bytes) -> bytes:
    # The parts before the last hold no zero byte, so that no two triples give the same bytes.
    return b"\0".join((purpose.encode(), key_id.encode(), identity))

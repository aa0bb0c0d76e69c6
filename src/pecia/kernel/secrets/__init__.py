"""Sealed credentials and signatures of our own: the keyring, and the file it is kept in."""

from pecia.kernel.secrets.keyring import (
    Keyring,
    KeyringSignature,
    Purpose,
    SealedSecret,
    SealingKey,
)

__all__ = ["Keyring", "KeyringSignature", "Purpose", "SealedSecret", "SealingKey"]

"""Sealed credentials and signatures of our own: the keyring, and the file it is kept in."""

from pecia.kernel.secrets.keyring import Keyring, Purpose, Sealed, SealingKey, Signature

__all__ = ["Keyring", "Purpose", "Sealed", "SealingKey", "Signature"]

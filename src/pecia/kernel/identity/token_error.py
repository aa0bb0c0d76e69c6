"""The one way to refuse a credential that came and is not good. It never repeats the credential."""

from pecia.kernel.errors import AuthRequired


def invalid_token(message: str) -> AuthRequired:
    """`challenge` is what RFC 6750 has a door say in `WWW-Authenticate`: `error="invalid_token"`.

    A door that got no credential at all raises AuthRequired without it.
    """
    return AuthRequired(message, challenge="invalid_token")

"""Refuses an invalid credential. The error never repeats the credential."""

from pecia.kernel.errors import AuthRequired


def invalid_token(message: str) -> AuthRequired:
    """`challenge` goes into `WWW-Authenticate` by RFC 6750: `error="invalid_token"`.

    Without any credential, AuthRequired is raised without it.
    """
    return AuthRequired(message, challenge="invalid_token")

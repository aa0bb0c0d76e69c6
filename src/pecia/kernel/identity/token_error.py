"""Refuses an invalid credential. The error never repeats the credential."""

from collections.abc import Mapping

from pecia.kernel.errors import AuthRequired

TENANT_SUSPENDED = "this tenant is suspended"
NEW_TOKEN_HINT = (
    "Make another, or ask an administrator of your tenant: pecia token make LABEL. A command takes "
    "it from PECIA_TOKEN."
)
REFUSAL_HINTS: Mapping[str, str] = {
    "this token was revoked": NEW_TOKEN_HINT,
    "this token has expired": NEW_TOKEN_HINT,
    "this user is disabled": "No token helps. Ask an administrator of your tenant: "
    "pecia user set NAME --status active",
    TENANT_SUSPENDED: "No token helps. Ask the operator: pecia tenant resume NAME",
    "this tenant is being deleted": "No token helps: nothing of it can be used any more.",
}
"""What helps, by the reason that `kernel.enter` and `kernel.authenticate` give."""


def refused_token(reason: str) -> AuthRequired:
    """A token that is known and lets nobody in, with what does."""
    hint = REFUSAL_HINTS.get(reason)
    return AuthRequired(reason, challenge="invalid_token", **({"hint": hint} if hint else {}))


def invalid_token(message: str) -> AuthRequired:
    """`challenge` goes into `WWW-Authenticate` by RFC 6750: `error="invalid_token"`.

    Without any credential, AuthRequired is raised without it.
    """
    return AuthRequired(message, challenge="invalid_token")

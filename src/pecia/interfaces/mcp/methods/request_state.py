"""Signs the request state that a client returns in the next round: no tampering, no sharing."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.request_state import (
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
)

from pecia.interfaces.mcp.request_context import get_request_context
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
from pecia.kernel.secrets.keyring import Keyring, KeyringSignature

SIGNING_CONTEXT = "mcp.request_state"
TTL_S = 600.0


@dataclass(frozen=True, slots=True)
class KeyringCodec:
    """Signs with the server's keyring: every node accepts the state of another."""

    keyring: Keyring

    def seal(self, payload: bytes) -> str:
        made = self.keyring.sign(SIGNING_CONTEXT, payload)
        return ".".join((made.key_id, _encode(made.mac), _encode(payload)))

    def unseal(self, token: str) -> bytes:
        try:
            key_id, mac, payload = token.split(".")
            signature, message = KeyringSignature(key_id, _decode(mac)), _decode(payload)
        except ValueError:
            raise InvalidRequestState("malformed") from None
        if not self.keyring.is_valid_signature(SIGNING_CONTEXT, message, signature):
            raise InvalidRequestState("seal")
        return message


def request_state_middleware(keyring: Keyring, endpoint: McpEndpoint) -> RequestStateBoundary:
    """Binds a state to its caller, request, endpoint and TTL."""
    security = RequestStateSecurity(codec=KeyringCodec(keyring), ttl=TTL_S, bind_principal=_owner)
    return RequestStateBoundary(security, default_audience=endpoint.toolset)


def _owner(ctx: ServerRequestContext[Any, Any]) -> str:
    return get_request_context(ctx).owner


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """Strict base64: one state must have one encoding."""
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _encode(data) != text:
        raise ValueError("not canonical")
    return data

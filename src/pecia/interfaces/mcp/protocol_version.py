"""The two eras of the protocol: with a handshake and sessions, and without. Pure."""

from collections.abc import Mapping
from typing import Any, cast

from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

BATCH_VERSION = "2025-03-26"
"""The one revision that knows batches, and what a client speaks that names no revision."""


def is_modern(version: str) -> bool:
    """Whether a revision is of the era without sessions."""
    return version in MODERN_PROTOCOL_VERSIONS


def speaks_modern(header: str | None, message: Any) -> bool:
    """Whether a request is to be judged by the rules of the newer era.

    A revision that nobody knows is, because that era has an error for it.
    """
    if header is not None:
        return header not in HANDSHAKE_PROTOCOL_VERSIONS
    return PROTOCOL_VERSION_META_KEY in _meta(message)


def _meta(message: Any) -> Mapping[str, Any]:
    params = cast(Any, message).get("params") if isinstance(message, dict) else None
    meta = cast(Any, params).get("_meta") if isinstance(params, dict) else None
    return cast(Mapping[str, Any], meta) if isinstance(meta, dict) else {}

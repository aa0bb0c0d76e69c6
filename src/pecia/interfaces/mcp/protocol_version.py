"""The two eras of the protocol: legacy with handshake and sessions, modern without. Pure."""

from collections.abc import Mapping
from typing import Any, cast

from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

BATCH_VERSION = "2025-03-26"
"""The only revision with batches, and the default of a client that names none."""


def is_modern(version: str) -> bool:
    """Whether a revision is modern: without sessions."""
    return version in MODERN_PROTOCOL_VERSIONS


def speaks_modern(header: str | None, message: Any) -> bool:
    """Whether a request is handled by the modern rules.

    An unknown revision is, because that era has an error for it.
    """
    if header is not None:
        return header not in HANDSHAKE_PROTOCOL_VERSIONS
    return PROTOCOL_VERSION_META_KEY in _meta(message)


def _meta(message: Any) -> Mapping[str, Any]:
    params = cast(Any, message).get("params") if isinstance(message, dict) else None
    meta = cast(Any, params).get("_meta") if isinstance(params, dict) else None
    return cast(Mapping[str, Any], meta) if isinstance(meta, dict) else {}

"""Secrets in text and in JSON, found by shape and by name. Pure, and the floor of the kernel."""

from pecia.kernel.redaction.names import is_secret_name
from pecia.kernel.redaction.text import REDACTED, redact
from pecia.kernel.redaction.values import redact_value

__all__ = ["REDACTED", "is_secret_name", "redact", "redact_value"]

"""Secrets in text and in JSON, found by shape and by name. Pure, and the floor of the kernel."""

from pecia.kernel.redaction.names import names_secret
from pecia.kernel.redaction.text import REDACTED, redact
from pecia.kernel.redaction.values import redact_value

__all__ = ["REDACTED", "names_secret", "redact", "redact_value"]

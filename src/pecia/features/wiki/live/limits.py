"""Limits of live documents. What exceeds one is refused with an error that names it."""

from dataclasses import dataclass

from pecia.features.wiki.settings import WikiSettings

DEBOUNCE_S = 2.0
"""Debounce: flushed after this quiet period."""
MAX_DEBOUNCE_S = 10.0
"""Maximum delay of a flush under constant edits."""
IDLE_TIMEOUT_S = 30.0
"""An idle document is closed after so long."""
POLL_INTERVAL_S = 1.0
"""Poll interval of an open document: its file may have changed."""
RIGHTS_POLL_S = 10.0
"""How often rights are rechecked for an idle editor that asked to hear of them."""
RETENTION_DAYS = 30
"""Merge history is kept for editors that reconnect within so many days."""
GONE_RETENTION_S = 600.0
"""The same where a program removed the file: one that writes it again within so long, as a checkout
or a program that syncs folders does, goes on with what was there."""
MAX_STATE_RATIO = 4
"""Maximum size of a document's history, relative to its text."""
MAX_QUEUE_BYTES = 4_000_000
"""Limit of an editor's send queue, and of its unstored updates."""
CLOSE_TIMEOUT_S = 5.0
"""Grace period in which a closed editor receives the reason."""
MAX_AWARENESS_CLIENTS, MAX_AWARENESS_BYTES = 4, 2_000
"""Awareness: clients per editor, and bytes per client."""


@dataclass(frozen=True, slots=True)
class LiveLimits:
    """Limits from the settings."""

    editors: int = 64
    documents: int = 500
    message_bytes: int = 1_000_000
    document_bytes: int = 2_000_000
    messages_per_s: int = 100
    rights_ttl_s: float = 1.0

    @classmethod
    def from_settings(cls, settings: WikiSettings) -> "LiveLimits":
        return cls(
            settings.live_editors,
            settings.live_documents,
            settings.live_message_bytes,
            settings.live_document_bytes,
            settings.live_messages_per_s,
            settings.live_rights_s,
        )

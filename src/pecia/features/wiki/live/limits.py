"""How much of live documents there may be. What is over a bound is refused, and says which."""

from dataclasses import dataclass

from pecia.features.wiki.settings import WikiSettings

DEBOUNCE_S = 2.0
"""A document that nobody changed for so long is filed."""
MAX_DEBOUNCE_S = 10.0
"""And one that is changed all the time, every so often."""
IDLE_TIMEOUT_S = 30.0
"""A document that nobody has open is let go of after so long."""
POLL_INTERVAL_S = 1.0
"""How often an open document is looked at without a reason: its file may have changed."""
RETENTION_DAYS = 30
"""What is needed to merge is kept for editors that come back within so many days."""
MAX_STATE_RATIO = 4
"""A document's history may be so many times as large as its text."""
MAX_QUEUE_BYTES = 4_000_000
"""What waits to be sent to one editor, or to be stored for one."""
CLOSE_TIMEOUT_S = 5.0
"""How long an editor that is told to go may take to hear why."""
MAX_AWARENESS_CLIENTS, MAX_AWARENESS_BYTES = 4, 2_000
"""Where an editor is: for how many of its windows, and how much each may say."""


@dataclass(frozen=True, slots=True)
class LiveLimits:
    """Those that are set for a server."""

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

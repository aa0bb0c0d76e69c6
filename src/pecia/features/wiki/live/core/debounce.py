"""Debounce of flushes: when an open document's file is due. Pure: the time is passed in."""

from dataclasses import dataclass

from pecia.features.wiki.live.limits import DEBOUNCE_S, MAX_DEBOUNCE_S
from pecia.features.wiki.storage.disk import FileStamp


@dataclass(slots=True)
class FlushDebounce:
    """Due after a quiet period, periodically under constant edits, and when the file changed."""

    debounce_s: float = DEBOUNCE_S
    max_debounce_s: float = MAX_DEBOUNCE_S
    _changed_at: float = 0
    _behind_at: float = 0
    _stamp: FileStamp | None = None
    _was_away: bool = False

    def mark_changed(self, now: float, *, was_behind: bool) -> None:
        """A client wrote, to a file that was up to date or `was_behind` already."""
        self._changed_at = now
        if not was_behind:
            self._behind_at = now

    def mark_failed(self, now: float) -> None:
        """Back off: what is in the way may stay for long."""
        self._changed_at = self._behind_at = now

    def is_due(self, now: float, stamp: FileStamp | None, *, is_behind: bool) -> bool:
        """`stamp` is the file's, None where there is none."""
        # Programs that save may delete the file first: it is gone only if it stays missing.
        is_gone = stamp is None and self._was_away
        is_touched = is_gone or stamp not in (None, self._stamp)
        self._was_away, self._stamp = stamp is None, stamp or self._stamp
        is_quiet = now - self._changed_at >= self.debounce_s
        return is_touched or (
            is_behind and (is_quiet or now - self._behind_at >= self.max_debounce_s)
        )

"""When an open document's file is to be brought up to date. Pure: it is told the time."""

from dataclasses import dataclass

from pecia.features.wiki.live.limits import DEBOUNCE_S, MAX_DEBOUNCE_S
from pecia.features.wiki.storage.disk import FileStamp


@dataclass(slots=True)
class FlushDebounce:
    """After a while of quiet, every so often where there is none, and when the file changed."""

    debounce_s: float = DEBOUNCE_S
    max_debounce_s: float = MAX_DEBOUNCE_S
    _changed_at: float = 0
    _behind_at: float = 0
    _stamp: FileStamp | None = None
    _was_away: bool = False

    def mark_changed(self, now: float, *, was_behind: bool) -> None:
        """Somebody wrote, to a file that was up to date or `was_behind` already."""
        self._changed_at = now
        if not was_behind:
            self._behind_at = now

    def mark_failed(self, now: float) -> None:
        """Not again at once: what stands in the way may do so for long."""
        self._changed_at = self._behind_at = now

    def is_due(self, now: float, stamp: FileStamp | None, *, is_behind: bool) -> bool:
        """`stamp` is the file's, None where there is none."""
        # Programs that write a file anew may take it away first: it is gone when it stays away.
        is_gone = stamp is None and self._was_away
        is_touched = is_gone or stamp not in (None, self._stamp)
        self._was_away, self._stamp = stamp is None, stamp or self._stamp
        is_quiet = now - self._changed_at >= self.debounce_s
        return is_touched or (
            is_behind and (is_quiet or now - self._behind_at >= self.max_debounce_s)
        )

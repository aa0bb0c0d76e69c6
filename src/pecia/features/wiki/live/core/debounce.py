"""Debounce of flushes: when an open document's file is due. Pure: the time is passed in."""

from dataclasses import dataclass
from enum import Enum, auto

from pecia.features.wiki.live.limits import DEBOUNCE_S, MAX_DEBOUNCE_S
from pecia.features.wiki.storage.disk import FileStamp


class FlushKind(Enum):
    NONE = auto()
    READ = auto()
    """Merge what programs wrote. Edits that the file lacks can wait."""
    WRITE = auto()
    """Write the edits to the file as well."""


@dataclass(slots=True)
class FlushDebounce:
    """Written after a quiet period, and periodically under constant edits. Read when the file
    changed, and as long as a program may still write one that was replaced."""

    debounce_s: float = DEBOUNCE_S
    max_debounce_s: float = MAX_DEBOUNCE_S
    _changed_at: float = 0
    _behind_at: float = 0
    _read_after: float = 0
    _stamp: FileStamp | None = None
    _was_away: bool = False

    def mark_changed(self, now: float, *, was_behind: bool) -> None:
        """A client wrote, to a file that was up to date or `was_behind` already."""
        self._changed_at = now
        if not was_behind:
            self._behind_at = now

    def mark_written(self, began: float) -> None:
        """The file has everything that was there then: what it lacks is newer."""
        self._behind_at = began

    def mark_failed(self, now: float) -> None:
        """Back off: what is in the way may stay for long."""
        self._changed_at = self._behind_at = now
        self._stamp, self._read_after = None, now + self.max_debounce_s

    def plan(
        self, now: float, stamp: FileStamp | None, *, is_behind: bool, has_copies: bool
    ) -> FlushKind:
        """What is due. `stamp` is the file's, None where there is none."""
        is_quiet = now - self._changed_at >= self.debounce_s
        if is_behind and (is_quiet or now - self._behind_at >= self.max_debounce_s):
            return FlushKind.WRITE
        if now < self._read_after:
            return FlushKind.NONE
        is_touched = self._is_touched(stamp)
        return FlushKind.READ if is_touched or has_copies else FlushKind.NONE

    def _is_touched(self, stamp: FileStamp | None) -> bool:
        # Programs that save may delete the file first: it is gone only if it stays missing.
        is_gone = stamp is None and self._was_away
        is_touched = is_gone or stamp not in (None, self._stamp)
        self._was_away, self._stamp = stamp is None, stamp or self._stamp
        return is_touched

"""When an open document's file is to be brought up to date. Pure: it is told the time."""

from dataclasses import dataclass

from pecia.rooms.wiki.disk import Stamp
from pecia.rooms.wiki.live.bounds import LONGEST_S, QUIET_S


@dataclass(slots=True)
class Pace:
    """After a while of quiet, every so often where there is none, and when the file changed."""

    quiet_s: float = QUIET_S
    longest_s: float = LONGEST_S
    _changed_at: float = 0
    _behind_at: float = 0
    _stamp: Stamp | None = None
    _was_away: bool = False

    def changed(self, now: float, *, was_behind: bool) -> None:
        """Somebody wrote, to a file that was up to date or `was_behind` already."""
        self._changed_at = now
        if not was_behind:
            self._behind_at = now

    def failed(self, now: float) -> None:
        """Not again at once: what stands in the way may do so for long."""
        self._changed_at = self._behind_at = now

    def is_due(self, now: float, stamp: Stamp | None, *, is_behind: bool) -> bool:
        """`stamp` is the file's, None where there is none."""
        # Programs that write a file anew may take it away first: it is gone when it stays away.
        is_gone = stamp is None and self._was_away
        is_touched = is_gone or stamp not in (None, self._stamp)
        self._was_away, self._stamp = stamp is None, stamp or self._stamp
        is_quiet = now - self._changed_at >= self.quiet_s
        return is_touched or (is_behind and (is_quiet or now - self._behind_at >= self.longest_s))

"""Validates an update that an editor sends. Pure: depends on the document alone.

An update is accepted, is known already, comes too early, is not allowed, or closes its socket.
An accepted one is applied to a copy first: one that would not converge everywhere is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from pecia.features.wiki.live.core.crdt import LiveText, is_server_client_id
from pecia.features.wiki.live.core.update import ItemRun, StateVector, YjsUpdate, parse_update
from pecia.features.wiki.live.limits import MAX_STATE_RATIO
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, PayloadTooLarge

MAX_REPAIRS = 100
"""Each costs as much as reading the document."""


class UpdateVerdict(Enum):
    TAKEN = auto()
    KNOWN = auto()
    TOO_EARLY = auto()
    """It refers to something unknown: the editor must send its state vector."""
    NOT_ALLOWED = auto()


@dataclass(slots=True)
class UpdateValidator:
    """Validates the updates of one round, each after those accepted before it."""

    text: LiveText
    """The stored text plus what was accepted. May be dirty after a refused update."""
    owners: Mapping[int, str]
    most_bytes: int
    state_bytes: int
    claimed: dict[int, str] = field(default_factory=dict[int, str])
    """Client ids claimed in this round."""
    is_dirty: bool = False
    repairs: list[bytes] = field(default_factory=list[bytes])
    """Our own updates that precede the last validated one, each stored separately."""

    def require_same_history(self, clocks: StateVector) -> None:
        """After a history reset, an editor must not bring back the old text."""
        known = self.text.state_vector
        if any(is_server_client_id(it) and it not in known for it in clocks):
            raise Conflict("this editor has another history of the document: reload it")

    def validate(self, data: bytes, writer: str, *, may_write: bool) -> UpdateVerdict:
        """The verdict on an editor's update. An invalid one raises."""
        self.repairs = []
        update, known = parse_update(data), self.text.state_vector
        news = update.new_clocks(known)
        if not news and self._is_deleted(update):
            return UpdateVerdict.KNOWN
        if not may_write:
            return UpdateVerdict.NOT_ALLOWED
        self.require_same_history(news)
        if not update.is_causally_complete(known):
            return UpdateVerdict.TOO_EARLY
        self._require_client_owner(news, writer)
        self._require_size(update, len(data))
        self._try(data, update)
        self.state_bytes += len(data)
        self.claimed.update({it: writer for it in news if it not in self.owners})
        return UpdateVerdict.TAKEN

    def reset(self, state: bytes, taken: Sequence[bytes]) -> None:
        """Start again from the stored state and what was accepted."""
        self.text = LiveText(state)
        for it in taken:
            self.text.apply(it)
        self.is_dirty = False

    def _is_deleted(self, update: YjsUpdate) -> bool:
        return not update.deleted or self.text.deleted.covers(update.deleted)

    def _require_client_owner(self, news: StateVector, writer: str) -> None:
        """A client id belongs to its first writer: nobody may write in another's name."""
        for client in news:
            owner = self.owners.get(client) or self.claimed.get(client)
            if is_server_client_id(client) or (owner is not None and owner != writer):
                raise Forbidden("an update uses a client id of another writer")

    def _require_size(self, update: YjsUpdate, size_bytes: int) -> None:
        is_full = self.text.size_bytes + update.size_bytes > self.most_bytes
        if is_full or self.state_bytes + size_bytes > MAX_STATE_RATIO * self.most_bytes:
            raise PayloadTooLarge(
                f"a live document has at most {self.most_bytes} bytes",
                field="update",
                max=self.most_bytes,
            )

    def _try(self, data: bytes, update: YjsUpdate) -> None:
        self._require_whole(update)
        # Until it is known to be good.
        self.is_dirty = True
        self._repair(update)
        if wrong := self.text.order.add_checked(update):
            raise InvalidFormat(wrong, field="update")
        self._apply(data)
        if self.repairs and not self._is_reproducible():
            raise Conflict("an update splits a character: reload the document")
        self.is_dirty = False

    def _is_reproducible(self) -> bool:
        """Whether a client that opens the document reads the same text as the current editors."""
        return str(LiveText(self.text.state)) == str(self.text)

    def _require_whole(self, update: YjsUpdate) -> None:
        """No unknown character may be split: it cannot be repaired here."""
        known, halves = self.text.state_vector, update.halves
        begun = [(it.client, known.get(it.client, 0)) for it in update.written]
        cuts = [it for it in update.cuts if it[1] >= known.get(it[0], 0)]
        if any(it in halves for it in (*cuts, *begun)):
            raise Conflict("an update splits a character: reload the document")

    def _repair(self, update: YjsUpdate) -> None:
        """Delete and reinsert every surrogate pair that an update would split.

        Libraries disagree on what such a split leaves. Among deleted items it leaves nothing, and
        the character is there as before.
        """
        cut = {it for it in update.cuts if it in self.text.halves}
        if len(cut) > MAX_REPAIRS:
            raise Conflict(
                "an update splits too many characters: reload the document",
                max=MAX_REPAIRS,
            )
        for client, clock in sorted(cut):
            if not self.text.deleted.covers([ItemRun(client, clock - 1, clock + 1)]):
                change = self.text.rewrite_character((client, clock - 1))
                self._apply(change)
                self.repairs.append(change)
                self.state_bytes += len(change)

    def _apply(self, change: bytes) -> None:
        try:
            self.text.apply(change)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # The library panics with a BaseException.
            raise InvalidFormat("the CRDT library refuses this update", field="update") from error

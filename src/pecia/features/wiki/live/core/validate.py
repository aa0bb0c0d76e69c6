"""What becomes of a change that an editor sends. Pure: it looks at the document alone.

A change is taken, is old news, comes too early, is not allowed, or ends the socket that sent it.
What is taken is tried at once, on a copy: a change that would not be the same to everybody is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from pecia.features.wiki.live.core.crdt import LiveText, is_server_client_id
from pecia.features.wiki.live.core.update import ItemRun, StateVector, YjsUpdate, parse_update
from pecia.features.wiki.live.limits import MAX_STATE_RATIO
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, PayloadTooLarge

MAX_REPAIRS = 100
"""Each takes as long as reading the document."""


class UpdateVerdict(Enum):
    TAKEN = auto()
    KNOWN = auto()
    TOO_EARLY = auto()
    """It refers to something that never came: the editor has to say what it has."""
    NOT_ALLOWED = auto()


@dataclass(slots=True)
class UpdateValidator:
    """Looks at the changes of one round, each after those that were taken before it."""

    text: LiveText
    """What is stored, and then what was taken too. It may be spoilt by what was not."""
    owners: Mapping[int, str]
    most_bytes: int
    state_bytes: int
    claimed: dict[int, str] = field(default_factory=dict[int, str])
    """Ids that were nobody's until now."""
    is_dirty: bool = False
    repairs: list[bytes] = field(default_factory=list[bytes])
    """Changes of our own that come before the one that was judged last, each for itself."""

    def require_same_history(self, clocks: StateVector) -> None:
        """Of a document that began anew, an editor must not bring the text of before again."""
        known = self.text.state_vector
        if any(is_server_client_id(it) and it not in known for it in clocks):
            raise Conflict(
                "this editor has another history of the document: begin with an empty one"
            )

    def validate(self, data: bytes, writer: str, *, may_write: bool) -> UpdateVerdict:
        """What to do with the change of an editor. A wrong one is raised."""
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
        """Begin again with what is stored and was taken."""
        self.text = LiveText(state)
        for it in taken:
            self.text.apply(it)
        self.is_dirty = False

    def _is_deleted(self, update: YjsUpdate) -> bool:
        return not update.deleted or self.text.deleted.covers(update.deleted)

    def _require_client_owner(self, news: StateVector, writer: str) -> None:
        """An id is its first writer's: nobody puts words into somebody else's mouth."""
        for client in news:
            owner = self.owners.get(client) or self.claimed.get(client)
            if is_server_client_id(client) or (owner is not None and owner != writer):
                raise Forbidden("a change is made under an id that is somebody else's")

    def _require_size(self, update: YjsUpdate, size_bytes: int) -> None:
        is_full = self.text.size_bytes + update.size_bytes > self.most_bytes
        if is_full or self.state_bytes + size_bytes > MAX_STATE_RATIO * self.most_bytes:
            raise PayloadTooLarge(
                f"a document that is edited together has at most {self.most_bytes} bytes",
                field="update",
                max=self.most_bytes,
            )

    def _try(self, data: bytes, update: YjsUpdate) -> None:
        self._require_whole(update)
        # Until it is seen to be good.
        self.is_dirty = True
        self._repair(update)
        if wrong := self.text.order.add_checked(update):
            raise InvalidFormat(wrong, field="update")
        self._apply(data)
        if self.repairs and not self._is_reproducible():
            raise Conflict("a change cuts a character in two: begin with an empty document")
        self.is_dirty = False

    def _is_reproducible(self) -> bool:
        """Whether whoever opens the document reads the same as who has it open."""
        return str(LiveText(self.text.state)) == str(self.text)

    def _require_whole(self, update: YjsUpdate) -> None:
        """No character may be cut in two that is not here yet, and so cannot be mended here."""
        known, halves = self.text.state_vector, update.halves
        begun = [(it.client, known.get(it.client, 0)) for it in update.written]
        cuts = [it for it in update.cuts if it[1] >= known.get(it[0], 0)]
        if any(it in halves for it in (*cuts, *begun)):
            raise Conflict("a change cuts a character in two: begin with an empty document")

    def _repair(self, update: YjsUpdate) -> None:
        """A character of two halves that a change would cut is deleted and written anew.

        The libraries do not agree on what such a cut leaves. Among what is deleted it leaves
        nothing, and the character is there as before.
        """
        cut = {it for it in update.cuts if it in self.text.halves}
        if len(cut) > MAX_REPAIRS:
            raise Conflict(
                "a change cuts too many characters in two: begin with an empty document",
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
            # The library panics with an exception that is no Exception.
            raise InvalidFormat("the library refuses this change", field="update") from error

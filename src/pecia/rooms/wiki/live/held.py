"""A live document in one's hands: the file, what people wrote since, and what one adds. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from pecia.rooms.wiki.history.note import FILE_SYSTEM
from pecia.rooms.wiki.live.rows import Based, Change, Row
from pecia.rooms.wiki.live.text import LiveText, file_id, new_house_id


@dataclass(slots=True)
class Held:
    """`seen` is the state whose text the file has; `now` has everything that was written too."""

    row: Row
    seen: Based
    now: LiveText
    written: Sequence[Change]
    """What was written since the document was filed."""
    added: list[Change] = field(default_factory=list[Change])
    """What is new by our own hand, to be told to everybody."""

    @property
    def text(self) -> str:
        return str(self.now)

    @property
    def file_text(self) -> str:
        return str(LiveText(self.seen.base))

    @property
    def writers(self) -> tuple[str, ...]:
        """Who wrote since the document was filed, each once."""
        return tuple(dict.fromkeys(it.writer for it in (*self.written, *self.added)))

    def rewrite(self, text: str, writer: str) -> None:
        """Make it this text, by somebody who saw all of it."""
        self._add(self.now.rewrite(text), writer)

    def rewrite_file(self, text: str, writer: str) -> None:
        """Make of the file's text this one, by somebody who saw the file alone."""
        # Under a new id: what was written under the old one since, is not in the file.
        change = LiveText(self.seen.base, new_house_id()).rewrite(text)
        if change is not None:
            self.now.apply(change)
        self._add(change, writer)

    def filed(self) -> Based:
        """What the file will hold when everything is in it."""
        return Based(self.now.state, digest_of(self.text))

    def _add(self, change: bytes | None, writer: str) -> None:
        if change is not None:
            self.added.append(Change(writer, change))


def held(row: Row, written: Sequence[Change], on_disk: str | None) -> Held:
    """The document, with what the file says that it did not know; None where there is no file.

    An edit of the file is one of somebody who had the file before them, and not what others wrote
    meanwhile: it is made there and merged, like that of anybody else.
    """
    seen, change = Based(row.base, row.digest), None
    if on_disk is not None and (digest := digest_of(on_disk)) != row.digest:
        reached = _reached(row, written, on_disk)
        state = reached or LiveText(row.base, file_id(row.house_id))
        change = state.rewrite(on_disk)
        seen = Based(state.state, digest)
    now = LiveText(seen.base, row.house_id)
    for it in written:
        now.apply(it.change)
    made = Held(row, seen, now, written)
    if change is not None:
        made.added.append(Change(FILE_SYSTEM, change))
    return made


def digest_of(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _reached(row: Row, written: Sequence[Change], on_disk: str) -> LiveText | None:
    """The state that the file has, where we wrote it ourselves and died before we put that down."""
    state = LiveText(row.base)
    for it in written:
        state.apply(it.change)
        if str(state) == on_disk:
            return state
    return None

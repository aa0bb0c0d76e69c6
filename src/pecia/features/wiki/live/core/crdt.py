"""A text that several hands change: the CRDT, and nothing of where it is kept. Pure.

It belongs to one event loop. Our own edits are made under an id of ours, by whoever has the
document to themselves; nobody else may write under such an id.
"""

import secrets
from collections.abc import Sequence
from hashlib import sha256

import pycrdt

from pecia.features.wiki.live.core.lib0 import encode_varuint
from pecia.features.wiki.live.core.order import Order
from pecia.features.wiki.live.core.update import (
    TEXT_NAME,
    ItemId,
    RunSet,
    StateVector,
    YjsUpdate,
    parse_deletions,
    parse_state_vector,
    parse_update,
)
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.text.diff.diff import diff_edits
from pecia.kernel.text.span import Edit

# The upper bits of the ids that we give ourselves. Those of others are drawn by lot.
SERVER_ID_MARK = 0x16EC1A << 32


def new_server_client_id() -> int:
    """An id to make edits under; a new one for each document, and each time it is begun."""
    return SERVER_ID_MARK | secrets.randbits(31) << 1


def file_client_id(house_id: int) -> int:
    """The id beside it, for what is read from the file."""
    return house_id | 1


def is_server_client_id(client: int) -> bool:
    return client >> 32 == SERVER_ID_MARK >> 32


class LiveText:
    """A state of the text, with the history that is needed to merge."""

    def __init__(self, state: bytes | None = None, house_id: int | None = None) -> None:
        self._doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc(client_id=house_id)
        self._text = self._doc.get(TEXT_NAME, type=pycrdt.Text)
        self._deleted: RunSet | None = None
        self._halves: set[ItemId] | None = None
        self._order: Order | None = None
        if state is not None:
            self._doc.apply_update(state)

    @classmethod
    def create(cls, text: str, house_id: int) -> "LiveText":
        """A document that begins with this text."""
        made = cls(house_id=house_id)
        # Also one without a word has a mark of ours, by which its history is told from others.
        with made._doc.transaction():
            made._text.insert(0, text or "\n")
            if not text:
                del made._text[0:1]
        return made

    def __str__(self) -> str:
        return str(self._text)

    @property
    def size_bytes(self) -> int:
        return len(self._text)

    @property
    def state(self) -> bytes:
        """All of it, for somebody who has nothing."""
        return self._doc.get_update()

    @property
    def encoded_state_vector(self) -> bytes:
        """What is in it, as it is told to others."""
        return self._doc.get_state()

    @property
    def state_vector(self) -> StateVector:
        return parse_state_vector(self._doc.get_state())

    @property
    def deleted(self) -> RunSet:
        """All that was deleted so far."""
        if self._deleted is None:
            self._deleted = RunSet(parse_deletions(self._doc.get_update(self._doc.get_state())))
        return self._deleted

    def offset(self, spot: ItemId) -> int:
        """A number by which spots that are known can be ordered; the same for what is deleted and
        for what follows it."""
        client, clock = spot
        sticky = b"".join(
            (encode_varuint(0), encode_varuint(client), encode_varuint(clock), encode_varuint(0))
        )
        return pycrdt.StickyIndex.decode(sticky, self._text).get_index()

    @property
    def order(self) -> Order:
        """Where every spot stands, deleted or not. Read once, and then kept up."""
        if self._order is None:
            self._order = Order()
            self._order.add(_read(self.state))
        return self._order

    @property
    def halves(self) -> set[ItemId]:
        """Spots before which no character ends: a cut there would go through one."""
        if self._halves is None:
            is_needed = max(str(self), default="") > "\uffff"
            self._halves = _read(self.state).halves if is_needed else set()
        return self._halves

    def encode_diff(self, clocks: bytes) -> bytes:
        """What somebody lacks who has this much."""
        return self._doc.get_update(clocks)

    def apply(self, update: bytes) -> None:
        """Somebody's change."""
        self._deleted = None
        if self._halves is not None:
            self._halves |= _read(update).halves
        if self._order is not None and not self._order.add(_read(update)):
            self._order = None
        self._doc.apply_update(update)

    def rewrite_character(self, spot: ItemId) -> bytes:
        """The change that deletes the character that begins there and writes it anew.

        Whoever makes it for the same character makes it under the same id: then it is one change.
        """
        id_ = _id_of(spot)
        other = LiveText(self.state, new_server_client_id() if id_ in self.state_vector else id_)
        at, sign = other._locate(spot)
        made: list[bytes] = []
        watching = other._doc.observe(lambda event: made.append(event.update))
        with other._doc.transaction():
            del other._text[at : at + len(sign.encode())]
            other._text.insert(at, sign)
        other._doc.unobserve(watching)
        return merge_updates(made)

    def _locate(self, spot: ItemId) -> tuple[int, str]:
        """The place of a character in bytes, and the character."""
        client, clock = spot
        written = _read(self.state).written
        run = next(it for it in written if it.client == client and it.start <= clock < it.end)
        # The library counts bytes up to a run, and halves of characters within one.
        units = run.words.encode("utf-16-le")
        before = units[: 2 * (clock - run.start)].decode("utf-16-le")
        at = self.offset((client, run.start)) + len(before.encode())
        sign = run.words[len(before)]
        if str(self).encode()[at : at + len(sign.encode())] != sign.encode():
            raise InvalidFormat("a change cuts a character in two", field="update")
        return at, sign

    def rewrite(self, text: str) -> bytes | None:
        """Make it this text, changing no character that may stay; the change, for the others."""
        old = str(self)
        if old == text:
            return None
        self._deleted = self._halves = self._order = None
        made: list[bytes] = []
        watching = self._doc.observe(lambda event: made.append(event.update))
        with self._doc.transaction():
            for start, end, words in reversed(_to_byte_offsets(old, diff_edits(old, text))):
                if end > start:
                    del self._text[start:end]
                if words:
                    self._text.insert(start, words)
        self._doc.unobserve(watching)
        return merge_updates(made)


def _id_of(spot: ItemId) -> int:
    drawn = sha256(f"{spot[0]} {spot[1]}".encode()).digest()
    return SERVER_ID_MARK | (int.from_bytes(drawn[:4]) >> 1) << 1


def merge_updates(updates: list[bytes]) -> bytes:
    """Several changes as one."""
    return updates[0] if len(updates) == 1 else pycrdt.merge_updates(*updates)


def _read(update: bytes) -> YjsUpdate:
    """One that was judged before, however long it is."""
    return parse_update(update, most=len(update))


def _to_byte_offsets(old: str, edits: Sequence[Edit]) -> list[tuple[int, int, str]]:
    """Edits as the library counts: in bytes."""
    found: list[tuple[int, int, str]] = []
    characters, at = 0, 0
    for it in edits:
        start = at + len(old[characters : it.span.start].encode())
        at = start + len(it.span.of(old).encode())
        characters = it.span.end
        found.append((start, at, it.text))
    return found

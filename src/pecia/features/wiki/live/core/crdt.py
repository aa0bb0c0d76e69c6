"""The CRDT of a text (Yjs), independent of storage. Pure.

Bound to one event loop. Server edits use a server client id, and are made only under the row lock;
no client may write under such an id.
"""

import secrets
from collections.abc import Sequence
from hashlib import sha256

import pycrdt

from pecia.features.wiki.live.core.lib0 import encode_varuint
from pecia.features.wiki.live.core.order import ItemOrder
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

# The upper bits of server client ids. Those of clients are random.
SERVER_ID_MARK = 0x16EC1A << 32


def new_server_client_id() -> int:
    """A new client id for server edits; one per document and history."""
    return SERVER_ID_MARK | secrets.randbits(31) << 1


def file_client_id(house_id: int) -> int:
    """The id next to it, for edits read from the file."""
    return house_id | 1


def is_server_client_id(client: int) -> bool:
    return client >> 32 == SERVER_ID_MARK >> 32


class LiveText:
    """A state of the text, with the history needed to merge."""

    def __init__(self, state: bytes | None = None, house_id: int | None = None) -> None:
        self._doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc(client_id=house_id)
        self._text = self._doc.get(TEXT_NAME, type=pycrdt.Text)
        self._deleted: RunSet | None = None
        self._halves: set[ItemId] | None = None
        self._order: ItemOrder | None = None
        if state is not None:
            self._doc.apply_update(state)

    @classmethod
    def create(cls, text: str, house_id: int) -> "LiveText":
        """A new document with this text."""
        made = cls(house_id=house_id)
        # An empty text gets a mark of ours too, which identifies its history.
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
        """The full state, for a client that has nothing."""
        return self._doc.get_update()

    @property
    def encoded_state_vector(self) -> bytes:
        """The state vector, encoded for others."""
        return self._doc.get_state()

    @property
    def state_vector(self) -> StateVector:
        return parse_state_vector(self._doc.get_state())

    @property
    def deleted(self) -> RunSet:
        """Everything deleted so far."""
        if self._deleted is None:
            self._deleted = RunSet(parse_deletions(self._doc.get_update(self._doc.get_state())))
        return self._deleted

    def offset(self, spot: ItemId) -> int:
        """A number that orders known items; equal for a deleted item and for what follows
        it."""
        client, clock = spot
        sticky = b"".join(
            (encode_varuint(0), encode_varuint(client), encode_varuint(clock), encode_varuint(0))
        )
        return pycrdt.StickyIndex.decode(sticky, self._text).get_index()

    @property
    def order(self) -> ItemOrder:
        """The position of every item, deleted or not. Built once, then updated."""
        if self._order is None:
            self._order = ItemOrder()
            self._order.add(_read(self.state))
        return self._order

    @property
    def halves(self) -> set[ItemId]:
        """Second halves of surrogate pairs: a cut there would split a character."""
        if self._halves is None:
            is_needed = max(str(self), default="") > "\uffff"
            self._halves = _read(self.state).halves if is_needed else set()
        return self._halves

    def encode_diff(self, clocks: bytes) -> bytes:
        """What a client with this state vector lacks."""
        return self._doc.get_update(clocks)

    def apply(self, update: bytes) -> None:
        """Apply a client's update."""
        self._deleted = None
        if self._halves is not None:
            self._halves |= _read(update).halves
        if self._order is not None and not self._order.add(_read(update)):
            self._order = None
        self._doc.apply_update(update)

    def rewrite_character(self, spot: ItemId) -> bytes:
        """An update that deletes the character beginning there and inserts it again.

        Deterministic: made twice for the same character it has the same id, and is one update.
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
        """The byte offset of a character, and the character."""
        client, clock = spot
        written = _read(self.state).written
        run = next(it for it in written if it.client == client and it.start <= clock < it.end)
        # The library counts bytes up to a run, and UTF-16 units within one.
        units = run.words.encode("utf-16-le")
        before = units[: 2 * (clock - run.start)].decode("utf-16-le")
        at = self.offset((client, run.start)) + len(before.encode())
        sign = run.words[len(before)]
        if str(self).encode()[at : at + len(sign.encode())] != sign.encode():
            raise InvalidFormat("a change cuts a character in two", field="update")
        return at, sign

    def rewrite(self, text: str) -> bytes | None:
        """Change the text to this one with a minimal diff; returns the update."""
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
    """Merge several updates into one."""
    return updates[0] if len(updates) == 1 else pycrdt.merge_updates(*updates)


def _read(update: bytes) -> YjsUpdate:
    """Parse an update that was validated before, without a size limit."""
    return parse_update(update, most=len(update))


def _to_byte_offsets(old: str, edits: Sequence[Edit]) -> list[tuple[int, int, str]]:
    """Edits with byte offsets, as the library counts."""
    found: list[tuple[int, int, str]] = []
    characters, at = 0, 0
    for it in edits:
        start = at + len(old[characters : it.span.start].encode())
        at = start + len(it.span.of(old).encode())
        characters = it.span.end
        found.append((start, at, it.text))
    return found

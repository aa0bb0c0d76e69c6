"""A live document in one's hands: the file, what people wrote since, and what one adds. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from pecia.rooms.wiki.history.note import FILE_SYSTEM
from pecia.rooms.wiki.live.ancestor import ancestor
from pecia.rooms.wiki.live.rows import Based, Change, Copy, Row
from pecia.rooms.wiki.live.text import LiveText, file_id, new_house_id


@dataclass(slots=True)
class Held:
    """`seen` is the state whose text the file has; `now` has everything that was written too."""

    row: Row
    seen: Based
    now: LiveText
    written: Sequence[Change]
    """What was written since the document was filed."""
    copies: Sequence[Copy] = ()
    """Files that were replaced lately: a program may have read one of them before it wrote."""
    read: list[Copy] = field(default_factory=list[Copy])
    """Those that said something new."""
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

    def read_file(self, text: str) -> None:
        """What the file says, after what was read of the files that it replaced.

        An edit of the file is one of somebody who had the file before them, and not what others
        wrote meanwhile: it is made there and merged, like that of anybody else.
        """
        if digest_of(text) == self.seen.digest:
            return
        edit = _program_edit(self, self.seen, text, [it.base for it in self.copies])
        self.seen = edit.seen
        # The file is behind by this from now on, so it has to be among what was written.
        self._add(edit.unseen, FILE_SYSTEM)
        self._merge(edit)

    def read_copy(self, copy: Copy, text: str) -> bool:
        """What a file says that was replaced; whether that is new."""
        if digest_of(text) == copy.digest:
            return False
        others = [it.base for it in self.copies if it.base != copy.base]
        edit = _program_edit(self, Based(copy.base, copy.digest), text, others)
        known = replace(copy, base=edit.seen.base, digest=edit.seen.digest)
        self.copies = [known if it.name == copy.name else it for it in self.copies]
        self.read.append(known)
        self._merge(edit)
        return True

    def _merge(self, edit: "ProgramEdit") -> None:
        if edit.change is not None:
            self.now.apply(edit.change)
        self._add(edit.change, FILE_SYSTEM)

    def filed(self) -> Based:
        """What the file will hold when everything is in it."""
        return Based(self.now.state, digest_of(self.text))

    def _add(self, change: bytes | None, writer: str) -> None:
        if change is not None:
            self.added.append(Change(writer, change))


@dataclass(frozen=True, slots=True)
class ProgramEdit:
    """What a program did to a file, made where the program saw it."""

    seen: Based
    """The state whose text the file has."""
    change: bytes | None
    unseen: bytes | None
    """What the program did not see of the state that the file was known to have."""


def held(row: Row, written: Sequence[Change], copies: Sequence[Copy] = ()) -> Held:
    """The document as it is stored, whatever its files say."""
    now = LiveText(row.base, row.house_id)
    for it in written:
        now.apply(it.change)
    return Held(row, Based(row.base, row.digest), now, written, copies)


def _program_edit(found: Held, known: Based, text: str, earlier: Sequence[bytes]) -> ProgramEdit:
    """What makes this text of that of a file whose text was known."""
    state = LiveText(known.base, _id_for(found, known.base))
    made_from = ancestor(text, str(state), [str(LiveText(it)) for it in earlier])
    unseen = None
    if made_from is not None:
        # Under a new id: what was written under ours since, is not in this state.
        older = LiveText(earlier[made_from], new_house_id())
        unseen, state = state.lacking(older.clocks_sent), older
    change = state.rewrite(text)
    return ProgramEdit(Based(state.state, digest_of(text)), change, unseen)


def digest_of(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _id_for(found: Held, base: bytes) -> int:
    """The id of what is read from the file, where this state has all that was written under it."""
    id_ = file_id(found.row.house_id)
    is_whole = LiveText(base).clocks.get(id_, 0) == found.now.clocks.get(id_, 0)
    return id_ if is_whole else new_house_id()

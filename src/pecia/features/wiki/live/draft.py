"""A live document in one's hands: the file, what people wrote since, and what one adds. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from pecia.features.wiki.history.message import FILE_SYSTEM
from pecia.features.wiki.live.core.crdt import LiveText, file_client_id, new_server_client_id
from pecia.features.wiki.live.core.merge_base import find_merge_base
from pecia.features.wiki.live.store import FileBase, FileCopy, LiveChange, LiveRow


@dataclass(slots=True)
class LiveDraft:
    """`seen` is the state whose text the file has; `now` has everything that was written too."""

    row: LiveRow
    seen: FileBase
    now: LiveText
    written: Sequence[LiveChange]
    """What was written since the document was filed."""
    copies: Sequence[FileCopy] = ()
    """Files that were replaced lately: a program may have read one of them before it wrote."""
    read_copies: list[FileCopy] = field(default_factory=list[FileCopy])
    """Those that said something new."""
    added: list[LiveChange] = field(default_factory=list[LiveChange])
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
        change = LiveText(self.seen.base, new_server_client_id()).rewrite(text)
        if change is not None:
            self.now.apply(change)
        self._add(change, writer)

    def merge_file(self, text: str) -> None:
        """What the file says, after what was read of the files that it replaced.

        An edit of the file is one of somebody who had the file before them, and not what others
        wrote meanwhile: it is made there and merged, like that of anybody else.
        """
        if text_digest(text) == self.seen.digest:
            return
        edit = _diff_program_edit(self, self.seen, text, [it.base for it in self.copies])
        self.seen = edit.seen
        # The file is behind by this from now on, so it has to be among what was written.
        self._add(edit.unseen, FILE_SYSTEM)
        self._merge(edit)

    def merge_copy(self, copy: FileCopy, text: str) -> bool:
        """What a file says that was replaced; whether that is new."""
        if text_digest(text) == copy.digest:
            return False
        others = [it.base for it in self.copies if it.base != copy.base]
        edit = _diff_program_edit(self, FileBase(copy.base, copy.digest), text, others)
        known = replace(copy, base=edit.seen.base, digest=edit.seen.digest)
        self.copies = [known if it.name == copy.name else it for it in self.copies]
        self.read_copies.append(known)
        self._merge(edit)
        return True

    def _merge(self, edit: "ProgramEdit") -> None:
        if edit.change is not None:
            self.now.apply(edit.change)
        self._add(edit.change, FILE_SYSTEM)

    def build_file_base(self) -> FileBase:
        """What the file will hold when everything is in it."""
        return FileBase(self.now.state, text_digest(self.text))

    def _add(self, change: bytes | None, writer: str) -> None:
        if change is not None:
            self.added.append(LiveChange(writer, change))


@dataclass(frozen=True, slots=True)
class ProgramEdit:
    """What a program did to a file, made where the program saw it."""

    seen: FileBase
    """The state whose text the file has."""
    change: bytes | None
    unseen: bytes | None
    """What the program did not see of the state that the file was known to have."""


def build_draft(
    row: LiveRow, written: Sequence[LiveChange], copies: Sequence[FileCopy] = ()
) -> LiveDraft:
    """The document as it is stored, whatever its files say."""
    now = LiveText(row.base, row.house_id)
    for it in written:
        now.apply(it.change)
    return LiveDraft(row, FileBase(row.base, row.digest), now, written, copies)


def _diff_program_edit(
    found: LiveDraft, known: FileBase, text: str, earlier: Sequence[bytes]
) -> ProgramEdit:
    """What makes this text of that of a file whose text was known."""
    state = LiveText(known.base, _file_client_id(found, known.base))
    made_from = find_merge_base(text, str(state), [str(LiveText(it)) for it in earlier])
    unseen = None
    if made_from is not None:
        # Under a new id: what was written under ours since, is not in this state.
        older = LiveText(earlier[made_from], new_server_client_id())
        unseen, state = state.encode_diff(older.encoded_state_vector), older
    change = state.rewrite(text)
    return ProgramEdit(FileBase(state.state, text_digest(text)), change, unseen)


def text_digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _file_client_id(found: LiveDraft, base: bytes) -> int:
    """The id of what is read from the file, where this state has all that was written under it."""
    id_ = file_client_id(found.row.house_id)
    is_whole = LiveText(base).state_vector.get(id_, 0) == found.now.state_vector.get(id_, 0)
    return id_ if is_whole else new_server_client_id()

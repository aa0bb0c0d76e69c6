"""A draft of a live document: the file, edits since, and our own changes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from pecia.features.wiki.history.message import FILE_SYSTEM
from pecia.features.wiki.live.core.crdt import LiveText, file_client_id, new_server_client_id
from pecia.features.wiki.live.core.merge_base import find_merge_base
from pecia.features.wiki.live.store import FileBase, FileCopy, LiveChange, LiveRow


@dataclass(slots=True)
class LiveDraft:
    """`seen` is the state that the file has; `now` has all edits too."""

    row: LiveRow
    seen: FileBase
    now: LiveText
    written: Sequence[LiveChange]
    """Edits since the last flush."""
    copies: Sequence[FileCopy] = ()
    """Recently replaced files: a program may have read one of them before it wrote."""
    read_copies: list[FileCopy] = field(default_factory=list[FileCopy])
    """Copies that contributed something new."""
    added: list[LiveChange] = field(default_factory=list[LiveChange])
    """Our own new updates, to be broadcast."""
    has_file: bool = True
    """False where the file was removed: then there is no document, but its history goes on with
    the next one here."""

    @property
    def text(self) -> str:
        return str(self.now)

    @property
    def file_text(self) -> str:
        return str(LiveText(self.seen.base))

    @property
    def writers(self) -> tuple[str, ...]:
        """The writers since the last flush, without duplicates."""
        return tuple(dict.fromkeys(it.writer for it in (*self.written, *self.added)))

    def rewrite(self, text: str, writer: str) -> None:
        """Change the text, by a writer who saw all of it."""
        self._add(self.now.rewrite(text), writer)

    def rewrite_file(self, text: str, writer: str) -> None:
        """Change the file's text, by a writer who saw only the file."""
        # Under a new id: edits since then under the old one are not in the file.
        change = LiveText(self.seen.base, new_server_client_id()).rewrite(text)
        if change is not None:
            self.now.apply(change)
        self._add(change, writer)

    def merge_file(self, text: str) -> None:
        """Merge the file's text, after the files that it replaced.

        An edit of the file is based on the file, not on what others wrote meanwhile: it is applied
        to that state and merged, like any other.
        """
        if text_digest(text) == self.seen.digest:
            return
        edit = _diff_program_edit(self, self.seen, text, [it.base for it in self.copies])
        self.seen = edit.seen
        # The file lacks this from now on, so it counts as an edit.
        self._add(edit.unseen, FILE_SYSTEM)
        self._merge(edit)

    def merge_copy(self, copy: FileCopy, text: str) -> bool:
        """Merge a replaced file's text; whether it was new."""
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
        """The state that the file has once everything is flushed."""
        return FileBase(self.now.state, text_digest(self.text))

    def _add(self, change: bytes | None, writer: str) -> None:
        if change is not None:
            self.added.append(LiveChange(writer, change))


@dataclass(frozen=True, slots=True)
class ProgramEdit:
    """A program's edit of a file, applied to the state that the program saw."""

    seen: FileBase
    """The state that the file has."""
    change: bytes | None
    unseen: bytes | None
    """What the program did not see of the file's known state."""


def build_draft(
    row: LiveRow, written: Sequence[LiveChange], copies: Sequence[FileCopy] = ()
) -> LiveDraft:
    """The document as stored, regardless of its files."""
    now = LiveText(row.base, row.house_id)
    for it in written:
        now.apply(it.change)
    return LiveDraft(row, FileBase(row.base, row.digest), now, written, copies)


def _diff_program_edit(
    found: LiveDraft, known: FileBase, text: str, earlier: Sequence[bytes]
) -> ProgramEdit:
    """The edit between a file's known text and this one."""
    state = LiveText(known.base, _file_client_id(found, known.base))
    made_from = find_merge_base(text, str(state), [str(LiveText(it)) for it in earlier])
    unseen = None
    if made_from is not None:
        # Under a new id: edits since then under ours are not in this state.
        older = LiveText(earlier[made_from], new_server_client_id())
        unseen, state = state.encode_diff(older.encoded_state_vector), older
    change = state.rewrite(text)
    return ProgramEdit(FileBase(state.state, text_digest(text)), change, unseen)


def text_digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _file_client_id(found: LiveDraft, base: bytes) -> int:
    """The client id for file edits, if this state has everything written under it."""
    id_ = file_client_id(found.row.house_id)
    is_whole = LiveText(base).state_vector.get(id_, 0) == found.now.state_vector.get(id_, 0)
    return id_ if is_whole else new_server_client_id()

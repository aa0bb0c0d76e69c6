"""What git knows, as plain values. Pure: no repository is touched here."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from pecia.kernel.errors import InvalidFormat

MAX_PATH_CHARS = 4_096
MAX_DEPTH = 64

_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*): (.*)")


@dataclass(frozen=True, slots=True)
class GitSignature:
    """Who, and when, with the offset from UTC that their clock had."""

    name: str
    email: str
    when: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Commit:
    oid: str
    parents: tuple[str, ...]
    author: GitSignature
    committer: GitSignature
    message: str

    @property
    def author_name(self) -> str:
        return self.author.name

    @property
    def author_email(self) -> str:
        return self.author.email

    @property
    def authored_at(self) -> datetime:
        return self.author.when

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def trailers(self) -> tuple[tuple[str, str], ...]:
        """The `Key: value` lines of the last paragraph, where it holds nothing else."""
        _, _, last = self.message.rstrip("\n").rpartition("\n\n")
        found = [_TRAILER.fullmatch(line) for line in last.split("\n")]
        return tuple((it[1], it[2]) for it in found if it) if all(found) else ()


@dataclass(frozen=True, slots=True)
class CommitDraft:
    """A commit to be. In `changes` bytes replace a file and None removes it; the rest stays.

    Without `parents` it follows the tip of `ref`. A draft that changes nothing makes no commit
    unless it is `kept` all the same, as a named version is.
    """

    ref: str
    changes: Mapping[str, bytes | None]
    author: GitSignature
    message: str
    committer: GitSignature | None = None
    trailers: tuple[tuple[str, str], ...] = ()
    parents: tuple[str, ...] | None = None
    kept: bool = False

    def full_message(self) -> str:
        """The message with its trailers as the last paragraph."""
        if "\0" in self.message:
            raise InvalidFormat("a message holds no NUL", field="message")
        lines = [f"{key}: {value}" for key, value in self.trailers]
        for line in lines:
            if not _TRAILER.fullmatch(line):
                raise InvalidFormat(f"{line!r} is not a trailer", field="trailers")
        paragraphs = [self.message.rstrip("\n"), "\n".join(lines)]
        return "\n\n".join(part for part in paragraphs if part) + "\n"


@dataclass(frozen=True, slots=True)
class GitFile:
    path: str
    oid: str
    size_bytes: int
    executable: bool


@dataclass(frozen=True, slots=True)
class GitTreeListing:
    """The files of one commit. `refused` says of each path that was passed over why it was."""

    commit: str
    files: tuple[GitFile, ...]
    skipped: Mapping[str, str]


class GitChangeKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileHistoryEntry:
    """One commit in the life of a file, under the name the file had then."""

    commit: Commit
    kind: GitChangeKind
    path: str
    came_from: str | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """`patch` is None for a binary file and for one too large to compare, as `reason` says."""

    path: str
    kind: GitChangeKind
    came_from: str | None = None
    added_lines: int = 0
    removed_lines: int = 0
    patch: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HistoryPurgeResult:
    """What a purge did. `still_held` are contents that another path holds as well, which stay."""

    rewritten: int
    dropped: int
    still_held: tuple[str, ...]


def require_valid_path(path: str, *, field: str = "path") -> str:
    """The path, where it can be a file of a repository; an error that says why where it cannot."""
    reason = find_path_problem(path)
    if reason:
        raise InvalidFormat(f"{path!r} {reason}", field=field)
    return path


def find_path_problem(path: str) -> str:
    """What is wrong with this path, or nothing."""
    segments = path.split("/")
    if len(path) > MAX_PATH_CHARS or len(segments) > MAX_DEPTH:
        return "is too long or too deep"
    if any(segment in ("", ".", "..") for segment in segments) or "\0" in path:
        return "is not a relative path without . and .."
    if any(_is_dot_git(segment) for segment in segments):
        return "reaches into .git"
    return "" if _is_text(path) else "is not UTF-8"


def _is_dot_git(segment: str) -> bool:
    # Some disks fold case, drop trailing dots and spaces, or skip invisible letters.
    visible = "".join(it for it in segment if unicodedata.category(it) != "Cf")
    return visible.casefold().rstrip(". ") in (".git", "git~1") or visible.casefold().startswith(
        ".git:"
    )


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True

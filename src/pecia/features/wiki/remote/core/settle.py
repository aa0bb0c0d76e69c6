"""What becomes of one file in a sync: three states of it in, one out. Pure.

`base` is what local and remote had in common last. None is a file that does not exist.
"""

import hashlib
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from pecia.features.wiki.remote.core.merge import merge_texts

T = TypeVar("T")


class SideChange(Enum):
    SAME = auto()
    """Both sides are equal."""
    LOCAL = auto()
    """Only the local file was changed."""
    REMOTE = auto()
    BOTH = auto()


@dataclass(frozen=True, slots=True)
class SettledFile:
    """The local file afterwards. In a conflict it stays as it is, and so does the base."""

    body: bytes | None
    is_conflict: bool = False


def content_id(body: bytes) -> str:
    """The id that git gives to a content."""
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def compare(base: T | None, local: T | None, remote: T | None) -> SideChange:
    """Which side was changed, by contents or by their ids."""
    if local == remote:
        return SideChange.SAME
    if remote == base:
        return SideChange.LOCAL
    return SideChange.REMOTE if local == base else SideChange.BOTH


def settle_file(
    base: bytes | None, local: bytes | None, remote: bytes | None, *, is_base_known: bool = True
) -> SettledFile:
    """Merge the remote's change into the local file.

    A base that is not known any more, as after a rewritten history, is none: two different files
    are then a conflict.
    """
    change = compare(base, local, remote) if is_base_known else _compare_unknown(local, remote)
    if change is SideChange.REMOTE:
        return SettledFile(remote)
    if change is SideChange.BOTH:
        merged = _merge(base if is_base_known else None, local, remote)
        return SettledFile(local, is_conflict=True) if merged is None else SettledFile(merged)
    return SettledFile(local)


def _compare_unknown(local: bytes | None, remote: bytes | None) -> SideChange:
    return SideChange.SAME if local == remote else SideChange.BOTH


def _merge(base: bytes | None, local: bytes | None, remote: bytes | None) -> bytes | None:
    """None where it is a conflict: contradicting changes, a deleted file, or not UTF-8."""
    if base is None or local is None or remote is None:
        return None
    texts = [_decode(it) for it in (base, local, remote)]
    was, ours, theirs = texts
    if was is None or ours is None or theirs is None:
        return None
    merged = merge_texts(was, ours, theirs)
    return None if merged is None else merged.encode()


def _decode(body: bytes) -> str | None:
    try:
        return None if b"\0" in body else body.decode()
    except UnicodeDecodeError:
        return None

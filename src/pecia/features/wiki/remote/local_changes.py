"""Who changed a document here since it was last equal to the remote's."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.history.history import DocumentVersion, SpaceHistory
from pecia.features.wiki.history.message import FILE_SYSTEM, UPSTREAM

MAX_VERSIONS = 20
REMOVING = ("delete:", "rename:")


@dataclass(frozen=True, slots=True)
class LocalChanges:
    """`writers` are those who changed it here, the latest first."""

    writers: Sequence[str] = ()
    others: Sequence[str] = ()
    summary: str | None = None


async def load_local_changes(
    history: SpaceHistory, path: str, since: datetime | None, *, is_gone: bool = False
) -> LocalChanges:
    """`since` is when both sides last had the same. Only documents have versions. Of a file that is
    gone, whoever deleted or renamed it here counts, though the remote changed it since."""
    if not split_extension(path)[1]:
        return LocalChanges()
    found = await history.list_recent(path, MAX_VERSIONS)
    if is_gone and found and found[0].note.subject.startswith(REMOVING):
        return summarize_versions(found[:1], None)
    return summarize_versions(found, since)


def summarize_versions(versions: Sequence[DocumentVersion], since: datetime | None) -> LocalChanges:
    """Of versions, newest first. A merge with the remote's is by whoever wrote there; whoever wrote
    here is among its other writers."""
    writers: list[str] = []
    others: list[str] = []
    said: list[str] = []
    for it in versions:
        made = datetime.fromisoformat(it.at)
        made = made if made.tzinfo else made.replace(tzinfo=UTC)
        if since is not None and made < since.replace(microsecond=0):
            break
        if it.note.kind == UPSTREAM:
            writers += it.note.others
            break
        if it.note.writer != FILE_SYSTEM:
            writers.append(it.note.writer)
        others += it.note.others
        said += it.note.summaries
    return LocalChanges(writers, others, said[0] if said else None)

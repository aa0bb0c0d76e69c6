"""Whether a write changes the document or lands as a suggestion."""

from collections.abc import Iterable
from enum import Enum, auto

from pecia.features.wiki.config.folder_rules import matches_rule
from pecia.features.wiki.config.schema import FolderRule, SuggestRule
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.history.message import is_agent
from pecia.features.wiki.space import OpenSpace
from pecia.features.wiki.space_write import SpaceWrite
from pecia.features.wiki.suggestion.store import SQL, Suggestion
from pecia.kernel.errors import Conflict, Forbidden
from pecia.kernel.store.store import Transaction

SUGGEST_HINT = "Ask a person to do it, or suggest a change of the text: write_document."


class WriteTarget(Enum):
    DOCUMENT = auto()
    SUGGESTION = auto()


def find_suggest_rule(rules: Iterable[FolderRule], path: str) -> SuggestRule | None:
    """What the matching rules say of suggestions; `agents` is the stricter."""
    found = {it.suggest for it in rules if it.suggest and matches_rule(it.match, path)}
    return next((it for it in ("agents", "readers") if it in found), None)


def suggest_rule(opened: OpenSpace, path: str) -> SuggestRule | None:
    return find_suggest_rule(opened.settings.config.folders, opened.prefix + path)


async def choose_target(writer: SpaceWrite, path: str, *, asked: bool) -> WriteTarget:
    """Where a write of this call to this path lands. Refused where it may do neither."""
    rule = suggest_rule(writer.opened, path)
    may_write = await _may_write(writer.opened, writer.tx, path)
    if rule is None or may_write:
        if not may_write:
            await writer.require_may_write(path)
        is_held = rule == "agents" and is_agent(writer.opened.call)
        return WriteTarget.SUGGESTION if asked or is_held else WriteTarget.DOCUMENT
    opened = writer.opened
    name = split_extension(path)[0]
    if name not in opened.documents and not opened.space.is_whole:
        # The same answer whether a document that they may not see is there or not.
        raise Forbidden(f"your role does not allow changing {path!r}", docName=path)
    return WriteTarget.SUGGESTION


def is_held(opened: OpenSpace, path: str) -> bool:
    """Whether the call is an agent's, and may only suggest changes of this document."""
    return suggest_rule(opened, path) == "agents" and is_agent(opened.call)


def require_direct(opened: OpenSpace, path: str, what: str, hint: str = SUGGEST_HINT) -> None:
    """Refuse a change that cannot be a suggestion where agents may only suggest."""
    if is_held(opened, path):
        raise Conflict(
            f"agents only suggest changes of {split_extension(path)[0]!r}, and {what} is none",
            docName=split_extension(path)[0],
            hint=hint,
        )


async def require_may_comment(opened: OpenSpace, tx: Transaction, about: Suggestion) -> None:
    """Who may write the document, who may suggest there, and the author take part in a thread."""
    if about.user_id == opened.call.caller.user_id or suggest_rule(opened, about.path):
        return
    if not await _may_write(opened, tx, about.path):
        raise Forbidden(f"your role does not allow a comment on {about.path!r}", docName=about.path)


async def _may_write(opened: OpenSpace, tx: Transaction, path: str) -> bool:
    place = opened.location
    asked = {"source_id": place.source_id, "key": place.key(path)}
    return bool(await tx.fetch_value(SQL["may_write"], **asked))

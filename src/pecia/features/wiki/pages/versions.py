"""The text of a version, and what was deleted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pecia.features.wiki.core.document import decode_any_charset
from pecia.features.wiki.core.names import parse_document_name, split_extension
from pecia.features.wiki.history.history import RemovedDocument
from pecia.features.wiki.history.visible import VisibleHistory
from pecia.features.wiki.pages.parameters import json_page, parse_parameters
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.store import SQL
from pecia.features.wiki.tools.versions import find_version_path
from pecia.kernel.errors import InvalidFormat, Json, Unprocessable
from pecia.kernel.feature import FeaturePage, FeatureRequest

MAX_DELETED = 500


@dataclass(frozen=True, slots=True)
class VersionPages:
    """The handlers."""

    wiki: Wiki

    async def show(self, ask: FeatureRequest) -> FeaturePage:
        """`GET /wiki/version?space=&doc=&version=`: the document as of a version."""
        query = parse_parameters(ask.query, ("doc", "version"), ("space",))
        name, sha = parse_document_name(query["doc"], "doc"), query["version"]
        if _SHA.fullmatch(sha) is None:
            raise InvalidFormat(
                'Field "version" is an id of get_history', field="version", got=sha[:100]
            )
        opened = await self.wiki.open(ask.call, None, query.get("space"))
        path = await find_version_path(opened, name, sha)
        body, commit = await VisibleHistory(opened).read(sha, path)
        text = decode_any_charset(body)
        if text is None:
            raise Unprocessable(f"{name!r} was not text in version {sha[:7]}", docName=name)
        opened.record_returned([path])
        at = commit.authored_at.isoformat(timespec="seconds")
        return json_page({"docName": name, "version": sha, "timestamp": at, "text": text})

    async def list_deleted(self, ask: FeatureRequest) -> FeaturePage:
        """`GET /wiki/deleted?space=`: documents that the caller may restore, the latest first."""
        query = parse_parameters(ask.query, optional=("space",))
        opened = await self.wiki.open(ask.call, None, query.get("space"))
        found = {
            split_extension(it.path)[0]: it
            for it in reversed(await opened.history.list_removed(MAX_DELETED))
            if split_extension(it.path)[1]
        }
        missing = [
            it
            for name, it in reversed(found.items())
            if name not in opened.documents and name not in opened.hidden
        ]
        writable = await _writable(opened, [opened.location.key(it.path) for it in missing])
        names = await self.wiki.load_writer_names(ask.call)
        shown = [it for it in missing if opened.location.key(it.path) in writable]
        opened.record_returned([it.path for it in shown])
        rows: list[Json] = [_deleted_row(it, names) for it in shown]
        return json_page({"deleted": rows, "space": opened.space.name})


async def _writable(opened: OpenSpace, keys: list[str]) -> set[str]:
    async with opened.wiki.store.reading(opened.call.caller) as tx:
        asked = {"source_id": opened.space.source_id, "keys": keys}
        return {row["key"] for row in await tx.fetch_all(SQL["writable_keys"], **asked)}


def _deleted_row(it: RemovedDocument, names: Mapping[str, str]) -> Json:
    by = it.by
    return {
        "docName": split_extension(it.path)[0],
        "version": it.last_sha,
        "timestamp": by.at if by else None,
        "writerId": by.note.writer if by else None,
        "author": names.get(by.note.writer, by.note.writer) if by else None,
    }


_SHA = re.compile("[0-9a-f]{40}")

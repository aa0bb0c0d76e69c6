"""What connectors share: which files count, and what of the network and the machine is allowed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pecia.adapters.connectors.filesystem.bounds import FolderBounds, open_file
from pecia.adapters.connectors.filesystem.scan import FileSelection, SymlinkPolicy
from pecia.adapters.http.egress_rules import EgressRules
from pecia.kernel.corpus.connector_kind import ConnectorContext
from pecia.kernel.errors import Forbidden, Json

if TYPE_CHECKING:
    from pecia.adapters.http.fetch import Fetcher
    from pecia.adapters.http.guard import EgressGuard


def file_selection(context: ConnectorContext, *, follow_links: bool = False) -> FileSelection:
    """The files of a source that count, by its globs."""
    links = SymlinkPolicy.INSIDE if follow_links else SymlinkPolicy.SKIP
    return FileSelection(context.include, context.exclude, links)


def folder_bounds(context: ConnectorContext, *, confined: bool) -> FolderBounds:
    """The owner of a local install may name any folder of the machine; others what is allowed."""
    allowed = context.allowlist
    folders = None if allowed.is_local and not confined else allowed.folders
    return FolderBounds(folders, allowed.closed)


def open_local_file(
    context: ConnectorContext, path: Path, *, confined: bool, field: str
) -> BinaryIO:
    """A file of this machine that the tenant may read. Blocking. `field` is the argument to name in
    a refusal."""
    return open_file(path, folder_bounds(context, confined=confined), field)


def egress_guard(context: ConnectorContext) -> "EgressGuard":
    """The public web, and the hosts allowed for the tenant."""
    # Lazy import, here and below: the HTTP client is for those who have such a source.
    from pecia.adapters.http.guard import EgressGuard

    return EgressGuard(EgressRules.from_trusted_hosts(context.allowlist.hosts))


def require_reachable(context: ConnectorContext, url: str, *, field: str) -> None:
    """Refuse a URL that no crawl of this tenant could fetch, as far as can be said without a
    lookup. Every request is checked again, with the addresses that the name has then."""
    hosts = context.allowlist.hosts
    try:
        EgressRules.from_trusted_hosts(hosts).check(url, field=field)
    except Forbidden as error:
        trusted = ", ".join(hosts) or "none"
        fields: dict[str, Json] = {"field": field, "got": url[:500], "allowed": [*hosts]}
        raise Forbidden(
            f'Field "{field}": {error.message.removeprefix("refused: ")}; allowed are public '
            f"addresses on ports 80 and 443, and the hosts given to this tenant: {trusted}",
            **{**error.fields, **fields},
        ) from None


@asynccontextmanager
async def open_fetcher(context: ConnectorContext) -> "AsyncGenerator[Fetcher]":
    """An HTTP client behind the guard."""
    from pecia.adapters.http.fetch import Fetcher

    async with Fetcher(egress_guard(context), tls=context.fetch.tls) as fetcher:
        yield fetcher

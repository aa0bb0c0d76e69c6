"""Source texts by URI, under the caller's rights, and staleness of packages.

Reads only through the corpus, whose rights apply.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from pecia.features.ckf.model import ReadSource, SourceText
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.verify import CurrentSource, list_source_names, verify_quotations
from pecia.kernel.compute.pool import compute
from pecia.kernel.corpus.catalog import catalog, texts
from pecia.kernel.errors import BadArgument, InvalidFormat, NotFound, Unprocessable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.store import Store

# A package names its sources itself, so the number that is read is bounded.
MAX_SOURCES = 50
CONCEPT_SCHEME = "okf://"
FILE_HINT = (
    "Files and wiki documents are SOURCE/KEY as a search shows them (wiki:notes/plan.md), or "
    "pecia://file/SOURCE/KEY, percent-encoded (pecia://file/wiki%3Anotes/plan.md). Or give the "
    "text itself."
)


def file_source_reader(store: Store, address_of: Callable[[str], tuple[str, str]]) -> ReadSource:
    """Reads files. `address_of` maps a URI to a source and a key."""

    async def read(caller: Caller, uri: str) -> SourceText:
        try:
            source_id, key = address_of(uri)
            found = await _read(store, caller, source_id, key)
        except (InvalidFormat, NotFound):
            # Invalid URI, absent file and missing right are indistinguishable.
            missing = NotFound(f"no text at {uri}", uri=uri, hint=FILE_HINT)
            raise missing from None
        if not found.text:
            raise Unprocessable(
                f"nothing could be read of {key!r}: {found.reason or found.status}",
                section="uri",
                line=1,
                hint="Give the text itself.",
            )
        filename = key.rpartition("/")[2]
        # The hash, not a number: restoring the same text restores the revision.
        return SourceText(
            found.text,
            found.title,
            uri,
            filename=filename,
            revision=found.sha256,
            stored_language=found.language,
        )

    return read


def add_concept_reader(
    files: ReadSource, concept: Callable[[Caller, str], Awaitable[tuple[str, str]]]
) -> ReadSource:
    """Also reads concepts of cascades. `concept` returns title and text of a URI."""

    async def read(caller: Caller, uri: str) -> SourceText:
        if not uri.startswith(CONCEPT_SCHEME):
            return await files(caller, uri)
        try:
            title, text = await concept(caller, uri)
        except (BadArgument, NotFound):
            missing = NotFound(f"no text at {uri}", uri=uri, hint="Give the text itself.")
            raise missing from None
        digest = hashlib.sha256(text.encode()).hexdigest()
        return SourceText(text, title, uri, revision=digest)

    return read


async def load_sources(
    read_source: ReadSource, caller: Caller, package: Package
) -> dict[str, CurrentSource]:
    """The current sources of a package; unreadable ones are absent."""
    found: dict[str, CurrentSource] = {}
    for name in list_source_names(package)[:MAX_SOURCES]:
        try:
            source = await read_source(caller, name)
        except (NotFound, Unprocessable):
            continue
        found[name] = CurrentSource(source.text, source.revision)
    return found


async def find_stale(read_source: ReadSource, caller: Caller, package: Package) -> list[str]:
    """The sources of a package that changed since it was compiled, as visible to the caller."""
    now = await load_sources(read_source, caller, package)
    if not now:
        return []
    return [*(await compute(caller.tenant_id, verify_quotations, package, now)).stale]


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files a caller may pick a source from. `uri_of` maps a source and a key to a URI."""

    store: Store
    uri_of: Callable[[str, str], str]

    async def sources(self, caller: Caller, after: str, limit: int) -> Sequence[str]:
        async with self.store.reading(caller) as tx:
            found = await catalog.list_sources(tx, after=after, limit=limit)
        return [it.source_id for it in found]

    async def files(
        self, caller: Caller, source_id: str, after: str, limit: int
    ) -> Sequence[tuple[str, str]]:
        """Keys, each with its URI."""
        async with self.store.reading(caller) as tx:
            found = await catalog.list_files(tx, source_id, after=after, limit=limit)
        return [(it.key, self.uri_of(source_id, it.key)) for it in found]


async def _read(store: Store, caller: Caller, source_id: str, key: str) -> texts.StoredText:
    if not caller.tenant:
        # An anonymous user of a public page, who has no tenant.
        raise NotFound(f"no file {key!r}")
    async with store.reading(caller) as tx:
        return await texts.read_text(tx, source_id, key)

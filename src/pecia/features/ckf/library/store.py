"""The posts of a tenant in the corpus, and those that ship. Rights are the corpus's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import anyio.to_thread

from pecia.features.ckf.library.header import (
    SOURCE,
    PostVisibility,
    add_post_header,
    parse_post,
    post_key,
    published_keys,
    remove_post_header,
)
from pecia.features.ckf.library.library import (
    PostSearchResult,
    ShippedLibrary,
    list_shipped,
    post_not_found,
    rank_posts,
)
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package, parse_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.package.similarity import normalize_words
from pecia.features.ckf.posts.loader import SLUGS, ShippedPost
from pecia.kernel.compute.pool import compute
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.search.plan import SearchMode, SearchRequest
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.errors import Conflict, NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import DictRow, Store, Transaction
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from pecia.kernel.tool.call import Call

SQL = load_queries("pecia.features.ckf.library", "queries.sql")
# Chunks, of which a post has many.
MAX_SCANNED_POSTS = 1000


@dataclass(frozen=True, slots=True)
class PublishResult:
    """Where a package was stored. `changed`: a new version was written."""

    post: ShippedPost
    key: str
    changed: bool


@dataclass(frozen=True, slots=True)
class StoredLibrary:
    """Posts that ship, and those that members of the tenant published.

    `corpus` searches posts by index; without it, a full scan.
    """

    store: Store
    corpus: Corpus | None = None

    async def search(self, caller: Caller, query: str, lang: str, limit: int) -> PostSearchResult:
        terms = normalize_words(query).split()
        rows: list[DictRow] = []
        if caller.tenant and terms:
            keys = await self._search_keys(caller, terms)
            async with self.store.reading(caller) as tx:
                if keys is None:
                    rows = await tx.fetch_all(SQL["posts_with"], lang=lang, terms=terms)
                else:
                    rows = await tx.fetch_all(SQL["posts_at"], lang=lang, keys=keys)
        found = await anyio.to_thread.run_sync(_rank_rows, rows, query, lang)
        return PostSearchResult(len(found), found[:limit])

    async def _search_keys(self, caller: Caller, terms: list[str]) -> list[str] | None:
        """Files with one of the terms; None where the index does not hold every post yet."""
        if self.corpus is None or not await self._is_indexed(self.corpus, caller):
            return None
        ask = SearchRequest(
            " ".join(terms), MAX_SCANNED_POSTS, mode=SearchMode.LEXICAL, source=SOURCE, rerank=False
        )
        try:
            found = await self.corpus.search(caller, ask)
        except NotFound:
            # No published post is visible to this caller yet.
            return []
        return list({it.passage.key: None for it in found.hits})

    async def _is_indexed(self, corpus: Corpus, caller: Caller) -> bool:
        async with self.store.reading(caller) as tx:
            clock = await tx.fetch_value(SQL["clock"])
        return (
            await anyio.to_thread.run_sync(corpus.reader_cache.last_commit, caller.tenant_id)
            >= clock
        )

    async def fetch(
        self, caller: Caller, slug: str, version: int | None = None
    ) -> tuple[ShippedPost, Package]:
        if slug in SLUGS or not caller.tenant:
            return await ShippedLibrary().fetch(caller, slug, version)
        async with self.store.reading(caller) as tx:
            row = await _load_row(tx, slug, version)
        post = parse_post(row["key"], row["text"])
        if post is None:
            raise post_not_found(slug)
        package = await compute(
            caller.tenant_id, parse_package, row["text"], PackageFormat.MARKDOWN
        )
        return post, remove_post_header(package)

    async def slugs(self, caller: Caller) -> Sequence[str]:
        if not caller.tenant:
            return SLUGS
        async with self.store.reading(caller) as tx:
            rows = await tx.fetch_all(SQL["slugs"])
        return (*SLUGS, *(row["slug"] for row in rows))

    async def publish(self, call: Call, package: Package, post: ShippedPost) -> PublishResult:
        """Store a package under its slug as a new version, unless unchanged."""
        if post.slug in SLUGS:
            raise Conflict(f"the slug {post.slug!r} is reserved for a built-in post", field="slug")
        async with self.store.writing(call.caller, call.trace) as tx:
            folder = await tx.fetch_value(SQL["claim"], slug=post.slug, visibility=post.visibility)
            key = post_key(folder, post.slug)
            before = await _load_own(tx, call.caller, post.slug)
            if before and before.key != key:
                await texts.move(tx, SOURCE, before.key, key)
            if before and _is_unchanged(before.post, before.document, package, post):
                return PublishResult(replace(before.post, visibility=post.visibility), key, False)
            number = before.post.version + 1 if before else 1
            made = replace(post, version=number)
            await _write_post(tx, key, made, package)
        return PublishResult(made, key, True)


@dataclass(frozen=True, slots=True)
class _StoredPost:
    key: str
    document: str
    post: ShippedPost


async def _load_row(tx: Transaction, slug: str, version: int | None) -> DictRow:
    keys = published_keys(slug)
    newest = await tx.fetch_optional(SQL["post"], keys=keys, ago=0)
    if newest is None:
        raise post_not_found(slug)
    post = parse_post(newest["key"], newest["text"])
    if post is None or version in (None, post.version):
        return newest
    # Counted from the newest, as old revisions may have been purged.
    older = None
    if 0 < version < post.version:
        older = await tx.fetch_optional(SQL["post"], keys=keys, ago=post.version - version)
    if older is None:
        raise post_not_found(slug, version)
    return older


async def _load_own(tx: Transaction, caller: Caller, slug: str) -> _StoredPost | None:
    private = post_key(f"{PostVisibility.PRIVATE}/{caller.user_id}/", slug)
    row = await tx.fetch_optional(SQL["own"], keys=[private, *published_keys(slug)])
    post = parse_post(row["key"], row["text"]) if row else None
    return _StoredPost(row["key"], row["text"], post) if row and post else None


async def _write_post(tx: Transaction, key: str, post: ShippedPost, package: Package) -> None:
    text = build_canonical_text([RawUnit(1, UnitKind.SECTION, _render_document(package, post))])
    facts = FileMetadata(
        SOURCE,
        key,
        size_bytes=len(text.text.encode()),
        modified_at=datetime.now(UTC),
        content_type="text/markdown",
        owner=post.author,
    )
    await texts.put(tx, facts, ExtractedText(text, title=post.title, language=post.language))


def _render_document(package: Package, post: ShippedPost) -> str:
    return encode_package(
        Package(compact_package(add_post_header(package, post))), PackageFormat.MARKDOWN
    )


def _is_unchanged(before: ShippedPost, document: str, package: Package, post: ShippedPost) -> bool:
    """Whether the document is the same except for version and date."""
    again = replace(post, version=before.version, date=before.date)
    written = _render_document(package, again)
    return build_canonical_text([RawUnit(1, UnitKind.SECTION, written)]).text == document


def _rank_rows(rows: list[DictRow], query: str, lang: str) -> list[ShippedPost]:
    kept = (parse_post(row["key"], row["text"]) for row in rows)
    return rank_posts([*list_shipped(lang), *(it for it in kept if it)], query)

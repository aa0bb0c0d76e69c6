"""The posts of a tenant, kept in the corpus beside those that ship. Decides no right itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import anyio.to_thread

from pecia.kernel.compute.pool import compute
from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.question import Ask, Mode
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.corpus.texts import Text
from pecia.kernel.errors import Conflict, NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Row, Transaction
from pecia.kernel.text.canonical import RawUnit, UnitKind, canonical_text
from pecia.kernel.tool.call import Call
from pecia.rooms.ckf.library import Found, ShippedLibrary, no_post, ranked, shipped_in
from pecia.rooms.ckf.library_head import (
    SOURCE,
    Visibility,
    marked,
    place,
    published_places,
    read_post,
    unmarked,
)
from pecia.rooms.ckf.package.alike import plain_text
from pecia.rooms.ckf.package.codec import Format, encode, parse
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.normal import compact
from pecia.rooms.ckf.posts.shelf import SLUGS, ShippedPost

SQL = load_queries("pecia.rooms.ckf", "library.sql")
# Passages, of which a post has many.
LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class Published:
    """Where a package went. `changed` says that it is a new version."""

    post: ShippedPost
    key: str
    changed: bool


@dataclass(frozen=True, slots=True)
class StoredLibrary:
    """What ships, and what the members of the tenant published.

    `corpus` finds posts by its index; without it, all of them are read.
    """

    store: Store
    corpus: Corpus | None = None

    async def search(self, caller: Caller, query: str, lang: str, limit: int) -> Found:
        terms = plain_text(query).split()
        rows: list[Row] = []
        if caller.tenant and terms:
            keys = await self._keys(caller, terms)
            async with self.store.reading(caller) as tx:
                if keys is None:
                    rows = await tx.all(SQL["posts_with"], lang=lang, terms=terms)
                else:
                    rows = await tx.all(SQL["posts_at"], lang=lang, keys=keys)
        found = await anyio.to_thread.run_sync(_ranked, rows, query, lang)
        return Found(len(found), found[:limit])

    async def _keys(self, caller: Caller, terms: list[str]) -> list[str] | None:
        """Files with one of the terms; None where the index does not hold every post yet."""
        if self.corpus is None or not await self._is_indexed(self.corpus, caller):
            return None
        ask = Ask(" ".join(terms), LOOKED_AT, mode=Mode.LEXICAL, source=SOURCE, rerank=False)
        try:
            found = await self.corpus.search(caller, ask)
        except NotFound:
            # Nobody has published anything yet that this caller may see.
            return []
        return list({it.passage.key: None for it in found.hits})

    async def _is_indexed(self, corpus: Corpus, caller: Caller) -> bool:
        async with self.store.reading(caller) as tx:
            clock = await tx.value(SQL["clock"])
        return await anyio.to_thread.run_sync(corpus.shelf.reached, caller.tenant_id) >= clock

    async def fetch(
        self, caller: Caller, slug: str, version: int | None = None
    ) -> tuple[ShippedPost, Package]:
        if slug in SLUGS or not caller.tenant:
            return await ShippedLibrary().fetch(caller, slug, version)
        async with self.store.reading(caller) as tx:
            row = await _row_of(tx, slug, version)
        post = read_post(row["key"], row["text"])
        if post is None:
            raise no_post(slug)
        package = await compute(caller.tenant_id, parse, row["text"], Format.MARKDOWN)
        return post, unmarked(package)

    async def slugs(self, caller: Caller) -> Sequence[str]:
        if not caller.tenant:
            return SLUGS
        async with self.store.reading(caller) as tx:
            rows = await tx.all(SQL["slugs"])
        return (*SLUGS, *(row["slug"] for row in rows))

    async def publish(self, call: Call, package: Package, post: ShippedPost) -> Published:
        """Keep a package under its slug: a new version, unless nothing in it is new."""
        if post.slug in SLUGS:
            raise Conflict(f"the slug {post.slug!r} is of a post that ships", field="slug")
        async with self.store.writing(call.caller, call.trace) as tx:
            folder = await tx.value(SQL["claim"], slug=post.slug, visibility=post.visibility)
            key = place(folder, post.slug)
            before = await _own(tx, call.caller, post.slug)
            if before and before.key != key:
                await texts.move(tx, SOURCE, before.key, key)
            if before and _same(before.post, before.document, package, post):
                return Published(replace(before.post, visibility=post.visibility), key, False)
            number = before.post.version + 1 if before else 1
            made = replace(post, version=number)
            await _put(tx, key, made, package)
        return Published(made, key, True)


@dataclass(frozen=True, slots=True)
class _Kept:
    key: str
    document: str
    post: ShippedPost


async def _row_of(tx: Transaction, slug: str, version: int | None) -> Row:
    keys = published_places(slug)
    newest = await tx.maybe(SQL["post"], keys=keys, ago=0)
    if newest is None:
        raise no_post(slug)
    post = read_post(newest["key"], newest["text"])
    if post is None or version in (None, post.version):
        return newest
    # Counted from the newest, for the oldest may have been forgotten.
    older = None
    if 0 < version < post.version:
        older = await tx.maybe(SQL["post"], keys=keys, ago=post.version - version)
    if older is None:
        raise no_post(slug, version)
    return older


async def _own(tx: Transaction, caller: Caller, slug: str) -> _Kept | None:
    private = place(f"{Visibility.PRIVATE}/{caller.user_id}/", slug)
    row = await tx.maybe(SQL["own"], keys=[private, *published_places(slug)])
    post = read_post(row["key"], row["text"]) if row else None
    return _Kept(row["key"], row["text"], post) if row and post else None


async def _put(tx: Transaction, key: str, post: ShippedPost, package: Package) -> None:
    text = canonical_text([RawUnit(1, UnitKind.SECTION, _document(package, post))])
    facts = FileFacts(
        SOURCE,
        key,
        size_bytes=len(text.text.encode()),
        modified_at=datetime.now(UTC),
        content_type="text/markdown",
        owner=post.author,
    )
    await texts.put(tx, facts, Text(text, title=post.title, language=post.language))


def _document(package: Package, post: ShippedPost) -> str:
    return encode(Package(compact(marked(package, post))), Format.MARKDOWN)


def _same(before: ShippedPost, document: str, package: Package, post: ShippedPost) -> bool:
    """Whether it would be the same document but for its number and its date."""
    again = replace(post, version=before.version, date=before.date)
    written = _document(package, again)
    return canonical_text([RawUnit(1, UnitKind.SECTION, written)]).text == document


def _ranked(rows: list[Row], query: str, lang: str) -> list[ShippedPost]:
    kept = (read_post(row["key"], row["text"]) for row in rows)
    return ranked([*shipped_in(lang), *(it for it in kept if it)], query)

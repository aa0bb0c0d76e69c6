"""Published packages: what a post is, and where posts come from. Ranks by words; keeps nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import anyio.to_thread

from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.language import primary_language
from pecia.rooms.ckf.heuristic.compile import compile_text
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.package.alike import plain_text
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.posts.shelf import SLUGS, ShippedPost, read_post, shipped_posts

TITLE, TAGS, EXCERPT, TEXT = 3, 2, 1, 1


@dataclass(frozen=True, slots=True)
class Found:
    """Posts that match, best first, and how many there are in all."""

    count: int
    posts: Sequence[ShippedPost]


class Library(Protocol):
    """Where posts come from, as a caller may see them."""

    async def search(self, caller: Caller, query: str, lang: str, limit: int) -> Found: ...

    async def fetch(
        self, caller: Caller, slug: str, version: int | None = None
    ) -> tuple[ShippedPost, Package]:
        """The post and its package, the newest version unless told; or NotFound."""
        ...

    async def slugs(self, caller: Caller) -> Sequence[str]: ...


class ShippedLibrary:
    """The posts that come with the program."""

    async def search(self, caller: Caller, query: str, lang: str, limit: int) -> Found:
        posts = await anyio.to_thread.run_sync(shipped_in, lang)
        found = ranked(posts, query)
        return Found(len(found), found[:limit])

    async def fetch(
        self, caller: Caller, slug: str, version: int | None = None
    ) -> tuple[ShippedPost, Package]:
        if slug not in SLUGS or version not in (None, 1):
            raise no_post(slug, version)
        return await anyio.to_thread.run_sync(_shipped, slug)

    async def slugs(self, caller: Caller) -> Sequence[str]:
        return SLUGS


def shipped_in(lang: str) -> list[ShippedPost]:
    """The posts that ship in a language."""
    return [it for it in shipped_posts() if primary_language(it.language) == lang]


def no_post(slug: str, version: int | None = None) -> NotFound:
    which = f"version {version} of {slug!r}" if version else repr(slug)
    return NotFound(f"no post {which}", slug=slug, hint="ckf.search_posts finds slugs.")


def ranked(posts: Iterable[ShippedPost], query: str) -> list[ShippedPost]:
    """Posts with a word of the query; first those with most of its words, then by weight."""
    terms = set(plain_text(query).split())
    scored = [(*_score(it, terms), it) for it in posts]
    found = [it for it in scored if it[0]]
    found.sort(key=lambda it: it[2].slug)
    found.sort(key=lambda it: (it[0], it[1], it[2].date), reverse=True)
    return [post for _, _, post in found]


def _score(post: ShippedPost, terms: set[str]) -> tuple[int, int]:
    weights = (
        (post.title, TITLE),
        (" ".join(post.tags), TAGS),
        (post.excerpt, EXCERPT),
        (post.text, TEXT),
    )
    held = [(set(plain_text(text).split()), weight) for text, weight in weights]
    matched = {term for term in terms if any(term in words for words, _ in held)}
    return len(matched), sum(weight for words, weight in held for term in terms if term in words)


@lru_cache(maxsize=16)
def _shipped(slug: str) -> tuple[ShippedPost, Package]:
    post = read_post(slug)
    source = SourceText(post.text, post.title, language=post.language, author=post.author)
    options = CompileOptions("article", created_at=f"{post.date}T00:00:00Z")
    return post, compile_text(source, options)

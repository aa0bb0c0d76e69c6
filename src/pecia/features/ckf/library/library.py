"""Published packages: the library interface, and posts that ship. Lexical ranking; stateless."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import anyio.to_thread

from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.similarity import normalize_words
from pecia.features.ckf.posts.loader import SLUGS, ShippedPost, load_post, load_shipped_posts
from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.language import primary_language

TITLE_WEIGHT, TAGS_WEIGHT, EXCERPT_WEIGHT, TEXT_WEIGHT = 3, 2, 1, 1


@dataclass(frozen=True, slots=True)
class PostSearchResult:
    """Matching posts, best first, and the total."""

    count: int
    posts: Sequence[ShippedPost]


class PostLibrary(Protocol):
    """A library of posts, as visible to a caller."""

    async def search(
        self, caller: Caller, query: str, lang: str, limit: int
    ) -> PostSearchResult: ...

    async def fetch(
        self, caller: Caller, slug: str, version: int | None = None
    ) -> tuple[ShippedPost, Package]:
        """The post and its package, by default the newest version; or NotFound."""
        ...

    async def slugs(self, caller: Caller) -> Sequence[str]: ...


class ShippedLibrary:
    """The posts that come with the program."""

    async def search(self, caller: Caller, query: str, lang: str, limit: int) -> PostSearchResult:
        posts = await anyio.to_thread.run_sync(list_shipped, lang)
        found = rank_posts(posts, query)
        return PostSearchResult(len(found), found[:limit])

    async def fetch(
        self, caller: Caller, slug: str, version: int | None = None
    ) -> tuple[ShippedPost, Package]:
        if slug not in SLUGS or version not in (None, 1):
            raise post_not_found(slug, version)
        return await anyio.to_thread.run_sync(_compile_shipped, slug)

    async def slugs(self, caller: Caller) -> Sequence[str]:
        return SLUGS


def list_shipped(lang: str) -> list[ShippedPost]:
    """The posts that ship in a language."""
    return [it for it in load_shipped_posts() if primary_language(it.language) == lang]


def post_not_found(slug: str, version: int | None = None) -> NotFound:
    which = f"version {version} of {slug!r}" if version else repr(slug)
    return NotFound(f"no post {which}", slug=slug, hint="ckf.search_posts finds slugs.")


def rank_posts(posts: Iterable[ShippedPost], query: str) -> list[ShippedPost]:
    """Posts with a term of the query; most terms first, then by weight."""
    terms = set(normalize_words(query).split())
    scored = [(*_score(it, terms), it) for it in posts]
    found = [it for it in scored if it[0]]
    found.sort(key=lambda it: it[2].slug)
    found.sort(key=lambda it: (it[0], it[1], it[2].date), reverse=True)
    return [post for _, _, post in found]


def _score(post: ShippedPost, terms: set[str]) -> tuple[int, int]:
    weights = (
        (post.title, TITLE_WEIGHT),
        (" ".join(post.tags), TAGS_WEIGHT),
        (post.excerpt, EXCERPT_WEIGHT),
        (post.text, TEXT_WEIGHT),
    )
    held = [(set(normalize_words(text).split()), weight) for text, weight in weights]
    matched = {term for term in terms if any(term in words for words, _ in held)}
    return len(matched), sum(weight for words, weight in held for term in terms if term in words)


@lru_cache(maxsize=16)
def _compile_shipped(slug: str) -> tuple[ShippedPost, Package]:
    post = load_post(slug)
    source = SourceText(post.text, post.title, language=post.language, author=post.author)
    options = CompileOptions("article", created_at=f"{post.date}T00:00:00Z")
    return post, compile_text(source, options)

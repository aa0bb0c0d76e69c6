"""The six built-in posts: texts with a metadata header.

Reads only files of this folder, and compiles nothing.
"""

from dataclasses import dataclass
from importlib.resources import files

from pecia.features.ckf.package.model import text_of, texts_of
from pecia.kernel.text.markdown.frontmatter import read_frontmatter, split_document

SLUGS = (
    "a-package-is-not-a-summary",
    "exceptions-are-the-hard-part",
    "every-quotation-has-a-place",
    "four-levels-of-density",
    "reading-without-a-model",
    "como-ler-um-pacote",
)
WORDS_PER_MINUTE = 200
POSTS_PACKAGE = "pecia.features.ckf.posts"


@dataclass(frozen=True, slots=True)
class ShippedPost:
    """A post; its package is compiled from `text`."""

    slug: str
    title: str
    excerpt: str
    category: str
    date: str
    author: str
    language: str
    tags: tuple[str, ...]
    text: str
    version: int = 1
    visibility: str = "public"
    minutes: int = 0
    """Reading time of the source, where `text` is not the source."""

    @property
    def reading_minutes(self) -> int:
        return self.minutes or estimate_minutes(len(self.text.split()))


def estimate_minutes(words: int) -> int:
    return max(1, round(words / WORDS_PER_MINUTE))


def load_shipped_posts() -> list[ShippedPost]:
    """All of them, newest first."""
    return sorted((load_post(it) for it in SLUGS), key=lambda it: it.date, reverse=True)


def load_post(slug: str) -> ShippedPost:
    """The post of one of `SLUGS`."""
    document = files(POSTS_PACKAGE).joinpath(f"{slug}.md").read_text(encoding="utf-8")
    head = read_frontmatter(document).values
    return ShippedPost(
        slug,
        *(text_of(head, it) for it in ("title", "excerpt", "category", "date", "author", "lang")),
        tags=tuple(texts_of(head, "tags")),
        text=split_document(document).body.lstrip(),
    )

"""Post metadata in the header of a published package. Pure.

The header is read without the rest of the package, so that listing posts is cheap.
"""

from enum import StrEnum

from pecia.features.ckf.package.codec.header import parse_header
from pecia.features.ckf.package.model import Item, Package, text_of
from pecia.features.ckf.package.walk import iter_content_texts
from pecia.features.ckf.posts.loader import ShippedPost, estimate_minutes
from pecia.kernel.errors import Json

SOURCE = "ckf"
KEY_SUFFIX = ".ckf.md"
HEADER_PREFIX = "post_"
TEXT_FIELDS = ("slug", "title", "excerpt", "category", "date", "author", "language")


class PostVisibility(StrEnum):
    """Readers: the owner, every member of the tenant, or anonymous users too if allowed."""

    PRIVATE = "private"
    TENANT = "tenant"
    PUBLIC = "public"


PUBLISHED = (PostVisibility.TENANT, PostVisibility.PUBLIC)


def add_post_header(package: Package, post: ShippedPost) -> Package:
    """The package with the post's metadata in its header."""
    facts: Item = {f"{HEADER_PREFIX}{it}": collapse_lines(getattr(post, it)) for it in TEXT_FIELDS}
    facts[f"{HEADER_PREFIX}tags"] = ", ".join(post.tags)
    facts[f"{HEADER_PREFIX}version"] = post.version
    facts[f"{HEADER_PREFIX}minutes"] = _source_minutes(package)
    return Package({**package.body, "metadata": {**remove_post_header(package).metadata, **facts}})


def _source_minutes(package: Package) -> int:
    """Reading time of the source: its passages are whole in the package."""
    passages = [text_of(it, "compressed_knowledge") for it in package.items("retrieval_chunks")]
    words = sum(len(it.split()) for it in passages)
    return estimate_minutes(words or len(" ".join(iter_content_texts(package)).split()))


def remove_post_header(package: Package) -> Package:
    """The package as it was before it became a post."""
    kept: dict[str, Json] = {
        key: value for key, value in package.metadata.items() if not key.startswith(HEADER_PREFIX)
    }
    return Package({**package.body, "metadata": kept})


def parse_post(key: str, document: str) -> ShippedPost | None:
    """The post at that key, by its header alone; None where the file is not a post."""
    head = parse_header(document.partition("\n## ")[0].split("\n"))
    facts = {
        it: text_of(head, f"{HEADER_PREFIX}{it}")
        for it in (*TEXT_FIELDS, "tags", "version", "minutes")
    }
    if not facts["slug"] or not facts["version"].isdecimal():
        return None
    tags = tuple(it for it in facts["tags"].split(", ") if it)
    return ShippedPost(
        *(facts[it] for it in TEXT_FIELDS),
        tags=tags,
        text=document,
        version=int(facts["version"]),
        visibility=key.partition("/")[0],
        minutes=int(facts["minutes"]) if facts["minutes"].isdecimal() else 0,
    )


def post_key(folder: str, slug: str) -> str:
    """The key of a package in its folder."""
    return f"{folder}{slug}{KEY_SUFFIX}"


def published_keys(slug: str) -> list[str]:
    """The keys at which a post of that slug may be."""
    return [post_key(f"{it}/{slug}/", slug) for it in PUBLISHED]


def collapse_lines(text: str) -> str:
    """Collapse to one line, as header lines require."""
    return " ".join(text.split())

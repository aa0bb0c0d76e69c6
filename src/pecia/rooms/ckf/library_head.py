"""What a published package says of itself as a post: lines of its own header. Pure.

The lines are read without the rest of the package, so that a list of posts stays cheap.
"""

from enum import StrEnum

from pecia.kernel.errors import Json
from pecia.rooms.ckf.package.header import read_header
from pecia.rooms.ckf.package.model import Item, Package, text_of
from pecia.rooms.ckf.posts.shelf import ShippedPost

SOURCE = "ckf"
ENDING = ".ckf.md"
PREFIX = "post_"
TEXTS = ("slug", "title", "excerpt", "category", "date", "author", "language")


class Visibility(StrEnum):
    """Who reads it: you, every member of the tenant, or strangers too where the room is open."""

    PRIVATE = "private"
    TENANT = "tenant"
    PUBLIC = "public"


PUBLISHED = (Visibility.TENANT, Visibility.PUBLIC)


def marked(package: Package, post: ShippedPost) -> Package:
    """The package with the facts of the post in its header."""
    facts: Item = {f"{PREFIX}{it}": one_line(getattr(post, it)) for it in TEXTS}
    facts[f"{PREFIX}tags"] = ", ".join(post.tags)
    facts[f"{PREFIX}version"] = post.version
    return Package({**package.body, "metadata": {**unmarked(package).metadata, **facts}})


def unmarked(package: Package) -> Package:
    """The package as it was before it became a post."""
    kept: dict[str, Json] = {
        key: value for key, value in package.metadata.items() if not key.startswith(PREFIX)
    }
    return Package({**package.body, "metadata": kept})


def read_post(key: str, document: str) -> ShippedPost | None:
    """The post at that key, by its header alone; None where something else was put there."""
    head = read_header(document.partition("\n## ")[0].split("\n"))
    facts = {it: text_of(head, f"{PREFIX}{it}") for it in (*TEXTS, "tags", "version")}
    if not facts["slug"] or not facts["version"].isdecimal():
        return None
    tags = tuple(it for it in facts["tags"].split(", ") if it)
    return ShippedPost(
        *(facts[it] for it in TEXTS),
        tags=tags,
        text=document,
        version=int(facts["version"]),
        visibility=key.partition("/")[0],
    )


def place(folder: str, slug: str) -> str:
    """The key of a package in its folder."""
    return f"{folder}{slug}{ENDING}"


def published_places(slug: str) -> list[str]:
    """Where a post of that slug is, if there is one."""
    return [place(f"{it}/{slug}/", slug) for it in PUBLISHED]


def one_line(text: str) -> str:
    """A header line has no second line."""
    return " ".join(text.split())

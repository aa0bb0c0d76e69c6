"""`ckf.publish`: a package becomes a post of the tenant. What it says is kept, never acted on."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import Field

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidFormat, Unprocessable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.slug import name_slug
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.ckf.argument import given_package
from pecia.rooms.ckf.compiling import ROOM, ReadSource
from pecia.rooms.ckf.inputs import PackageArgument, Short
from pecia.rooms.ckf.library_head import SOURCE, Visibility, one_line
from pecia.rooms.ckf.library_sources import stale
from pecia.rooms.ckf.library_store import StoredLibrary
from pecia.rooms.ckf.package.model import Package, text_of
from pecia.rooms.ckf.package.validate import validate
from pecia.rooms.ckf.posts.shelf import ShippedPost

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
LONGEST_SLUG = 200
LONGEST_EXCERPT = 500
SHOWN = 5


class Publish(Input):
    package: PackageArgument = Field(description="An object, or a document in any format.")
    slug: str | None = Field(
        default=None,
        pattern=SLUG,
        max_length=LONGEST_SLUG,
        description="Under which it is fetched; else made of the title.",
    )
    title: Short = Field(default="", description="Else that of the source.")
    excerpt: str = Field(default="", max_length=LONGEST_EXCERPT, description="Else its purpose.")
    category: Short = "Package"
    tags: list[str] = Field(default_factory=list[str], max_length=20)
    visibility: Visibility = Field(
        default=Visibility.TENANT,
        description="private: kept for you and not published; tenant; public: strangers too.",
    )


class PublishedOut(Output):
    slug: str
    version: int
    visibility: Visibility
    changed: bool = Field(description="False when this very package was published already.")
    uri: str
    url: str
    stale: list[str] = Field(description="Sources that have changed since it was compiled.")


@dataclass(frozen=True, slots=True)
class Publishing:
    """The handler. `base_url` begins the addresses of posts."""

    library: StoredLibrary
    read_source: ReadSource
    base_url: str

    async def publish(self, call: Call, ask: Publish) -> PublishedOut:
        """Publish a CKF package as a post of your tenant: found by search, fetched by its slug.
        Publishing under your own slug again makes a new version. A package with errors is refused;
        with the visibility private, a post is withdrawn and kept for you."""
        package = await compute(call.caller.tenant_id, _sound, ask)
        old = await stale(self.read_source, call.caller, package)
        done = await self.library.publish(call, package, _post(call, ask, package))
        post = done.post
        is_shown = post.visibility != Visibility.PRIVATE
        uri = f"pecia://file/{SOURCE}/{done.key}"
        return PublishedOut(
            slug=post.slug,
            version=post.version,
            visibility=Visibility(post.visibility),
            changed=done.changed,
            uri=uri,
            url=f"{self.base_url}/viewer?{f'post={post.slug}' if is_shown else f'uri={uri}'}",
            stale=old,
        )


def publish_tool(library: StoredLibrary, read_source: ReadSource, base_url: str) -> AnyTool:
    return Tool(
        ROOM,
        "ckf.publish",
        Scope.WRITE,
        Publish,
        PublishedOut,
        Publishing(library, read_source, base_url.rstrip("/")).publish,
        read_only=False,
        idempotent=True,
        title="Publish a package",
    )


def _sound(ask: Publish) -> Package:
    package = given_package(ask.package)
    verdict = validate(package.body, strict=False)
    if verdict.valid:
        return package
    first = "; ".join(f"{it.code} at {it.path}" for it in verdict.errors[:SHOWN])
    raise Unprocessable(
        f"the package has {len(verdict.errors)} errors: {first}",
        section="package",
        line=1,
        errors=[it.issue() for it in verdict.errors[:SHOWN]],
        hint="ckf.validate lists them all.",
    )


def _post(call: Call, ask: Publish, package: Package) -> ShippedPost:
    title = one_line(ask.title or text_of(package.metadata, "source_title")) or "Untitled"
    purpose = one_line(text_of(package.part("core_intent"), "primary_purpose"))
    return ShippedPost(
        slug=ask.slug or _slug(title),
        title=title,
        excerpt=one_line(ask.excerpt) or purpose[:LONGEST_EXCERPT],
        category=one_line(ask.category),
        date=datetime.now(UTC).date().isoformat(),
        author=call.caller.user,
        language=text_of(package.metadata, "language") or "en",
        tags=_tags(ask.tags),
        text="",
        visibility=ask.visibility.value,
    )


def _slug(title: str) -> str:
    words = _WORD.findall(name_slug(title[:LONGEST_SLUG]))
    if not words:
        raise InvalidFormat(
            'Field "slug" is required: the title has no Latin letter or digit',
            field="slug",
            expected=SLUG,
            got=title[:100],
        )
    return "-".join(words)


def _tags(given: list[str]) -> tuple[str, ...]:
    tags = tuple(dict.fromkeys(one_line(it) for it in given))
    bad = next((it for it in tags if not it or "," in it or len(it) > 50), None)
    if bad is not None:
        raise InvalidFormat(
            f'Field "tags" holds {bad[:60]!r}',
            field="tags",
            expected="1 to 50 characters each, without commas",
            got=bad[:60],
        )
    return tags


_WORD = re.compile(r"[a-z0-9]+")

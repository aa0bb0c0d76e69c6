"""`ckf.publish`: stores a package as a post of the tenant. Its text is never acted on."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import Field

from pecia.features.ckf.handles import PackageHandles
from pecia.features.ckf.library.header import SOURCE, PostVisibility, collapse_lines
from pecia.features.ckf.library.store import StoredLibrary
from pecia.features.ckf.model import ReadSource
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.model import Package, text_of
from pecia.features.ckf.posts.loader import ShippedPost
from pecia.features.ckf.sources import find_stale
from pecia.features.ckf.tools.arguments import parse_package_argument
from pecia.features.ckf.tools.compile import FEATURE
from pecia.features.ckf.tools.inputs import PackageArgument, ShortText
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidFormat, Unprocessable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.slug import name_slug
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SLUG_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"
MAX_SLUG_CHARS = 200
MAX_EXCERPT_CHARS = 500
MAX_SHOWN_ERRORS = 5


class PublishInput(Input):
    package: PackageArgument = Field(description="An object, a document, or a handle.")
    slug: str | None = Field(
        default=None,
        pattern=SLUG_PATTERN,
        max_length=MAX_SLUG_CHARS,
        description="The post's id; default: from the title.",
    )
    title: ShortText = Field(default="", description="Default: the source's.")
    excerpt: str = Field(
        default="", max_length=MAX_EXCERPT_CHARS, description="Default: its purpose."
    )
    category: ShortText = "Package"
    tags: list[str] = Field(default_factory=list[str], max_length=20)
    visibility: PostVisibility = Field(
        default=PostVisibility.TENANT,
        description="private: stored for you, not published; tenant; public: anonymous users too.",
    )


class PublishOut(Output):
    slug: str
    version: int
    visibility: PostVisibility
    changed: bool = Field(description="False if this exact package is already published.")
    uri: str
    url: str
    stale: list[str] = Field(description="Sources that have changed since it was compiled.")


@dataclass(frozen=True, slots=True)
class PublishTool:
    """The handler. `base_url` is the prefix of post URLs."""

    library: StoredLibrary
    read_source: ReadSource
    base_url: str
    handles: PackageHandles

    async def publish(self, call: Call, ask: PublishInput) -> PublishOut:
        """Publish a CKF package as a post of your tenant: found by search, fetched by its slug.
        Publishing under your own slug again makes a new version. A package with errors is refused;
        with the visibility private, a post is withdrawn and kept for you."""
        given = await self.handles.resolve(call.caller, ask.package)
        package = await compute(
            call.caller.tenant_id, _require_valid, ask.model_copy(update={"package": given})
        )
        old = await find_stale(self.read_source, call.caller, package)
        done = await self.library.publish(call, package, _post(call, ask, package))
        post = done.post
        is_shown = post.visibility != PostVisibility.PRIVATE
        uri = f"pecia://file/{SOURCE}/{done.key}"
        return PublishOut(
            slug=post.slug,
            version=post.version,
            visibility=PostVisibility(post.visibility),
            changed=done.changed,
            uri=uri,
            url=f"{self.base_url}/viewer?{f'post={post.slug}' if is_shown else f'uri={uri}'}",
            stale=old,
        )


def publish_tool(library: StoredLibrary, base_url: str, handles: PackageHandles) -> AnyTool:
    return Tool(
        FEATURE,
        "ckf.publish",
        Scope.WRITE,
        PublishInput,
        PublishOut,
        PublishTool(library, handles.read_source, base_url.rstrip("/"), handles).publish,
        read_only=False,
        idempotent=True,
        title="Publish a package",
    )


def _require_valid(ask: PublishInput) -> Package:
    package = parse_package_argument(ask.package)
    verdict = validate_package(package.body, strict=False)
    if verdict.valid:
        return package
    first = "; ".join(f"{it.code} at {it.path}" for it in verdict.errors[:MAX_SHOWN_ERRORS])
    raise Unprocessable(
        f"the package has {len(verdict.errors)} errors: {first}",
        section="package",
        line=1,
        errors=[it.to_json() for it in verdict.errors[:MAX_SHOWN_ERRORS]],
        hint="ckf.validate lists them all.",
    )


def _post(call: Call, ask: PublishInput, package: Package) -> ShippedPost:
    title = collapse_lines(ask.title or text_of(package.metadata, "source_title")) or "Untitled"
    purpose = collapse_lines(text_of(package.section_object("core_intent"), "primary_purpose"))
    return ShippedPost(
        slug=ask.slug or _slug(title),
        title=title,
        excerpt=collapse_lines(ask.excerpt) or purpose[:MAX_EXCERPT_CHARS],
        category=collapse_lines(ask.category),
        date=datetime.now(UTC).date().isoformat(),
        author=call.caller.user,
        language=text_of(package.metadata, "language") or "en",
        tags=_clean_tags(ask.tags),
        text="",
        visibility=ask.visibility.value,
    )


def _slug(title: str) -> str:
    words = _WORD.findall(name_slug(title[:MAX_SLUG_CHARS]))
    if not words:
        raise InvalidFormat(
            'Field "slug" is required: the title has no Latin letter or digit',
            field="slug",
            expected=SLUG_PATTERN,
            got=title[:100],
        )
    return "-".join(words)


def _clean_tags(given: list[str]) -> tuple[str, ...]:
    tags = tuple(dict.fromkeys(collapse_lines(it) for it in given))
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

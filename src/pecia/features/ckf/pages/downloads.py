"""Packages as downloads: of a post by URL, and of a page's form."""

from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Package, text_of
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.pages.context import PageContext
from pecia.features.ckf.pages.html import Html, join_html, tag
from pecia.features.ckf.pages.layout import attachment
from pecia.features.ckf.resources import MIME_TYPES
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidEnum
from pecia.kernel.feature import FeaturePage, FeatureRequest
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.slug import name_slug

EXTENSION_BY_FORMAT = {
    PackageFormat.JSON: "ckf.json",
    PackageFormat.YAML: "ckf.yaml",
    PackageFormat.MARKDOWN: "ckf.md",
}
LABEL_BY_FORMAT = {
    PackageFormat.JSON: "JSON",
    PackageFormat.YAML: "YAML",
    PackageFormat.MARKDOWN: "Markdown",
}
MAX_NAME_CHARS = 80


class PostDownload:
    """The companion file of a post, in a format of choice."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def serve(self, ask: FeatureRequest) -> FeaturePage:
        _, package = await self._context.library.fetch(ask.caller, ask.path["slug"])
        format = parse_format(ask.query.get("format", PackageFormat.JSON.value))
        return await download_package(ask.caller, package, format)


async def download_package(caller: Caller, package: Package, format: PackageFormat) -> FeaturePage:
    """The package as an attachment, named after its source."""
    document = await compute(caller.tenant_id, _document, package, format)
    title = name_slug(text_of(package.metadata, "source_title"))
    plain = "".join(it for it in title if it.isascii())[:MAX_NAME_CHARS].strip("-")
    return attachment(
        document, f"{plain or 'package'}.{EXTENSION_BY_FORMAT[format]}", MIME_TYPES[format]
    )


def _document(package: Package, format: PackageFormat) -> str:
    return encode_package(Package(compact_package(package)), format)


def parse_format(value: str) -> PackageFormat:
    if value not in [it.value for it in PackageFormat]:
        allowed = ", ".join(PackageFormat)
        raise InvalidEnum(
            f'Field "format" must be one of {allowed}; got {value[:50]!r}',
            field="format",
            allowed=[*PackageFormat],
        )
    return PackageFormat(value)


def render_links(slug: str) -> Html:
    """Downloads of a post."""
    return join_html(
        tag("a", LABEL_BY_FORMAT[it], href=f"/news/{slug}.ckf?format={it.value}", class_="button")
        for it in PackageFormat
    )


def render_buttons(form: str) -> Html:
    """The same for a form on the page, which is submitted again."""
    return join_html(
        tag("button", LABEL_BY_FORMAT[it], name="as", value=it.value, form=form, type="submit")
        for it in PackageFormat
    )

"""Packages as files to save: of a post by its address, and of what a page was given."""

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidEnum
from pecia.kernel.identity.caller import Caller
from pecia.kernel.room import Ask, Page
from pecia.kernel.text.slug import name_slug
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.model import Package, text_of
from pecia.rooms.ckf.package.normal import compact
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.frame import attachment
from pecia.rooms.ckf.pages.html import Html, joined, tag
from pecia.rooms.ckf.resources import MIME_TYPES

ENDINGS = {Format.JSON: "ckf.json", Format.YAML: "ckf.yaml", Format.MARKDOWN: "ckf.md"}
NAMES = {Format.JSON: "JSON", Format.YAML: "YAML", Format.MARKDOWN: "Markdown"}
LONGEST_NAME = 80


class NewsFile:
    """The companion file of a post, in a format of choice."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def serve(self, ask: Ask) -> Page:
        _, package = await self._desk.library.fetch(ask.caller, ask.path["slug"])
        format = format_of(ask.query.get("format", Format.JSON.value))
        return await saved(ask.caller, package, format)


async def saved(caller: Caller, package: Package, format: Format) -> Page:
    """The package as an attachment, named after its source."""
    document = await compute(caller.tenant_id, _document, package, format)
    title = name_slug(text_of(package.metadata, "source_title"))
    plain = "".join(it for it in title if it.isascii())[:LONGEST_NAME].strip("-")
    return attachment(document, f"{plain or 'package'}.{ENDINGS[format]}", MIME_TYPES[format])


def _document(package: Package, format: Format) -> str:
    return encode(Package(compact(package)), format)


def format_of(value: str) -> Format:
    if value not in [it.value for it in Format]:
        allowed = ", ".join(Format)
        raise InvalidEnum(
            f'Field "format" must be one of {allowed}; got {value[:50]!r}',
            field="format",
            allowed=[*Format],
        )
    return Format(value)


def links(slug: str) -> Html:
    """Downloads of a post."""
    return joined(
        tag("a", NAMES[it], href=f"/news/{slug}.ckf?format={it.value}", class_="button")
        for it in Format
    )


def buttons(form: str) -> Html:
    """The same for what a form on the page holds; the form is sent once more."""
    return joined(
        tag("button", NAMES[it], name="as", value=it.value, form=form, type="submit")
        for it in Format
    )

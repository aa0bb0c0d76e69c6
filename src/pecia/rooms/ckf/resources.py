"""What the room offers by address: the schema, the examples, and published posts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import orjson

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidEnum, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    Embedded,
    Page,
    Resource,
    ResourceEntry,
    ResourceTemplate,
)
from pecia.rooms.ckf.compiling import ROOM
from pecia.rooms.ckf.examples.shelf import TOPICS
from pecia.rooms.ckf.library import Library
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.schema import ADDRESS, package_schema
from pecia.rooms.ckf.showing import rendered_example

MIME_TYPES = {
    Format.JSON: "application/json",
    Format.YAML: "application/yaml",
    Format.MARKDOWN: "text/markdown",
}
SUGGESTED = 100


@dataclass(frozen=True, slots=True)
class Shelf:
    """The handlers."""

    library: Library

    async def listing(self, call: Call, cursor: str | None) -> Page:
        json = MIME_TYPES[Format.JSON]
        schema = ResourceEntry(ADDRESS, "schema", "CKF v0.2", "The JSON Schema of a package.", json)
        examples = (
            ResourceEntry(f"ckf://example/{it}", f"example-{it}", mime_type=json) for it in TOPICS
        )
        slugs = await self.library.slugs(call.caller)
        posts = (ResourceEntry(f"ckf://post/{it}", it, mime_type=json) for it in slugs)
        return Page((schema, *examples, *posts))

    async def read(self, call: Call, uri: str) -> tuple[Embedded, ...]:
        if uri == ADDRESS:
            text = orjson.dumps(package_schema(), option=orjson.OPT_INDENT_2).decode()
            return (Embedded(uri, text, MIME_TYPES[Format.JSON]),)
        address = _ADDRESS.fullmatch(uri.partition("?")[0])
        if not address:
            raise NotFound(f"nothing at {uri}", uri=uri, hint="resources/list names what there is.")
        format = _format(uri)
        return (Embedded(uri, await self._text(call, uri, address, format), MIME_TYPES[format]),)

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        """Slugs, topics and formats by their beginning."""
        choices: Iterable[str] = TOPICS if name == "topic" else Format
        if name == "slug":
            choices = await self.library.slugs(call.caller)
        found = [it for it in choices if it.startswith(value)]
        return Completion(tuple(found[:SUGGESTED]), len(found), len(found) > SUGGESTED)

    async def _text(self, call: Call, uri: str, address: re.Match[str], format: Format) -> str:
        kind, name = address[1], address[2]
        if kind == "post":
            _, package = await self.library.fetch(call.caller, name)
            return await compute(call.caller.tenant_id, encode, package, format)
        if name not in TOPICS:
            raise NotFound(f"no example on {name}", uri=uri, hint=f"One of {', '.join(TOPICS)}.")
        _, text = await anyio.to_thread.run_sync(partial(rendered_example, name, format))
        return text


def shelf(library: Library) -> Resource:
    it = Shelf(library)
    return Resource(ROOM, "ckf", Scope.READ, it.listing, it.read)


def templates(library: Library) -> tuple[ResourceTemplate, ...]:
    complete = Shelf(library).complete
    return tuple(
        ResourceTemplate(ROOM, uri, name, Scope.READ, about, MIME_TYPES[Format.JSON], complete)
        for uri, name, about in (
            ("ckf://post/{slug}", "post", "A published post as a package."),
            ("ckf://example/{topic}{?format}", "example", "An example, in a format of choice."),
        )
    )


def _format(uri: str) -> Format:
    (asked, *_) = parse_qs(urlsplit(uri).query).get("format", [Format.JSON.value])
    if asked not in [it.value for it in Format]:
        allowed = ", ".join(Format)
        raise InvalidEnum(
            f"format must be one of {allowed}; got {asked!r}", field="format", allowed=[*Format]
        )
    return Format(asked)


_ADDRESS = re.compile(r"ckf://(post|example)/([a-z0-9]+(?:-[a-z0-9]+)*)")

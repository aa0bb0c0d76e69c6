"""MCP resources: the schema, the examples, and published posts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import orjson

from pecia.features.ckf.core.agent_answer import render_sections
from pecia.features.ckf.examples.loader import TOPICS
from pecia.features.ckf.handles import PackageHandles
from pecia.features.ckf.library.library import PostLibrary
from pecia.features.ckf.package.archive import PREFIX
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.schema import SCHEMA_URI, build_package_schema
from pecia.features.ckf.tools.compile import FEATURE
from pecia.features.ckf.tools.posts import render_example
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidEnum, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    EmbeddedResource,
    Resource,
    ResourceEntry,
    ResourcePage,
    ResourceTemplate,
)

MIME_TYPES = {
    PackageFormat.JSON: "application/json",
    PackageFormat.YAML: "application/yaml",
    PackageFormat.MARKDOWN: "text/markdown",
}
MAX_COMPLETIONS = 100


@dataclass(frozen=True, slots=True)
class CkfResources:
    """The handlers."""

    library: PostLibrary

    async def list_page(self, call: Call, cursor: str | None) -> ResourcePage:
        json = MIME_TYPES[PackageFormat.JSON]
        schema = ResourceEntry(
            SCHEMA_URI, "schema", "CKF v0.2", "The JSON Schema of a package.", json
        )
        examples = (
            ResourceEntry(f"ckf://example/{it}", f"example-{it}", mime_type=json) for it in TOPICS
        )
        slugs = await self.library.slugs(call.caller)
        posts = (ResourceEntry(f"ckf://post/{it}", it, mime_type=json) for it in slugs)
        return ResourcePage((schema, *examples, *posts))

    async def read(self, call: Call, uri: str) -> tuple[EmbeddedResource, ...]:
        if uri == SCHEMA_URI:
            text = orjson.dumps(build_package_schema(), option=orjson.OPT_INDENT_2).decode()
            return (EmbeddedResource(uri, text, MIME_TYPES[PackageFormat.JSON]),)
        address = _ADDRESS.fullmatch(uri.partition("?")[0])
        if not address:
            raise NotFound(f"nothing at {uri}", uri=uri, hint="resources/list lists the resources.")
        format = _format(uri)
        return (
            EmbeddedResource(uri, await self._text(call, uri, address, format), MIME_TYPES[format]),
        )

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        """Slugs, topics and formats by their beginning."""
        choices: Iterable[str] = TOPICS if name == "topic" else PackageFormat
        if name == "slug":
            choices = await self.library.slugs(call.caller)
        found = [it for it in choices if it.startswith(value)]
        return Completion(tuple(found[:MAX_COMPLETIONS]), len(found), len(found) > MAX_COMPLETIONS)

    async def _text(
        self, call: Call, uri: str, address: re.Match[str], format: PackageFormat
    ) -> str:
        kind, name = address[1], address[2]
        if kind == "post":
            _, package = await self.library.fetch(call.caller, name)
            return await compute(call.caller.tenant_id, encode_package, package, format)
        if name not in TOPICS:
            raise NotFound(f"no example on {name}", uri=uri, hint=f"One of {', '.join(TOPICS)}.")
        _, text = await anyio.to_thread.run_sync(partial(render_example, name, format))
        return text


def build_resource(library: PostLibrary) -> Resource:
    it = CkfResources(library)
    return Resource(FEATURE, "ckf", Scope.READ, it.list_page, it.read)


@dataclass(frozen=True, slots=True)
class PackageResources:
    """Packages by handle, as Markdown. Not listed: each belongs to the caller that made it."""

    handles: PackageHandles

    async def list_page(self, call: Call, cursor: str | None) -> ResourcePage:
        return ResourcePage(())

    async def read(self, call: Call, uri: str) -> tuple[EmbeddedResource, ...]:
        package = await self.handles.open(call.caller, uri)
        markdown = PackageFormat.MARKDOWN
        text = await compute(call.caller.tenant_id, render_sections, package, markdown, [])
        return (EmbeddedResource(uri, text, MIME_TYPES[markdown]),)


def build_package_resource(handles: PackageHandles) -> Resource:
    it = PackageResources(handles)
    return Resource(FEATURE, "pecia", Scope.READ, it.list_page, it.read, prefix=PREFIX)


def build_templates(library: PostLibrary) -> tuple[ResourceTemplate, ...]:
    complete = CkfResources(library).complete
    return tuple(
        ResourceTemplate(
            FEATURE, uri, name, Scope.READ, about, MIME_TYPES[PackageFormat.JSON], complete
        )
        for uri, name, about in (
            ("ckf://post/{slug}", "post", "A published post as a package."),
            ("ckf://example/{topic}{?format}", "example", "An example, in a format of choice."),
        )
    )


def _format(uri: str) -> PackageFormat:
    (requested, *_) = parse_qs(urlsplit(uri).query).get("format", [PackageFormat.JSON.value])
    if requested not in [it.value for it in PackageFormat]:
        allowed = ", ".join(PackageFormat)
        raise InvalidEnum(
            f"format must be one of {allowed}; got {requested!r}",
            field="format",
            allowed=[*PackageFormat],
        )
    return PackageFormat(requested)


_ADDRESS = re.compile(r"ckf://(post|example)/([a-z0-9]+(?:-[a-z0-9]+)*)")

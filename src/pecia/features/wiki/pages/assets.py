"""Files that documents embed: shown under the rights of the space, and added by the editor."""

from contextlib import suppress
from dataclasses import dataclass

from anyio.to_thread import run_sync

from pecia.features.wiki.core.image import MEDIA_TYPES, detect_image, name_image
from pecia.features.wiki.core.names import parse_file_path
from pecia.features.wiki.pages.parameters import json_page, parse_parameters
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.space_write import begin_space_write
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.scan import load_ignore_rules
from pecia.kernel.errors import (
    Collision,
    InvalidFormat,
    NotFound,
    PayloadTooLarge,
    PeciaError,
    Unprocessable,
)
from pecia.kernel.feature import FeaturePage, FeatureRequest

MAX_IMAGE_BYTES = 10_000_000

HEADERS = (
    # Opened by itself, an SVG or a PDF of a document runs nothing and reaches nothing.
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    ("x-content-type-options", "nosniff"),
    ("cache-control", "private, no-store"),
)


@dataclass(frozen=True, slots=True)
class AssetPages:
    """The handlers."""

    wiki: Wiki

    async def show(self, ask: FeatureRequest) -> FeaturePage:
        """`GET /wiki/asset?space=&path=`: a file of the space that is not a document."""
        query = parse_parameters(ask.query, ("path",), ("space",))
        opened = await self.wiki.open(ask.call, None, query.get("space"))
        path = parse_file_path(query["path"])
        inside = path.removeprefix(opened.prefix)
        if not path.startswith(opened.prefix) or inside not in opened.other_files:
            raise NotFound(f"no file {path!r}", field="path", path=path[:500])
        body = await run_sync(disk.read, opened.root, inside)
        opened.record_returned([inside])
        kind = MEDIA_TYPES.get(inside[inside.rfind(".") :].lower())
        if kind is not None:
            return FeaturePage(body, kind, headers=HEADERS)
        download = ("content-disposition", "attachment")
        return FeaturePage(body, "application/octet-stream", headers=(*HEADERS, download))

    async def add(self, ask: FeatureRequest) -> FeaturePage:
        """`POST /wiki/asset?space=&doc=&name=`: store an image beside the document."""
        query = parse_parameters(ask.query, ("doc", "name"), ("space",))
        extension = _require_image(ask.body)
        opened = await self.wiki.open(ask.call, None, query.get("space"))
        document = opened.find(query["doc"], "doc")
        name = name_image(query["name"], ask.body, extension)
        folder = document.path.rpartition("/")[0]
        path = f"{folder}/{name}" if folder else name
        if load_ignore_rules(opened.root, path).is_path_ignored(path):
            raise InvalidFormat(
                f"{path!r} would be excluded by the ignore rules", field="name", got=path[:200]
            )
        await _store(opened, path, ask.body)
        opened.record_returned([path])
        return json_page({"path": opened.prefix + path, "link": name, "bytes": len(ask.body)})


async def _store(opened: OpenSpace, path: str, body: bytes) -> None:
    is_new = False
    try:
        async with begin_space_write(opened) as writer:
            await writer.require_may_write(path)
            if await run_sync(disk.exists, opened.root, path):
                if await run_sync(disk.read, opened.root, path) != body:
                    raise Collision(f"another file is at {path!r}", path=path)
            else:
                await run_sync(disk.create, opened.root, path, body, None)
                is_new = True
    except BaseException:
        if is_new:
            with suppress(PeciaError):
                disk.remove(opened.root, path)
        raise


def _require_image(body: bytes) -> str:
    if len(body) > MAX_IMAGE_BYTES:
        raise PayloadTooLarge(
            f"an image has at most {MAX_IMAGE_BYTES} bytes", field="body", max=MAX_IMAGE_BYTES
        )
    extension = detect_image(body)
    if extension is None:
        raise Unprocessable(
            "only PNG, JPEG, GIF, WebP and AVIF images can be added",
            field="body",
            hint="convert the image, or put other files into the folder yourself",
        )
    return extension

"""`ckf.viewer_url`: a link that a person can open. Only builds it; nothing is fetched here."""

import base64
import zlib
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import orjson

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool
from pecia.rooms.ckf.argument import given_package, one_of
from pecia.rooms.ckf.compiling import ROOM
from pecia.rooms.ckf.inputs import ViewerUrl
from pecia.rooms.ckf.outputs import Viewer
from pecia.rooms.ckf.package.normal import compact

LONGEST_URL = 64 * 1024
ENDINGS = (".ckf", ".ckf.json", ".ckf.yaml", ".ckf.md", ".json")


@dataclass(frozen=True, slots=True)
class Viewing:
    """The handler. `base_url` is where people reach this server."""

    base_url: str

    async def viewer_url(self, call: Call, ask: ViewerUrl) -> Viewer:
        """A link to the viewer for a CKF package, or for the address of a .ckf file."""
        one_of(ask.package, ask.url, ("package", "url"))
        if ask.url is not None:
            return _viewer(f"{self.base_url}/viewer?src={_address(ask.url)}", "remote")
        fragment = await compute(call.caller.tenant_id, packed, ask.package)
        return _viewer(f"{self.base_url}/viewer#ckf={fragment}", "inline")


def viewer_tool(base_url: str) -> AnyTool:
    return Tool(
        ROOM,
        "ckf.viewer_url",
        Scope.READ,
        ViewerUrl,
        Viewer,
        Viewing(base_url.rstrip("/")).viewer_url,
        idempotent=True,
    )


def packed(value: Json) -> str:
    """The package for the part of an address that browsers never send: zlib, then base64url."""
    body = orjson.dumps(compact(given_package(value)))
    return base64.urlsafe_b64encode(zlib.compress(body, 9)).decode().rstrip("=")


def unpacked(fragment: str) -> Json:
    """What `packed` was given, for tests and for the page."""
    padded = fragment + "=" * (-len(fragment) % 4)
    return orjson.loads(zlib.decompress(base64.urlsafe_b64decode(padded)))


def _viewer(url: str, mode: str) -> Viewer:
    if len(url) > LONGEST_URL:
        raise PayloadTooLarge(
            f'Field "package" is too long for a link (max {LONGEST_URL} chars, got {len(url)})',
            field="package",
            max=LONGEST_URL,
            length=len(url),
            hint="Publish the file, and give its url.",
        )
    return Viewer(url=url, mode=mode, bytes=len(url))


def _address(url: str) -> str:
    """The address, percent-encoded, if it can be that of a package."""
    try:
        parts = urlsplit(url)
        ours = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        )
    except ValueError:
        ours = False
        parts = urlsplit("")
    if not ours or not parts.path.endswith(ENDINGS):
        raise InvalidFormat(
            'Field "url" must be the http or https address of a package, without a password',
            field="url",
            expected=f"a path that ends in {', '.join(ENDINGS)}",
            got=url[:200],
        )
    return quote(url, safe="")

"""`ckf.viewer_url`: builds a viewer link for people. Fetches nothing."""

import base64
import zlib
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import orjson

from pecia.features.ckf.handles import PackageHandles
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.tools.arguments import parse_package_argument, require_one_of
from pecia.features.ckf.tools.compile import FEATURE
from pecia.features.ckf.tools.inputs import ViewerUrlInput
from pecia.features.ckf.tools.outputs import ViewerUrlOut
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool

MAX_URL_CHARS = 64 * 1024
PACKAGE_EXTENSIONS = (".ckf", ".ckf.json", ".ckf.yaml", ".ckf.md", ".json")


@dataclass(frozen=True, slots=True)
class ViewerUrlTool:
    """The handler. `base_url` is this server's public URL."""

    base_url: str
    handles: PackageHandles

    async def viewer_url(self, call: Call, ask: ViewerUrlInput) -> ViewerUrlOut:
        """A link to the viewer for a CKF package, or for the address of a .ckf file."""
        require_one_of(ask.package, ask.url, ("package", "url"))
        if ask.url is not None:
            return _viewer_out(
                f"{self.base_url}/viewer?src={_parse_package_url(ask.url)}", "remote"
            )
        given = await self.handles.resolve(call.caller, ask.package)
        fragment = await compute(call.caller.tenant_id, pack_fragment, given)
        return _viewer_out(f"{self.base_url}/viewer#ckf={fragment}", "inline")


def viewer_tool(base_url: str, handles: PackageHandles) -> AnyTool:
    return Tool(
        FEATURE,
        "ckf.viewer_url",
        Scope.READ,
        ViewerUrlInput,
        ViewerUrlOut,
        ViewerUrlTool(base_url.rstrip("/"), handles).viewer_url,
        idempotent=True,
    )


def pack_fragment(value: Json) -> str:
    """The package for the URL fragment, which browsers never send: zlib, then base64url."""
    body = orjson.dumps(compact_package(parse_package_argument(value)))
    return base64.urlsafe_b64encode(zlib.compress(body, 9)).decode().rstrip("=")


def _viewer_out(url: str, mode: str) -> ViewerUrlOut:
    if len(url) > MAX_URL_CHARS:
        raise PayloadTooLarge(
            f'Field "package" is too long for a link (max {MAX_URL_CHARS} chars, got {len(url)})',
            field="package",
            max=MAX_URL_CHARS,
            length=len(url),
            hint="Publish the file, and give its url.",
        )
    return ViewerUrlOut(url=url, mode=mode, bytes=len(url))


def _parse_package_url(url: str) -> str:
    """The URL, percent-encoded, if it can be a package's."""
    try:
        parts = urlsplit(url)
        ours = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        )
    except ValueError:
        ours = False
        parts = urlsplit("")
    if not ours or not parts.path.endswith(PACKAGE_EXTENSIONS):
        raise InvalidFormat(
            'Field "url" must be the http or https address of a package, without a password',
            field="url",
            expected=f"a path that ends in {', '.join(PACKAGE_EXTENSIONS)}",
            got=url[:200],
        )
    return quote(url, safe="")

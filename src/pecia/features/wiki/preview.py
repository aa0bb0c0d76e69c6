"""Preview URLs: where a person can see the document that a tool just touched. Opens nothing."""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import orjson

from pecia.features.wiki.storage import disk
from pecia.kernel.errors import Json, PeciaError

UI_LOCK = ".pecia/ui.lock"


@dataclass(frozen=True, slots=True)
class PreviewSettings:
    """From the installation: deep links of a desktop app, or a URL that overrides all others."""

    desktop: bool = False
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class PreviewLinks:
    """Preview URLs of one project. Without a base URL every link is null."""

    project: str
    source: str | None = None
    base_url: str | None = None
    lock_port: int | None = None

    def link(self, name: str) -> dict[str, Json]:
        """The two preview fields of a document."""
        if self.source is None:
            return {"previewUrl": None}
        return {"previewUrl": self._url(name), "previewUrlSource": self.source}

    def url(self, name: str) -> str | None:
        return None if self.source is None else self._url(name)

    @property
    def ui(self) -> dict[str, Json]:
        """The URL of the running editor UI, regardless of the link format."""
        base = None if self.lock_port is None else f"http://localhost:{self.lock_port}"
        return {"baseUrl": base, "port": self.lock_port}

    def _url(self, name: str) -> str:
        if self.source == "electron-protocol":
            asked = urlencode({"project": self.project, "doc": name}, quote_via=quote)
            return f"openknowledge://open?{asked}"
        path = "/".join(quote(it, safe="") for it in name.split("/"))
        return f"{str(self.base_url).rstrip('/')}/#/{path}"


def choose_preview(
    project: Path, ways: PreviewSettings, lock: Mapping[str, Json] | None, configured: str | None
) -> PreviewLinks:
    """The first available: app, installation URL, lock file, setting."""
    port = _port(lock)
    made = str(project)
    if ways.desktop:
        return PreviewLinks(made, "electron-protocol", None, port)
    if ways.base_url and _is_url(ways.base_url):
        return PreviewLinks(made, "env", ways.base_url, port)
    if port is not None:
        return PreviewLinks(made, "lock", f"http://localhost:{port}", port)
    if configured:
        return PreviewLinks(made, "config", configured, port)
    return PreviewLinks(made)


def read_ui_lock(
    project: Path, is_alive: Callable[[int], bool] | None = None
) -> Mapping[str, Json] | None:
    """The lock file of the editor UI; None if missing, or its process is gone."""
    try:
        found = orjson.loads(disk.read(project, UI_LOCK, 100_000))
    except (PeciaError, ValueError):
        return None
    match found:
        case {"pid": int(pid), "hostname": str(host)} if host == socket.gethostname():
            return found if (is_alive or _is_alive)(pid) else None
        case _:
            return None


def _port(lock: Mapping[str, Json] | None) -> int | None:
    port = (lock or {}).get("port")
    return port if isinstance(port, int) and 0 < port < 65536 else None


def _is_url(text: str) -> bool:
    found = urlsplit(text)
    return bool(found.scheme and found.netloc)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return pid > 0

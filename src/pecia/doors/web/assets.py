"""The built pages as files in memory, by path. Nothing outside the package can be reached."""

import mimetypes
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

STATIC = "static"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file. What its name hashes never changes, so a browser may keep it for ever."""

    body: bytes
    content_type: str
    is_hashed: bool


def load_assets() -> dict[str, Asset]:
    """Every built file by its path below `/console/`; empty where the pages were not built."""
    folder = files("pecia.doors.web").joinpath(STATIC)
    return dict(_below(folder, "")) if folder.is_dir() else {}


def _below(folder: Traversable, path: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in sorted(folder.iterdir(), key=lambda it: it.name):
        name = f"{path}{entry.name}"
        if entry.is_dir():
            found += _below(entry, f"{name}/")
        else:
            found.append((name, _asset(entry, name)))
    return found


def _asset(entry: Traversable, name: str) -> Asset:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    text = kind.startswith("text/") or kind in ("application/javascript", "image/svg+xml")
    return Asset(
        entry.read_bytes(),
        f"{kind}; charset=utf-8" if text else kind,
        name.startswith("assets/"),
    )

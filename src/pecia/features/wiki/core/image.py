"""Which images a document may embed: by their first bytes, not by their names. Pure."""

import re
import unicodedata
from hashlib import sha256

MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
    ".pdf": "application/pdf",
}
"""What is served to be shown. Everything else is a download."""

MAX_STEM_CHARS = 60


def detect_image(body: bytes) -> str | None:
    """The extension of a raster image; None for anything else, SVG included: it may hold code."""
    if body.startswith(b"\x89PNG\r\n\x1a\n"):
        return ".png"
    if body.startswith(b"\xff\xd8\xff"):
        return ".jpg"
    if body.startswith((b"GIF87a", b"GIF89a")):
        return ".gif"
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return ".webp"
    return ".avif" if body[4:12] in (b"ftypavif", b"ftypavis") else None


def name_image(given: str, body: bytes, extension: str) -> str:
    """A plain file name. The same image under the same name is the same file."""
    stem = given.rpartition("/")[2].rpartition("\\")[2]
    stem = stem.rpartition(".")[0] or stem
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    slug = _NOT_PLAIN.sub("-", plain).strip("-")[:MAX_STEM_CHARS].strip("-") or "image"
    return f"{slug}-{sha256(body).hexdigest()[:8]}{extension}"


_NOT_PLAIN = re.compile("[^a-z0-9]+")

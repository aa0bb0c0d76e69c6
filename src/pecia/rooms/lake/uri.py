"""The stable address of a file: `pecia://file/<source>/<key>`, and the reference's form of it."""

from dataclasses import dataclass
from urllib.parse import quote, unquote

from pecia.kernel.errors import InvalidFormat

SCHEME = "pecia"
REFERENCE_SCHEME = "kdbl"
TEMPLATE = "pecia://file/{source}/{key}"


@dataclass(frozen=True, slots=True)
class FileAddress:
    source_id: str
    key: str


def file_uri(source_id: str, key: str) -> str:
    """The slashes of a key stay as they are; those of a source would look like its end."""
    return f"{SCHEME}://file/{quote(source_id, safe='')}/{quote(key, safe='/')}"


def read_uri(uri: str) -> FileAddress:
    """Which file the URI means, or an error that says what one looks like."""
    scheme, _, rest = uri.partition("://")
    source, slash, key = rest.removeprefix("file/").partition("/")
    is_ours = scheme.lower() in (SCHEME, REFERENCE_SCHEME) and rest.startswith("file/")
    if not (is_ours and source and slash and key):
        raise InvalidFormat(
            f"{uri[:200]!r} is no file URI", field="uri", got=uri[:500], expected=TEMPLATE
        )
    return FileAddress(_read(source, uri), _read(key, uri))


def _read(part: str, uri: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise InvalidFormat(
            "the escaped bytes of the URI are not UTF-8", field="uri", got=uri[:500]
        ) from None

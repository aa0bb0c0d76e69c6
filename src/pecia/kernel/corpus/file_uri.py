"""The stable URI of a file: `pecia://file/<source>/<key>`, and the reference's form of it.

A part of a very long file has the URI of the file and `?start=N`, the index of a chunk.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from pecia.kernel.errors import InvalidFormat

SCHEME = "pecia"
REFERENCE_SCHEME = "kdbl"
TEMPLATE = "pecia://file/{source}/{key}"

# Never in the key of one of our URIs: its question marks are escaped.
_PART = re.compile(r"\?start=([0-9]{1,9})$")


@dataclass(frozen=True, slots=True)
class FileAddress:
    source_id: str
    key: str


def file_uri(source_id: str, key: str) -> str:
    """The slashes of a key stay; those of a source id are escaped."""
    return f"{SCHEME}://file/{quote(source_id, safe='')}/{quote(key, safe='/')}"


def part_uri(uri: str, start: int) -> str:
    """The URI of the part of that file which begins with a chunk."""
    return f"{_PART.sub('', uri)}?start={start}"


def parse_start(uri: str) -> int:
    """The chunk that a part begins with; 0 for a whole file."""
    found = _PART.search(uri)
    return int(found[1]) if found else 0


def is_file_uri(text: str) -> bool:
    """Whether it begins as one."""
    return text.partition("://")[0].lower() in (SCHEME, REFERENCE_SCHEME)


def parse_file_uri(uri: str) -> FileAddress:
    """The file of the URI; an error shows the template."""
    scheme, _, rest = _PART.sub("", uri).partition("://")
    source, slash, key = rest.removeprefix("file/").partition("/")
    is_ours = scheme.lower() in (SCHEME, REFERENCE_SCHEME) and rest.startswith("file/")
    if not (is_ours and source and slash and key):
        raise InvalidFormat(
            f"{uri[:200]!r} is not a file URI", field="uri", got=uri[:500], expected=TEMPLATE
        )
    return FileAddress(_unquote(source, uri), _unquote(key, uri))


def _unquote(part: str, uri: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise InvalidFormat(
            "the escaped bytes of the URI are not UTF-8", field="uri", got=uri[:500]
        ) from None

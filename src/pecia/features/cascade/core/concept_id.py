"""Concept ids: parsing and normalization. No I/O."""

import posixpath
import re
import unicodedata

from pecia.kernel.errors import InvalidFormat, MissingField

RESERVED = frozenset({"index", "log"})
"""File names, at every level, that are never concepts."""

MAX_ID_CHARS = 1_000


def parse_concept_id(written: str) -> str:
    """The id in any accepted spelling; path traversal is refused."""
    if not written.strip():
        raise MissingField("concept_id is required", field="concept_id")
    cut = written.partition("#")[0].partition("?")[0].strip().replace("\\", "/")
    found = posixpath.normpath(without_extension(cut)) if cut else "."
    if not is_id(found):
        raise InvalidFormat(
            f"Invalid concept ID: {written[:200]}",
            field="concept_id",
            expected="a path from the root of a layer, such as systems/auth-service",
        )
    return normalize_nfc(found)


def is_id(path: str) -> bool:
    """Whether a path stays inside the layer."""
    parts = path.split("/")
    clean = all(it not in ("", ".", "..") for it in parts)
    return clean and len(path) <= MAX_ID_CHARS and path.isprintable() and "\ufffd" not in path


def id_of_path(path: str) -> str:
    """The id of a file, by its path in the layer."""
    return normalize_nfc(without_extension(path))


def is_reserved(path: str) -> bool:
    """Whether a file is an index or a log, which are never concepts."""
    return without_extension(path).rpartition("/")[2] in RESERVED


def without_extension(path: str) -> str:
    return _EXTENSION.sub("", path)


def normalize_nfc(text: str) -> str:
    """NFC, whichever normalization form the file system uses."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


_EXTENSION = re.compile(r"(?<=[^/])\.md$", re.IGNORECASE)

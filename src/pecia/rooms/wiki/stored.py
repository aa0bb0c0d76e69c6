"""A document as the corpus keeps it. Pure."""

from datetime import UTC, datetime

from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.texts import Text
from pecia.kernel.text.canonical import CanonicalText, RawUnit, UnitKind, canonical_text
from pecia.kernel.text.charset import decode
from pecia.rooms.wiki.disk import Stamp
from pecia.rooms.wiki.facts import read_facts
from pecia.rooms.wiki.names import split_extension

CONTENT_TYPE = "text/markdown"
EXTRACTOR = "wiki 1"


def decoded(body: bytes) -> str | None:
    """The text of a document that can be written back byte for byte; None where it is not UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def readable(body: bytes) -> str | None:
    """The text of a document in whichever charset, as the lake reads it; None where it is no text.

    For reading alone: what is not in UTF-8 is not written back.
    """
    text = decoded(body)
    if text is not None:
        return text
    found = decode(body)
    return found.text if found else None


def document_text(text: str) -> CanonicalText:
    """The text that citations refer to."""
    return canonical_text([RawUnit(1, UnitKind.SECTION, text)] if text else ())


def document_facts(source_id: str, key: str, stamp: Stamp) -> FileFacts:
    """What the store is told of the file."""
    return FileFacts(
        source_id,
        key,
        size_bytes=stamp.size_bytes,
        modified_at=datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC),
        etag=stamp.etag,
        content_type=CONTENT_TYPE,
        owner=str(stamp.uid),
        posix_mode=stamp.mode,
        posix_uid=stamp.uid,
        posix_gid=stamp.gid,
    )


def document_of(key: str, body: bytes) -> Text:
    """What the store is told of its text."""
    text = readable(body)
    if text is None:
        return Text(canonical_text(()), status="corrupt", reason="The document is no text.")
    said = read_facts(text)
    name = split_extension(key)[0]
    canonical = document_text(text)
    title = said.title or said.heading or name.rpartition("/")[2]
    status = "ok" if text.strip() else "empty"
    return Text(canonical, title=title, extractor=EXTRACTOR, status=status)

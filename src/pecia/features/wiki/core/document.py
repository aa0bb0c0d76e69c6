"""A document as a row of the corpus. Pure."""

from dataclasses import replace
from datetime import UTC, datetime

from pecia.features.wiki.core.metadata import DocumentMetadata, parse_metadata
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.storage.disk import FileStamp
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.text.canonical import CanonicalText, RawUnit, UnitKind, build_canonical_text
from pecia.kernel.text.charset import decode

CONTENT_TYPE = "text/markdown"
EXTRACTOR = "wiki 1"


def decode_utf8(body: bytes) -> str | None:
    """The text, if it can be written back byte for byte; None where it is not UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def decode_any_charset(body: bytes) -> str | None:
    """The text in any charset, as the lake reads it; None where it is not text.

    Read-only: only UTF-8 is written back.
    """
    text = decode_utf8(body)
    if text is not None:
        return text
    found = decode(body)
    return found.text if found else None


def canonicalize_text(text: str) -> CanonicalText:
    """The text that citations refer to."""
    return build_canonical_text([RawUnit(1, UnitKind.SECTION, text)] if text else ())


def document_facts(source_id: str, key: str, stamp: FileStamp) -> FileMetadata:
    """The file metadata for the corpus."""
    return FileMetadata(
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


def extract_document(
    key: str, body: bytes, parsed: DocumentMetadata | None = None
) -> tuple[ExtractedText, DocumentMetadata]:
    """The extracted text for the corpus, and the metadata: `parsed`, or from one parse."""
    text = decode_any_charset(body)
    if text is None:
        corrupt = ExtractedText(
            build_canonical_text(()), status="corrupt", reason="The document is not text."
        )
        return corrupt, DocumentMetadata()
    said = parse_metadata(text) if parsed is None else parsed
    status = "ok" if text.strip() else "empty"
    found = ExtractedText(canonicalize_text(text), extractor=EXTRACTOR, status=status)
    return with_title(found, key, said), said


def with_title(text: ExtractedText, key: str, metadata: DocumentMetadata) -> ExtractedText:
    """The text with the title of its document."""
    if text.status == "corrupt":
        return text
    leaf = split_extension(key)[0].rpartition("/")[2]
    return replace(text, title=metadata.display_title(leaf))

"""The look into a zip file before anything opens it: bombs, passwords and traps are refused."""

import zipfile
from dataclasses import dataclass

from pecia.adapters.extraction.readers.input_file import InputFile, UnreadableFile
from pecia.adapters.extraction.status import ExtractionStatus

MB = 1_000_000
_ENCRYPTED = 0x1
_XML_HEAD = 2_000


@dataclass(frozen=True, slots=True)
class ZipLimits:
    entries: int = 10_000
    inflated_bytes: int = 512 * MB
    part_bytes: int = 256 * MB
    ratio: int = 200
    # Small files may be as repetitive as they like.
    free_bytes: int = 8 * MB


LIMITS = ZipLimits()


def check_zip(file: InputFile, limits: ZipLimits = LIMITS) -> None:
    """Raise unless the package is safe to inflate."""
    with file.stream() as stream, zipfile.ZipFile(stream) as package:
        entries = package.infolist()
        _check_sizes(entries, file.size_bytes, limits)
        if any(it.flag_bits & _ENCRYPTED for it in entries):
            raise UnreadableFile(
                ExtractionStatus.ENCRYPTED, "It is an office document with a password."
            )
        _check_manifest(package)
        for it in entries:
            _check_part(package, it)


def _check_sizes(entries: list[zipfile.ZipInfo], size_bytes: int, limits: ZipLimits) -> None:
    if len(entries) > limits.entries:
        raise UnreadableFile(
            ExtractionStatus.TOO_LARGE,
            f"It holds {len(entries):,} parts; {limits.entries:,} are allowed.",
        )
    inflated = sum(it.file_size for it in entries)
    largest = max((it.file_size for it in entries), default=0)
    if inflated > limits.inflated_bytes or largest > limits.part_bytes:
        raise UnreadableFile(
            ExtractionStatus.TOO_LARGE,
            f"It would inflate to {inflated / MB:,.0f} MB;"
            f" {limits.inflated_bytes / MB:,.0f} MB are allowed,"
            f" {limits.part_bytes / MB:,.0f} MB in one part.",
        )
    if inflated > limits.free_bytes and inflated > limits.ratio * size_bytes:
        raise UnreadableFile(
            ExtractionStatus.TOO_LARGE,
            f"It would inflate to {inflated // size_bytes:,} times its size.",
        )
    if sum(it.compress_size for it in entries) > size_bytes:
        raise UnreadableFile(
            ExtractionStatus.CORRUPT, "Its parts overlap, as in a file made to do harm."
        )


def _check_manifest(package: zipfile.ZipFile) -> None:
    name = "META-INF/manifest.xml"
    if name in package.namelist() and b":encryption-data" in package.read(name):
        raise UnreadableFile(ExtractionStatus.ENCRYPTED, "It is an OpenDocument with a password.")


def _check_part(package: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Office formats declare no entities; a file that does wants to grow, or to reach out."""
    if not entry.filename.endswith((".xml", ".rels", ".opf")):
        return
    with package.open(entry) as part:
        head = part.read(_XML_HEAD)
    if b"<!ENTITY" in head or (b"<!DOCTYPE" in head and b"[" in head.partition(b"<!DOCTYPE")[2]):
        raise UnreadableFile(
            ExtractionStatus.CORRUPT,
            f"Its part {entry.filename} declares entities, as no honest one does.",
        )

"""One text in a gzip file, inflated in memory within a bound. Packed archives stay closed."""

import gzip
import io
import zlib
from typing import BinaryIO

from pecia.adapters.extraction.readers.input_file import InputFile, UnreadableFile
from pecia.adapters.extraction.status import ExtractionStatus

MB = 1_000_000
MAX_INFLATED_BYTES = 128 * MB
MAX_RATIO = 200
# Small files may be as repetitive as they like.
FREE_BYTES = 8 * MB
_MAGIC = b"\x1f\x8b\x08"
_HEAD_BYTES = 65_536


class InflatedFile(InputFile):
    """What is in a gzip file, under its name without the ending."""

    def __init__(self, packed: InputFile, content: bytes) -> None:
        self.name = packed.name[:-3] if packed.extension == "gz" else packed.name
        self.content_type = self.charset = ""
        dot = self.name.rfind(".", 1)
        self.extension = self.name[dot + 1 :].lower() if dot > 0 else ""
        self.size_bytes = len(content)
        self.head = content[:_HEAD_BYTES]
        self.data = content

    def stream(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def buffer(self) -> bytes:
        return self.data


def is_gzip(file: InputFile) -> bool:
    return file.head.startswith(_MAGIC)


def inflate_head(file: InputFile) -> InflatedFile | None:
    """The beginning of what is inside, enough to say what it is; none of a damaged file."""
    try:
        return InflatedFile(file, _inflate(file, _HEAD_BYTES + 1))
    except UnreadableFile:
        return None


def inflate(file: InputFile) -> InflatedFile:
    """All that is inside, or why that is too much."""
    limit = max(FREE_BYTES, min(MAX_INFLATED_BYTES, MAX_RATIO * file.size_bytes))
    content = _inflate(file, limit + 1)
    if len(content) > limit:
        raise UnreadableFile(
            ExtractionStatus.TOO_LARGE,
            f"It would inflate to more than {limit / MB:,.0f} MB, which is what is allowed.",
        )
    return InflatedFile(file, content)


def _inflate(file: InputFile, most: int) -> bytes:
    try:
        with file.stream() as stream, gzip.GzipFile(fileobj=stream) as packed:
            return packed.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(
            ExtractionStatus.CORRUPT, "It is a gzip file that is damaged or cut off."
        ) from error

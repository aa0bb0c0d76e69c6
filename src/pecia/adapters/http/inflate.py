"""Bodies read under a limit, compressed or not. Pure: bytes in, bytes out."""

import zlib
from collections.abc import Iterator

from pecia.kernel.errors import PayloadTooLarge, UpstreamError

ACCEPTED = "gzip, deflate"

_STEP_BYTES = 65_536
_GZIP = zlib.MAX_WBITS | 16
_WINDOW_BITS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


class BoundedBody:
    """Counts what arrives and what it opens to: both must stay under the limit."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        encoding = encoding.strip().lower()
        self._inflater = None if encoding in ("", "identity") else _Inflater(encoding)
        self._max_bytes = max_bytes
        self._arrived = 0
        self._opened = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The plain bytes these stand for, a step at a time."""
        self._arrived = self._within(self._arrived + len(data))
        if self._inflater is None:
            yield data
            return
        full = False
        while data or full:
            piece, data = self._inflater.step(data)
            full = len(piece) == _STEP_BYTES
            self._opened = self._within(self._opened + len(piece))
            if piece:
                yield piece

    def finish(self) -> None:
        """Refuse a compressed body that was cut off in the middle."""
        if self._inflater is not None and self._arrived and not self._inflater.done:
            raise UpstreamError("the compressed body ends in the middle")

    def _within(self, size_bytes: int) -> int:
        if size_bytes > self._max_bytes:
            raise PayloadTooLarge(
                f"the answer is larger than {self._max_bytes} bytes",
                field="url",
                max=self._max_bytes,
            )
        return size_bytes


class _Inflater:
    def __init__(self, encoding: str) -> None:
        if encoding not in _WINDOW_BITS:
            raise UpstreamError(
                f"the body is encoded as {encoding!r}, only {ACCEPTED} was asked for",
                rule="encoding",
            )
        self._encoding = encoding
        self._inflate = zlib.decompressobj(_WINDOW_BITS[encoding])
        self._untouched = True

    @property
    def done(self) -> bool:
        return self._inflate.eof

    def step(self, data: bytes) -> tuple[bytes, bytes]:
        """At most one step of plain bytes, and the compressed bytes that are left."""
        if self._inflate.eof:
            if not data:
                return b"", b""
            # What follows a finished gzip member is the next member.
            self._inflate = zlib.decompressobj(_WINDOW_BITS[self._encoding])
        try:
            piece = self._inflate.decompress(data, _STEP_BYTES)
        except zlib.error as error:
            if not self._untouched or self._encoding != "deflate":
                raise UpstreamError(f"the body is not {self._encoding}: {error}") from None
            # Half the servers that say deflate leave out the header that the standard asks for.
            self._untouched = False
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            return self.step(data)
        self._untouched = False
        return piece, self._inflate.unconsumed_tail or self._inflate.unused_data

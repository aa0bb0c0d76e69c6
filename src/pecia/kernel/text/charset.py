"""Bytes that may be text, as text: UTF-8 first, then what is said of them, then a guess."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pecia.kernel.text.code_page import WESTERN, detect_latin

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"""<\?xml[^>]{0,200}\bencoding\s*=\s*["']([\w.:-]{1,40})|<meta[^>]{0,300}\bcharset\s*=\s*["']?([\w.:-]{1,40})""",
    re.IGNORECASE,
)
# What browsers take these labels for.
_MEANT = {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252"}
# By which encodings of seven bits switch: their text is valid UTF-8, and not what was written.
_ESCAPE = b"\x1b"
_GUESSED_BYTES = 100_000
# Characters that text does not have, but for the few that terminals and page breaks use.
_STRAY_CONTROLS = 1
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class DecodedText:
    text: str
    encoding: str


def decode(data: bytes, charset: str = "", *, is_whole: bool = True) -> DecodedText | None:
    """The text, or nothing when these bytes are none. A head may end amid a character.

    `charset` is what the file came with, if anything was said.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _try(data, encoding, is_whole)
    if encoding := _detect_utf16(data):
        return _try(data, encoding, is_whole)
    if len(_CONTROL.findall(data[:8192])) > max(_STRAY_CONTROLS, len(data[:8192]) // 100):
        return None
    for encoding in _candidate_encodings(data, charset):
        if found := _try(data, encoding, is_whole):
            return found
    return _guess(data)


def decode_any(data: bytes, charset: str = "") -> DecodedText:
    """The text, whatever the bytes are."""
    return decode(data, charset) or DecodedText(data.decode("utf-8", "replace"), "utf-8")


def _candidate_encodings(data: bytes, charset: str) -> Iterator[str]:
    """What to try, in order. A server says one thing of all its pages, so UTF-8 goes before it."""
    meant = _MEANT.get(charset, charset)
    if meant and _ESCAPE in data:
        yield meant
    yield "utf-8"
    if meant:
        yield meant
    if declared := _DECLARED.search(data[:4096]):
        yield (declared[1] or declared[2]).decode("ascii")


def _try(data: bytes, encoding: str, is_whole: bool) -> DecodedText | None:
    try:
        # Fails for a codec that is none of text: a page may name one that unpacks.
        "".encode(encoding)
        # A decoder that waits for more forgives a character cut in two at the end.
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=is_whole)
    except (UnicodeError, LookupError):
        return None
    return DecodedText(text, encoding)


def _detect_utf16(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of Western text is nothing."""
    sample = data[:2000]
    if len(sample) < 8 or (len(sample) % 2 and len(data) == len(sample)):
        return ""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.7 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and odd < 0.1 * half else ""


def _guess(data: bytes) -> DecodedText | None:
    encoding = detect_latin(data[:_GUESSED_BYTES]) or _guess_by_statistics(data[:_GUESSED_BYTES])
    text = data.decode(encoding, "replace")
    return None if text.count("\ufffd") > len(text) // 20 else DecodedText(text, encoding)


def _guess_by_statistics(data: bytes) -> str:
    # It is slow to import, and few files need it.
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    return best.encoding if best is not None else WESTERN

"""Backslashes and entities in Markdown, undone; paths, written so that they survive. Pure."""

import re
from html.entities import html5
from urllib.parse import unquote


def unescape(source: str) -> str:
    """The characters that a destination, a label or a title stands for."""
    if "\\" not in source and "&" not in source:
        return source
    return _ESCAPE.sub(_unescape_part, source)


def path_length(destination: str) -> int:
    """How much of a destination comes before its query or fragment."""
    if "\\" not in destination and "&" not in destination:
        cut = _PLAIN_CUT.search(destination)
        return cut.start() if cut else len(destination)
    for part in _CUT.finditer(destination):
        if _unescape_part(part) in ("#", "?"):
            return part.start()
    return len(destination)


def decode_path(path: str) -> str:
    """Percent signs undone, once. A part with a byte that is no UTF-8 stays as it was written."""
    if "%" not in path:
        return path
    return "/".join(it if _is_undecodable(it) else unquote(it) for it in path.split("/"))


def encode_path(path: str, *, angled: bool, like: str = "") -> str:
    """The path as a destination, readable: only what would be read otherwise is encoded.

    `like` is the path as it was written before: the parts of it that are the same stay as they
    were written, to the byte.
    """
    unsafe = _UNSAFE_ANGLED if angled else _UNSAFE
    # A part that ends in a backslash would escape what follows it.
    written = {decode_path(unescape(it)): it for it in like.split("/") if not it.endswith("\\")}

    def encode(part: str) -> str:
        if part in written:
            return written[part]
        return unsafe.sub(lambda it: "".join(f"%{byte:02X}" for byte in it[0].encode()), part)

    return "/".join(encode(it) for it in path.split("/"))


def _is_undecodable(part: str) -> bool:
    """Whether its escapes stand for bytes that are no UTF-8."""
    if "%" not in part:
        return False
    return any("\udc80" <= it <= "\udcff" for it in unquote(part, errors="surrogateescape"))


def _unescape_part(part: re.Match[str]) -> str:
    source = part[0]
    if source.startswith("\\"):
        return source[1:]
    if source.startswith("&#"):
        digits = source[2:-1]
        code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    if source.startswith("&"):
        return html5.get(source[1:], source)
    return source


_ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_ESCAPE = re.compile(rf"\\{_PUNCTUATION}|{_ENTITY}")
_PLAIN_CUT = re.compile(r"[#?]")
_CUT = re.compile(rf"\\{_PUNCTUATION}|{_ENTITY}|[#?]")
# A backtick could begin code, a pipe the next cell of a table, an ampersand an entity.
_UNSAFE_ANGLED = re.compile(rf"[\x00-\x1f\x7f<>\\%#?`|]|&(?={_ENTITY[1:]})")
_UNSAFE = re.compile(rf"[\x00-\x20\x7f<>\\%#?`|()]|&(?={_ENTITY[1:]})")

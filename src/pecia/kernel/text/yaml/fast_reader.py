"""A quick reader for the plain YAML that most frontmatter is. Gives up whenever it is not sure.

The full parser takes half a millisecond for ten lines, too long for a cascade of 60,000 concepts. A
law holds the two to the same answer.
"""

import math
import re

from pecia.kernel.errors import Json


def read_plain_yaml(text: str) -> dict[str, Json] | None:
    """The mapping, or None when the full parser must look.

    Understood are scalars on one line, lists on one line, and block lists of scalars, under keys
    that differ.
    """
    reader = _Reader()
    try:
        for line in text.replace("\r\n", "\n").split("\n"):
            reader.feed(line)
    except _Unsure:
        return None
    return reader.values or None


def parse_scalar(text: str) -> Json:
    """What a plain scalar means in the core schema of YAML 1.2, less what JSON cannot say."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if _INT.fullmatch(text):
        return _int(text, 10)
    if _BASED.fullmatch(text):
        return _int(text, 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


class _Unsure(Exception):
    """Something that only the full parser understands."""


class _Reader:
    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.open_key = ""
        self.indent: str | None = None

    def feed(self, line: str) -> None:
        if not line.isprintable():
            raise _Unsure
        if not line or line.startswith("#"):
            return
        if entry := _ENTRY.fullmatch(line):
            self._entry(entry[1], (entry[2] or "").strip(" "))
        elif (item := _ITEM.fullmatch(line)) and self.open_key:
            self._item(item[1], item[2].strip(" "))
        else:
            raise _Unsure

    def _entry(self, key: str, rest: str) -> None:
        if key in self.values:
            raise _Unsure
        self.open_key = "" if rest else key
        self.indent = None
        self.values[key] = _inline(rest) if rest else None

    def _item(self, indent: str, rest: str) -> None:
        if self.indent not in (None, indent):
            raise _Unsure
        self.indent = indent
        items = self.values[self.open_key]
        if isinstance(items, list):
            items.append(_scalar(rest, PLAIN))
        else:
            self.values[self.open_key] = [_scalar(rest, PLAIN)]


def _inline(rest: str) -> Json:
    if not rest.startswith("["):
        return _scalar(rest, PLAIN)
    inner = rest[1:-1].strip(" ")
    if not rest.endswith("]"):
        raise _Unsure
    return [_scalar(it.strip(" "), PLAIN_IN_FLOW) for it in inner.split(",")] if inner else []


def _scalar(rest: str, plain: re.Pattern[str]) -> Json:
    if plain.fullmatch(rest):
        return parse_scalar(rest)
    if quoted := _QUOTED.fullmatch(rest):
        return quoted[1] or quoted[2] or ""
    raise _Unsure


def _int(text: str, base: int) -> int | str:
    # A number of thousands of digits takes Python seconds, and JSON readers 64 bits at most.
    number = int(text, base) if len(text) <= 24 else 2**64
    return number if -(2**63) <= number < 2**63 else text


_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?: (.*))?")
_ITEM = re.compile(r"( *)- (.*)")
_QUOTED = re.compile(r""""([^"\\]*)"|'([^']*)'""")
# No indicator first, no colon before a space or at the end, no hash after a space.
PLAIN = re.compile(r"[A-Za-z0-9_./(+\u00a1-\U0010ffff][^:#]*(?:(?::(?=[^ ])|(?<! )#)[^:#]*)*")
PLAIN_IN_FLOW = re.compile(r"[A-Za-z0-9_./(+\u00a1-\U0010ffff][^\[\]{},:#\"'&*!|>%@`]*")

_WORDS: dict[str, Json] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
}
_NUMERIC = frozenset("+-.0123456789")
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

"""Parses any YAML; our own form by a fast path.

The full parser reads some 100,000 characters a second. The form that we write is read line by line;
at the first line in any other form the full parser reads it all. A property test compares the two.
"""

import re
from dataclasses import dataclass

from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge, Unprocessable
from pecia.kernel.text.yaml.fast_reader import PLAIN, parse_scalar
from pecia.kernel.text.yaml.reader import LoadedYaml, YamlLimits, YamlSource, load_yaml

YAML_LIMITS = YamlLimits(size_bytes=8_000_000, depth=64, nodes=1_000_000)


@dataclass(frozen=True, slots=True)
class DecodedMapping:
    """A decoded text or block, with warnings."""

    value: Item
    warnings: tuple[str, ...] = ()


def parse_mapping(text: str, section: str, first_line: int = 1) -> DecodedMapping:
    """Parse a mapping; `section` is for messages."""
    quick = parse_own_yaml(text)
    if quick is not None:
        return DecodedMapping(quick)
    loaded = _load(text, section, first_line)
    if not isinstance(loaded.value, dict):
        raise Unprocessable(
            f"{section}, line {first_line}: a mapping was expected",
            section=section,
            line=first_line,
        )
    return DecodedMapping(
        loaded.value,
        tuple(
            f"line {it.at.line}: {it.key!r} given again, the last counts" for it in loaded.repeated
        ),
    )


def parse_own_yaml(text: str) -> Item | None:
    """Parse a mapping in the form that we write."""
    try:
        lines = [_line(it) for it in text.split("\n") if it]
        value, end = _mapping(lines, 0, 0) if lines else ({}, 0)
    except _Unsure:
        return None
    return value if end == len(lines) else None


def _load(text: str, section: str, first_line: int) -> LoadedYaml:
    try:
        return load_yaml(text, YamlSource(section, first_line), YAML_LIMITS)
    except (InvalidFormat, PayloadTooLarge) as error:
        line = error.fields.get("line", first_line)
        raise Unprocessable(error.message, section=section, line=line) from error


class _Unsure(Exception):
    """Input that needs the full parser."""


@dataclass(frozen=True, slots=True)
class _Line:
    indent: int
    text: str


def _line(raw: str) -> _Line:
    if not raw.isprintable() or raw.endswith(" "):
        raise _Unsure
    text = raw.lstrip(" ")
    return _Line(len(raw) - len(text), text.removesuffix("  # none extracted"))


def _block(lines: list[_Line], at: int, indent: int) -> tuple[Json, int]:
    if at == len(lines) or lines[at].indent != indent:
        raise _Unsure
    if lines[at].text.startswith("- "):
        return _list(lines, at, indent)
    return _mapping(lines, at, indent)


def _mapping(lines: list[_Line], at: int, indent: int) -> tuple[Item, int]:
    found: Item = {}
    while at < len(lines) and lines[at].indent == indent:
        entry = _ENTRY.fullmatch(lines[at].text)
        if not entry:
            raise _Unsure
        key = _unquote(entry[1]) if entry[1][0] == '"' else entry[1]
        if key in found:
            raise _Unsure
        if entry[2] is not None:
            found[key], at = _scalar(entry[2]), at + 1
        else:
            found[key], at = _block(lines, at + 1, indent + 2)
    return found, at


def _list(lines: list[_Line], at: int, indent: int) -> tuple[list[Json], int]:
    found: list[Json] = []
    while at < len(lines) and lines[at].indent == indent and lines[at].text.startswith("- "):
        rest = lines[at].text[2:]
        if rest.startswith("- ") or _ENTRY.fullmatch(rest):
            # The first line of a nested block is on the line of the dash.
            lines[at] = _Line(indent + 2, rest)
            value, at = _block(lines, at, indent + 2)
        else:
            value, at = _scalar(rest), at + 1
        found.append(value)
    return found, at


def _scalar(text: str) -> Json:
    if text[0] == '"' and _QUOTED.fullmatch(text):
        return _unquote(text)
    if text in _EMPTY:
        return _EMPTY[text].copy()
    if PLAIN.fullmatch(text) or _NEGATIVE.fullmatch(text):
        return parse_scalar(text)
    raise _Unsure


def _unquote(text: str) -> str:
    return _ESCAPE.sub(_character, text[1:-1]) if "\\" in text else text[1:-1]


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if not code:
        return _SHORT[escape[0][1]]
    number = int(code, 16)
    if 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
        raise _Unsure
    return chr(number)


_TEXT = r'"(?:[^"\\]|\\(?:["\\/nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}))*"'
_ENTRY = re.compile(rf"([A-Za-z_][A-Za-z0-9_-]*|{_TEXT}):(?: ([^ ].*))?")
_QUOTED = re.compile(_TEXT)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|.)")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t"}
_NEGATIVE = re.compile(r"-[0-9.]+(?:e[-+][0-9]+)?")
_EMPTY: dict[str, "list[Json] | Item"] = {"[]": [], "{}": {}}

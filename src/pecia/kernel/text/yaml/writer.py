"""Plain values written as YAML 1.2 that older readers take the same way. Never reads.

What `load_yaml` gives for the text is the value that was written.
"""

import re

from pecia.kernel.errors import Json
from pecia.kernel.text.yaml.fast_reader import PLAIN, PLAIN_IN_FLOW, parse_scalar

MAX_FLOW_CHARS = 80


def dump_yaml(value: Json, line_end: str = "\n") -> str:
    """The value as a document in block style, lists of a few words on one line."""
    return "".join(it + line_end for it in block_lines(value, 0))


def block_lines(value: Json, indent: int) -> list[str]:
    """The value's lines without line ends, indented by that many spaces."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        return [line for key, it in value.items() for line in entry_lines(key, it, indent)]
    if isinstance(value, list) and value:
        return [line for it in value for line in item_lines(it, indent)]
    return [pad + dump_flow(value)]


def entry_lines(key: str, value: Json, indent: int) -> list[str]:
    head = f"{' ' * indent}{dump_scalar(key)}:"
    if fits_one_line(value):
        return [f"{head} {dump_flow(value)}"]
    return [head, *block_lines(value, indent + 2)]


def item_lines(value: Json, indent: int) -> list[str]:
    first, *rest = block_lines(value, indent + 2)
    return [f"{' ' * indent}- {first[indent + 2 :]}", *rest]


def fits_one_line(value: Json) -> bool:
    """Scalars, empty collections, and lists of scalars that are short."""
    if not isinstance(value, (dict, list)) or not value:
        return True
    if isinstance(value, dict) or any(isinstance(it, (dict, list)) for it in value):
        return False
    return len(dump_flow(value)) <= MAX_FLOW_CHARS


def dump_flow(value: Json) -> str:
    """The value on one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(_flow_entry(key, it) for key, it in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_in_flow(it) for it in value)}]"
    return dump_scalar(value)


def dump_scalar(value: Json, style: str = "") -> str:
    """A scalar on one line, in the quotes given if it can be, else plain if that is safe."""
    if isinstance(value, str):
        return _quote(value, style)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _flow_entry(key: str, value: Json) -> str:
    return f"{_in_flow(key)}: {_in_flow(value)}"


def _in_flow(value: Json) -> str:
    if isinstance(value, str) and not PLAIN_IN_FLOW.fullmatch(value):
        return _quote(value, '"')
    return dump_flow(value)


def _quote(text: str, style: str) -> str:
    if style == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if style != '"' and _is_plain(text):
        return text
    return '"' + "".join(map(_escape, text)) + '"'


def _is_plain(text: str) -> bool:
    return (
        bool(PLAIN.fullmatch(text))
        and text.isprintable()
        and not text.endswith(" ")
        and not _OTHER_MEANING.fullmatch(text)
        and isinstance(parse_scalar(text), str)
    )


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Readers of YAML 1.1 take these words for booleans, and digits with colons for numbers.
_OTHER_MEANING = re.compile(
    r"(?i:y|n|yes|no|on|off)|[-+]?[0-9][0-9_]*(?::[0-9.]+)+|[-+]?[0-9._]+|0[bB][01_]+|\.(?:inf|nan)"
)

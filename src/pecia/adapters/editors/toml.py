"""Changes to tables of TOML that leave every other character of the text alone. Pure.

A change is tried on the text, and its author reads it back: what TOML allows is more than what is
found here, and a table that was written in an unusual way is refused, never damaged.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pecia.kernel.errors import InvalidFormat, Json, Unprocessable

_HEADER = re.compile(r"^[ \t]*\[[^\r\n]*", re.MULTILINE)
_VALUE = r'("(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\[[^\]]*\])'


def read(text: str) -> dict[str, Json]:
    """What the text says."""
    try:
        # Numbers as they are written: one of them is not even equal to itself.
        return cast(dict[str, Json], tomllib.loads(text.removeprefix("\ufeff"), parse_float=str))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidFormat(f"it is not TOML: {error}", field="file") from None


def put(text: str, path: Sequence[str], value: Json) -> str:
    """The text with a table, or with another value for one key of a table."""
    if isinstance(value, dict):
        table: Mapping[str, Json] = value
        return _with_table(drop(text, path), path, table)
    *table_path, key = path
    blocks = [it for it in _blocks(text) if it.path == tuple(table_path)]
    line = re.compile(rf"(?m)^([ \t]*{re.escape(key)}[ \t]*=[ \t]*){_VALUE}")
    for block in blocks:
        if found := line.search(text, block.start, block.end):
            return text[: found.start(2)] + _toml_value(value) + text[found.end(2) :]
    raise Unprocessable(
        f"`{key}` of [{_join_keys(table_path)}] is not written in a line of its own"
    )


def drop(text: str, path: Sequence[str]) -> str:
    """The text without that table and those within it. What is remarked after it stays."""
    depth, wanted = len(path), tuple(path)
    for block in reversed([*_blocks(text)]):
        if block.path[:depth] == wanted:
            text = text[: block.start] + text[block.rest :]
    return text


@dataclass(frozen=True, slots=True)
class _Block:
    """A header and what follows it. At `rest` there is nothing left but remarks."""

    path: tuple[str, ...]
    start: int
    end: int
    rest: int


def _blocks(text: str) -> Iterator[_Block]:
    headers = [*_headers(text)]
    for number, (start, path) in enumerate(headers):
        end = headers[number + 1][0] if number + 1 < len(headers) else len(text)
        yield _Block(path, start, end, end - len(_remarks(text[start:end])))


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    start = 0
    for found in _HEADER.finditer(text):
        path = _path(found.group())
        if path is not None and _is_whole(text[start : found.start()]):
            start = found.start()
            yield start, path


def _remarks(block: str) -> str:
    """The last lines of a block that are empty or comments: they are about what follows it."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", block)
    first = len(lines)
    while first > 1 and lines[first - 1].lstrip()[:1] in ("", "#"):
        first -= 1
    return "".join(lines[first:])


def _is_whole(text: str) -> bool:
    """Whether no value is open at the end: a line of a long text may look like a header."""
    try:
        read(text)
    except InvalidFormat:
        return False
    return True


def _path(header: str) -> tuple[str, ...] | None:
    """The keys of a line that is a header, read as TOML reads it."""
    try:
        found: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(found, dict) and found:
        key, found = next(iter(cast(dict[str, Any], found).items()))
        path.append(key)
    return tuple(path)


def _with_table(text: str, path: Sequence[str], table: Mapping[str, Json]) -> str:
    new_line = "\r\n" if "\r\n" in text else "\n"
    plain = {key: it for key, it in table.items() if not isinstance(it, dict)}
    lines = [f"[{_join_keys(path)}]", *(f"{key} = {_toml_value(it)}" for key, it in plain.items())]
    for key, inner in table.items():
        if isinstance(inner, dict):
            lines += ["", f"[{_join_keys((*path, key))}]"]
            lines += [f"{name} = {_toml_value(it)}" for name, it in inner.items()]
    block = "".join(f"{line}{new_line}" for line in lines)
    if not text.strip():
        return text + block
    last = text.removesuffix(new_line)
    gap = new_line * ((last == text) + (not last.endswith(new_line)))
    return f"{text}{gap}{block}"


def _join_keys(path: Sequence[str]) -> str:
    return ".".join(path)


def _toml_value(value: Json) -> str:
    """As TOML writes it. Strings and lists of them are the same in JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

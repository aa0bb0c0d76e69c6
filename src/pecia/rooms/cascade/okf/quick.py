"""A quick reader for frontmatter with one level of nesting, as `generated` and `sources` have it.

The full parser takes most of a millisecond for such a block, which is a minute for a cascade of
60,000 concepts. Gives up whenever it is not sure; a law holds it to the full parser's answer.
"""

import re
from collections.abc import Iterator

from pecia.kernel.errors import Json
from pecia.kernel.text.yaml_plain import read_plain


def read_nested(yaml: str) -> dict[str, Json] | None:
    """The mapping, or None when the full parser must look."""
    values: dict[str, Json] = {}
    for head, block in _entries(yaml.replace("\r\n", "\n").split("\n")):
        found = _entry(head, block)
        if found is None or not found.keys().isdisjoint(values):
            return None
        values.update(found)
    return values or None


def _entries(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Every line that starts a key, and the lines beneath it."""
    head: str | None = None
    block: list[str] = []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if line.startswith((" ", "-")):
            block.append(line)
            continue
        if head is not None or block:
            yield head or "", block
        head, block = line, []
    if head is not None or block:
        yield head or "", block


def _entry(head: str, block: list[str]) -> dict[str, Json] | None:
    plain = read_plain("\n".join([head, *block]))
    if plain is not None:
        return plain
    key = read_plain(head)
    if not key or not block or [*key.values()] != [None]:
        return None
    value = _block(block)
    return None if value is None else dict.fromkeys(key, value)


def _block(lines: list[str]) -> Json:
    indent = len(lines[0]) - len(lines[0].lstrip(" "))
    inner = [it[indent:] for it in lines]
    if any(it[:indent].strip(" ") for it in lines):
        return None
    if inner[0].startswith("- "):
        return _mappings(inner)
    return read_plain("\n".join(inner)) if indent else None


def _mappings(lines: list[str]) -> Json:
    """A list whose items are flat mappings."""
    items: list[list[str]] = []
    for line in lines:
        if line.startswith("- ") and _KEY.match(line, 2):
            items.append([line[2:]])
        elif line.startswith("  ") and _KEY.match(line, 2) and items:
            items[-1].append(line[2:])
        else:
            return None
    read = [read_plain("\n".join(it)) for it in items]
    return None if None in read else [it for it in read if it is not None]


_KEY = re.compile(r"[A-Za-z_]")

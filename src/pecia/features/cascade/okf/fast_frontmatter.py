"""Fast path for frontmatter that is flat, or has one level of nesting like `generated`.

The full parser takes most of a millisecond for such a block, which is a minute for a cascade of
60,000 concepts. Falls back whenever unsure; a property test compares it with the full parser.
"""

import re
from collections.abc import Iterator

from pecia.kernel.errors import Json
from pecia.kernel.text.yaml.fast_reader import read_plain_yaml
from pecia.kernel.text.yaml.reader import DEFAULT_LIMITS

# A character is at most four bytes, so this is within the full parser's limit.
MAX_CHARS = DEFAULT_LIMITS.size_bytes // 4


def parse_head_fast(text: str) -> tuple[dict[str, Json], int] | None:
    """The frontmatter and the start of the body, or None to fall back to the full parser."""
    end = text.find("\n---", 3)
    start = end + 5
    if not text.startswith("---\n") or end < 0 or text[start - 1 : start] != "\n":
        return None
    # Nor may a closing line come earlier, after a lone carriage return: such a line is not flat.
    values = parse_values_fast(text[4 : end + 1])
    return (values, start) if values else None


def parse_values_fast(yaml: str) -> dict[str, Json] | None:
    """The values of a block, or None to fall back."""
    if len(yaml) > MAX_CHARS:
        return None
    return read_plain_yaml(yaml) or parse_nested_fast(yaml)


def parse_nested_fast(yaml: str) -> dict[str, Json] | None:
    """The mapping, or None to fall back."""
    lines = yaml.replace("\r\n", "\n").split("\n")
    if not all(map(str.isprintable, lines)):
        return None
    values: dict[str, Json] = {}
    for head, block in _entries(lines):
        found = _entry(head, block)
        if found is None or not found.keys().isdisjoint(values):
            return None
        values.update(found)
    return values or None


def _entries(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Every line that starts a key, with the lines below it."""
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
    plain = read_plain_yaml("\n".join([head, *block]))
    if plain is not None:
        return plain
    key = read_plain_yaml(head)
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
    return read_plain_yaml("\n".join(inner)) if indent else None


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
    read = [read_plain_yaml("\n".join(it)) for it in items]
    return None if None in read else [it for it in read if it is not None]


_KEY = re.compile(r"[A-Za-z_]")

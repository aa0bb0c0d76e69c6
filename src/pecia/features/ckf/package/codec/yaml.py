"""Packages as YAML: block style, one line a scalar, the same to readers of YAML 1.1 and 1.2."""

import re
from collections.abc import Iterator

from pecia.features.ckf.package.model import Item, Package
from pecia.kernel.errors import Json
from pecia.kernel.text.yaml.writer import dump_scalar

FENCE = "```"
# YAML needs an explicit `?` for a key longer than 1,024 characters.
MAX_KEY_CHARS = 1000


def encode_yaml(package: Package) -> str:
    return "".join(f"{line}\n" for line in render_mapping(package.body, 0))


def render_mapping(value: Item, indent: int) -> Iterator[str]:
    """The lines of a non-empty mapping."""
    pad = " " * indent
    for key, it in value.items():
        name = _text(key, _PLAIN_KEY)
        head = f"{pad}{name}:" if len(name) <= MAX_KEY_CHARS else f"{pad}? {name}\n{pad}:"
        if (inline := _inline(it)) is not None:
            yield f"{head} {inline}"
        else:
            yield head
            yield from _block_lines(it, indent + 2)


def _block_lines(value: Json, indent: int) -> Iterator[str]:
    if isinstance(value, dict):
        yield from render_mapping(value, indent)
    elif isinstance(value, list):
        for it in value:
            yield from _item_lines(it, indent)


def _item_lines(value: Json, indent: int) -> Iterator[str]:
    pad = " " * indent
    if (inline := _inline(value)) is not None:
        yield f"{pad}- {inline}"
        return
    lines = _block_lines(value, indent + 2)
    yield f"{pad}- {next(lines)[indent + 2 :]}"
    yield from lines


def _inline(value: Json) -> str | None:
    """The value on one line; None if it is a non-empty list or mapping."""
    if isinstance(value, str):
        return _text(value, _PLAIN)
    if isinstance(value, (dict, list)):
        return None if value else ("{}" if isinstance(value, dict) else "[]")
    if isinstance(value, float):
        return _DOTLESS.sub(r"\1.0e", repr(value))
    return dump_scalar(value)


def _text(value: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(value) and value.isprintable() and not _OTHER_MEANING.fullmatch(value):
        return value
    # A fence inside a text would end the block of a Markdown document.
    return dump_scalar(value, '"').replace(FENCE, "\\x60\\x60\\x60")


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# Plain style: starts with a letter or bracket, no YAML indicator, single spaces, none at the end.
_PLAIN = re.compile(r"(?:[^\W\d_]|\()(?:[^\s:#`\"'\\{}\[\],&*!|>%@]| (?! |$))*")
_OTHER_MEANING = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null)")
_DOTLESS = re.compile(r"^(-?\d+)e")

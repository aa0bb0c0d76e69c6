"""One heading: its words, and attributes in braces such as `{#rollback override=none}`. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pecia.kernel.text.links.inline import plain_text
from pecia.kernel.text.span import split_lines


@dataclass(frozen=True, slots=True)
class Heading:
    """`source` is the heading as written, line end apart.

    `text` is its words without marks and attributes, `plain` also without links and emphasis. The
    explicit `anchor` is kept as written; the other attributes have lost their quotes.
    """

    level: int
    source: str
    text: str
    plain: str
    anchor: str | None = None
    attributes: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())

    @property
    def clean(self) -> str:
        """The heading as a `#` line with its anchor and without the other attributes."""
        anchor = f" {{#{self.anchor}}}" if self.anchor else ""
        return f"{'#' * self.level} {self.text}{anchor}"


def read_heading(source: str, level: int, *, underlined: bool) -> Heading:
    """The heading on its source lines, the line under it included."""
    lines = [it.strip() for it in split_lines(source)]
    words = " ".join(lines[:-1]) if underlined else _without_marks(lines[0])
    group = _find_attributes(words)
    if not group:
        return Heading(level, source.rstrip("\r\n"), words, plain_text(words))
    text = f"{words[: group.start()].rstrip()} {words[group.end() :].lstrip()}".strip()
    anchor, attributes = _read_tokens(group[1])
    return Heading(level, source.rstrip("\r\n"), text, plain_text(text), anchor, attributes)


def _without_marks(line: str) -> str:
    return _CLOSING_MARKS.sub("", line.lstrip("#").strip()).rstrip()


def _find_attributes(words: str) -> re.Match[str] | None:
    """The first braces, outside code, that hold attributes and nothing else."""
    ticks = seen = 0
    for group in _BRACES.finditer(words):
        ticks += words.count("`", seen, group.start())
        seen = group.start()
        if ticks % 2 == 0 and _TOKENS.fullmatch(group[1]):
            return group
    return None


def _read_tokens(source: str) -> tuple[str | None, dict[str, str]]:
    anchor: str | None = None
    attributes: dict[str, str] = {}
    for token in _TOKEN.findall(source):
        if token.startswith("#"):
            anchor = anchor or token[1:]
        else:
            name, _, value = token.partition("=")
            attributes.setdefault(name, value.strip("\"'"))
    return anchor, attributes


_ANY_TOKEN = r"""#[^\s{}"'#]++|[A-Za-z_][\w-]*+=(?:"[^"]*+"|'[^']*+'|[^\s{}"']*+)"""
_TOKEN = re.compile(_ANY_TOKEN)
_TOKENS = re.compile(rf"\s*+(?:(?:{_ANY_TOKEN})(?:\s++|$))++")
_BRACES = re.compile(r"\{([^{}]*+)\}")
_CLOSING_MARKS = re.compile(r"(?:^|(?<=[ \t]))#++$")

"""The YAML block at the head of a document: cut off, read, changed. Never touches the body."""

import re
from dataclasses import dataclass

from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.text.span import Span
from pecia.kernel.text.yaml.reader import RepeatedKey, YamlSource, load_yaml


@dataclass(frozen=True, slots=True)
class DocumentSplit:
    """The pieces of a document; joined in this order, they are the document.

    A document has a block when its first line is `---` and a later line is `---` too. A byte order
    mark may come before, CRLF is fine, the block may be empty. When the closing line is missing,
    everything is body and `unclosed` says so.
    """

    mark: str
    opening: str
    yaml: str
    closing: str
    body: str
    unclosed: bool = False

    def join(self) -> str:
        return self.mark + self.opening + self.yaml + self.closing + self.body

    @property
    def has_block(self) -> bool:
        return bool(self.closing)

    @property
    def block(self) -> Span:
        """Where the block is, byte order mark and both lines of dashes included."""
        return Span(0, len(self.mark + self.opening + self.yaml + self.closing))


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What the block says. A key that came twice has its last value."""

    values: dict[str, Json]
    repeated: tuple[RepeatedKey, ...] = ()


def split_document(text: str) -> DocumentSplit:
    """The document in pieces, without a character lost."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    opening = _OPENING.match(text, len(mark))
    if not opening:
        return DocumentSplit(mark, "", "", "", text[len(mark) :])
    closing = _CLOSING.search(text, opening.end())
    if not closing:
        return DocumentSplit(mark, "", "", "", text[len(mark) :], unclosed=True)
    yaml = text[opening.end() : closing.start()]
    return DocumentSplit(mark, opening[0], yaml, closing[0], text[closing.end() :])


def find_body_start(text: str) -> int:
    """Where the body begins: after the block, or else after the byte order mark."""
    return split_document(text).block.end


def read_frontmatter(text: str) -> Frontmatter:
    """The values at the head of the document; none when there is no block."""
    yaml = split_document(text).yaml
    if not yaml:
        return Frontmatter({})
    loaded = load_yaml(yaml, _SOURCE)
    if loaded.value is None:
        return Frontmatter({})
    if not isinstance(loaded.value, dict):
        raise InvalidFormat(
            f"frontmatter is a {_TYPE_NAMES[type(loaded.value)]}, expected keys with values",
            field=_SOURCE.name,
            expected="mapping",
            line=_SOURCE.first_line,
            column=1,
        )
    return Frontmatter(loaded.value, loaded.repeated)


_BYTE_ORDER_MARK = "\ufeff"
_OPENING = re.compile(r"---[ \t]*(?:\r\n|[\r\n])")
_CLOSING = re.compile(r"(?<=[\r\n])---[ \t]*(?:\r\n|[\r\n]|\Z)")
_SOURCE = YamlSource("frontmatter", first_line=2)
_TYPE_NAMES = {str: "text", int: "number", float: "number", bool: "yes or no", list: "list"}

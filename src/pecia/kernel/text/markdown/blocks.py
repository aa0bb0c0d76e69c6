"""The blocks of a Markdown text, as a partition of it. Never renders, never reads inline markup.

The structure is CommonMark's, with GitHub's tables. Laws hold it against markdown-it-py, which
takes two to four times as long, and thirty times for some hostile texts; a cascade of 60,000
concepts must open in seconds. Every line is looked at once. Quotes and list items nested deeper
than `MAX_DEPTH` are read as text, so that no input costs more than `MAX_DEPTH` steps a line.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum

from pecia.kernel.text.markdown import lines
from pecia.kernel.text.span import Span, split_lines

MAX_DEPTH = 32


class BlockKind(StrEnum):
    BLANK = "blank"
    HEADING = "heading"
    """Outside quotes and lists, so one that starts a section."""
    TEXT = "text"
    """A paragraph, the first lines of a list item, or a heading in a quote or a list."""
    CODE = "code"
    TABLE = "table"
    HTML = "html"
    """Tags around text: links inside them still count."""
    RAW = "raw"
    """A comment, script, style or preformatted HTML: nothing inside has a meaning."""
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """Whole lines of one kind. `level` is a heading's; `depth` counts the quotes and items."""

    kind: BlockKind
    span: Span
    level: int = 0
    depth: int = 0
    underlined: bool = False


def scan_blocks(text: str, start: int = 0, end: int | None = None) -> list[MarkdownBlock]:
    """Blocks that follow each other without a gap from `start`, the start of a line, to `end`."""
    stop = len(text) if end is None else end
    scanner = _Scanner()
    at = start
    for line in split_lines(text[start:stop]):
        scanner.feed(line, at)
        at += len(line)
    return scanner.blocks(stop)


class _Leaf(Enum):
    """What an unremarkable next line would belong to."""

    NONE = 0
    PARAGRAPH = 1
    TABLE = 2
    INDENTED = 3
    FENCE = 4
    HTML = 5


_OF_ROWS = (_Leaf.PARAGRAPH, _Leaf.TABLE)
_TO_THEIR_END = (_Leaf.FENCE, _Leaf.HTML)


@dataclass(slots=True)
class _Start:
    """Where a block begins; it ends where the next one does."""

    kind: BlockKind
    at: int
    depth: int
    level: int = 0
    underlined: bool = False


@dataclass(slots=True)
class _Line:
    """A line past the marks of the containers it stays in, of which there are `matched`."""

    rest: str
    at: int
    matched: int

    @property
    def mark(self) -> str:
        """The first character that is not a space: it alone says what the line may start."""
        return self.rest.lstrip(" ")[:1]


# A container is a quote, or the width by which a list item's lines are indented. The width of an
# item that began with nothing is negated: a blank line right after it ends it.
_QUOTE = 0

_CODE_INDENT = "    "
_ITEM_MARKS = frozenset("-+*0123456789")
_UNDERLINE_MARKS = frozenset("=-|:")
# A line that starts otherwise, outside containers, fences and HTML, can only be text.
_REMARKABLE = frozenset(" \t>#`~<_\f") | _ITEM_MARKS | _UNDERLINE_MARKS


class _Scanner:
    def __init__(self) -> None:
        self.starts: list[_Start] = []
        self.containers: list[int] = []
        self.leaf = _Leaf.NONE
        self.fence = ""
        self.html = lines.HtmlStart(None)
        self.last_text = _Line("", 0, 0)

    def blocks(self, stop: int) -> list[MarkdownBlock]:
        ends = [it.at for it in self.starts[1:]] + [stop]
        return [
            MarkdownBlock(it.kind, Span(it.at, end), it.level, it.depth, it.underlined)
            for it, end in zip(self.starts, ends, strict=False)
        ]

    def feed(self, source: str, at: int) -> None:
        row = source.rstrip("\r\n")
        if self.leaf in _TO_THEIR_END or self.containers:
            self._feed_inside(row, at)
        elif not row:
            self.leaf = _Leaf.NONE
            self._start(BlockKind.BLANK, at)
        elif row[0] in _REMARKABLE:
            self._read(_Line(_in_columns(row), at, 0))
        else:
            self._text(_Line(row, at, 0))

    def _feed_inside(self, row: str, at: int) -> None:
        if not row and self._after_blank():
            return
        line = _Line(_in_columns(row), at, 0)
        self._enter(line)
        if self.leaf not in _TO_THEIR_END or not self._goes_on(line.rest):
            self._read(line)

    def _after_blank(self) -> bool:
        """Whether a blank line came before, so that another one changes nothing."""
        return (
            self.leaf is _Leaf.NONE
            and bool(self.starts)
            and self.starts[-1].kind is BlockKind.BLANK
            and min(self.containers, default=1) > _QUOTE
        )

    def _enter(self, line: _Line) -> None:
        """Move past the marks of the open containers; leave those that the line has left."""
        for number, container in enumerate(self.containers):
            inner = _past(container, line.rest)
            if inner is None:
                break
            self.containers[number] = abs(container)
            line.rest = inner
            line.matched += 1
        # Text alone may go on with a paragraph from outside its containers.
        if line.matched < len(self.containers) and self.leaf is not _Leaf.PARAGRAPH:
            self._leave(line)

    def _read(self, line: _Line) -> None:
        if not line.rest.strip(_BLANK):
            self._leave(line)
            self._start(BlockKind.BLANK, line.at)
            return
        while (container := self._container(line)) is not None:
            self._leave(line)
            line.rest = line.rest[abs(container) or lines.quote_width(line.rest) :]
            line.matched += 1
            self.containers.append(container)
            if not line.rest.strip(_BLANK):
                self._start(BlockKind.BLANK, line.at)
                return
        self._open_leaf(line)

    def _goes_on(self, rest: str) -> bool:
        """Whether the line belongs to the open fence or HTML, which it may also close."""
        if self.leaf is _Leaf.FENCE:
            closed = lines.closes_fence(rest, self.fence)
        elif self.html.closing is None:
            return bool(rest.strip(_BLANK))
        else:
            closed = bool(self.html.closing.search(rest))
        if closed:
            self.leaf = _Leaf.NONE
        return True

    def _container(self, line: _Line) -> int | None:
        mark = line.mark
        if mark == ">" and line.matched < MAX_DEPTH:
            return _QUOTE if lines.quote_width(line.rest) else None
        if mark not in _ITEM_MARKS or line.matched >= MAX_DEPTH or self._underlines(line):
            return None
        return lines.item_width(line.rest, interrupts=self._in_paragraph(line)) or None

    def _open_leaf(self, line: _Line) -> None:
        if self._underlines(line):
            self._underline(line.rest)
        elif not line.rest.startswith(_CODE_INDENT):
            self._open_by_mark(line)
        elif self.leaf is _Leaf.PARAGRAPH:
            self._text(line)
        elif self.leaf is not _Leaf.INDENTED:
            self._open(line, BlockKind.CODE, _Leaf.INDENTED)

    def _open_by_mark(self, line: _Line) -> None:
        mark = line.mark
        if mark == "#" and (level := lines.heading_level(line.rest)):
            self._open(line, BlockKind.TEXT if line.matched else BlockKind.HEADING)
            self.starts[-1].level = 0 if line.matched else level
        elif mark in "`~" and (fence := lines.opening_fence(line.rest)):
            self._open(line, BlockKind.CODE, _Leaf.FENCE)
            self.fence = fence
        elif mark in "*-_" and lines.is_rule(line.rest):
            self._open(line, BlockKind.RULE)
        elif mark == "<" and (html := self._html_start(line)):
            self._open(line, BlockKind.RAW if html.closing else BlockKind.HTML, _Leaf.HTML)
            self.html = html
            if html.closing:
                self._goes_on(line.rest)
        else:
            self._text(line)

    def _html_start(self, line: _Line) -> lines.HtmlStart | None:
        return lines.html_start(line.rest, in_paragraph=self.leaf in _OF_ROWS)

    def _text(self, line: _Line) -> None:
        if self.leaf not in _OF_ROWS:
            self._open(line, BlockKind.TEXT, _Leaf.PARAGRAPH)
        self.last_text = line

    def _in_paragraph(self, line: _Line) -> bool:
        return self.leaf is _Leaf.PARAGRAPH and line.matched == len(self.containers)

    def _underlines(self, line: _Line) -> bool:
        """Whether the line makes the paragraph above a heading, or its last line a table."""
        if line.mark not in _UNDERLINE_MARKS or not self._in_paragraph(line):
            return False
        return bool(lines.underline_level(line.rest)) or self._rules_table(line.rest)

    def _rules_table(self, rest: str) -> bool:
        header = self.last_text
        return header.matched == len(self.containers) and lines.is_table_rule(rest, header.rest)

    def _underline(self, rest: str) -> None:
        paragraph = self.starts[-1]
        if self._rules_table(rest):
            if paragraph.at < self.last_text.at:
                self._start(BlockKind.TABLE, self.last_text.at)
            self.starts[-1].kind = BlockKind.TABLE
            self.leaf = _Leaf.TABLE
            return
        if not self.containers:
            paragraph.kind, paragraph.underlined = BlockKind.HEADING, True
            paragraph.level = lines.underline_level(rest)
        self.leaf = _Leaf.NONE

    def _open(self, line: _Line, kind: BlockKind, leaf: _Leaf = _Leaf.NONE) -> None:
        self._leave(line)
        self._start(kind, line.at)
        self.leaf = leaf

    def _leave(self, line: _Line) -> None:
        """Close the leaf, and every container that the line is not in."""
        del self.containers[line.matched :]
        self.leaf = _Leaf.NONE

    def _start(self, kind: BlockKind, at: int) -> None:
        both_blank = kind is BlockKind.BLANK and self.starts and self.starts[-1].kind is kind
        if not both_blank:
            self.starts.append(_Start(kind, at, len(self.containers)))


def _in_columns(row: str) -> str:
    """Columns decide the structure, and only whole lines leave this module."""
    return row.expandtabs(4) if "\t" in row else row


def _past(container: int, rest: str) -> str | None:
    """The line past the container's mark, or None when it has left the container."""
    if container == _QUOTE:
        width = lines.quote_width(rest)
        return rest[width:] if width else None
    if not rest.strip(_BLANK):
        return "" if container > 0 else None
    width = abs(container)
    return rest[width:] if rest.startswith(" " * width) else None


# A line with a form feed is where two units of a canonical text meet.
_BLANK = " \f"

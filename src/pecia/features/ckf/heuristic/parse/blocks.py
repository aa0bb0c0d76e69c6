"""Parses lines into blocks: headings, paragraphs, list items, table rows, code. Pure, one pass.

Spans count code points of the unmodified text, so every span is a verbatim quotation.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum

from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Span, split_lines


class BlockShape(Enum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """`span` has no outer white space; `body` starts after a marker such as `- ` or `## `."""

    shape: BlockShape
    span: Span
    body: Span
    first_line: int
    last_line: int
    level: int = 0
    ordinal: bool = False


def parse_blocks(text: str) -> list[TextBlock]:
    """Every line that is not blank, in exactly one block, in order."""
    found = _BlockReader(text).read()
    last = len(found) - 1
    return [
        _as_heading(it) if at < last and _is_numbered_title(it, found[at + 1], text) else it
        for at, it in enumerate(found)
    ]


def _is_numbered_title(block: TextBlock, following: TextBlock, text: str) -> bool:
    """Whether `3. Exceptions` stands alone above a paragraph, and is no item of a list."""
    if block.shape is not BlockShape.ITEM or not block.ordinal or block.level:
        return False
    if block.first_line != block.last_line or following.first_line == block.last_line + 1:
        return False
    words = block.body.of(text)
    return following.shape is not BlockShape.ITEM and len(words.split()) <= 8 and _is_title(words)


def _as_heading(block: TextBlock) -> TextBlock:
    return replace(block, shape=BlockShape.HEADING, ordinal=False, level=2)


@dataclass(slots=True)
class _Line:
    number: int
    start: int
    end: int
    words: str
    indent: int


class _BlockReader:
    """The parser state: the open paragraph, fence or indented literal block."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[TextBlock] = []
        self.open: list[_Line] = []
        self.fence = ""
        # The indent of the line that introduces a literal block, which is indented further.
        self.literal: int | None = None

    def read(self) -> list[TextBlock]:
        start = 0
        for number, raw in enumerate(split_lines(self.text), start=1):
            words = raw.strip()
            if words:
                indent = len(raw) - len(raw.lstrip())
                at = start + indent
                self._take(_Line(number, at, at + len(words), words, indent))
            elif not self.fence:
                self._close()
            start += len(raw)
        self._close()
        return self.found

    def _opens_frontmatter(self, line: _Line) -> bool:
        """Whether the line opens front matter, which is kept verbatim and has no sentences."""
        return line.number == 1 and line.words == "---" and find_body_start(self.text) > 0

    def _take(self, line: _Line) -> None:
        if self.literal is not None and line.indent > self.literal:
            self._add(BlockShape.CODE, line, line.start)
            return
        self.literal = None
        if self.fence:
            self.open.append(line)
            if line.words.startswith(self.fence):
                self._close()
            return
        if self._underlines(line):
            title = self.open.pop()
            level = _UNDERLINE_LEVEL.get(line.words[0], 3)
            self._add(BlockShape.HEADING, title, title.start, level=level)
            return
        if line.words.startswith(("```", "~~~")) or self._opens_frontmatter(line):
            self._close()
            self.fence = line.words[:3]
            self.open.append(line)
            return
        if line.words[0] in _MARKED and self._take_marked(line):
            return
        self._take_plain(line)

    def _underlines(self, line: _Line) -> bool:
        """Whether the line underlines the one open line as a title.

        Tildes open a fence too, so marks other than `=` and `-` must be as long as the title.
        """
        if len(self.open) != 1 or not _UNDERLINE.fullmatch(line.words):
            return False
        return line.words[0] in "=-" or len(line.words) >= len(self.open[0].words)

    def _take_marked(self, line: _Line) -> bool:
        """Handle a line that starts with a marker; False if it has none."""
        if _DIRECTIVE.match(line.words) or _COMMENT.fullmatch(line.words):
            self._close()
            self._add(BlockShape.CODE, line, line.start)
            self.literal = line.indent if _LITERAL.match(line.words) else None
            return True
        heading = _HEADING.match(line.words)
        if heading:
            self._close()
            level = len(heading[1])
            self._add(BlockShape.HEADING, line, line.start + heading.end(), level=level)
            return True
        item = _ITEM.match(line.words)
        if item and _BOXED.fullmatch(line.words):
            return False
        if item:
            self._close()
            ordinal = item[1][0] not in "-*+•–—·"
            body = line.start + item.end()
            self._add(BlockShape.ITEM, line, body, level=line.indent, ordinal=ordinal)
            return True
        if line.words[0] == "|":
            self._close()
            self._add(BlockShape.ROW, line, line.start)
            return True
        return bool(_RULE.fullmatch(line.words))

    def _take_plain(self, line: _Line) -> None:
        continues = self.found and not self.open and self._continues_item(line)
        if continues:
            self._extend(line)
            return
        if self.open and (
            (_LABEL.match(line.words) and self._may_start_label()) or self._hangs_below_title(line)
        ):
            self._close()
        self.open.append(line)

    def _hangs_below_title(self, line: _Line) -> bool:
        """Whether the open line is a title of a manual page: `SEE ALSO` over indented text."""
        if len(self.open) != 1 or self.open[0].indent or line.indent < MIN_INDENT:
            return False
        words = self.open[0].words
        return words.isupper() and len(words) >= MIN_CAPITALS and _is_title(words)

    def _may_start_label(self) -> bool:
        """Not in the middle of a wrapped sentence, whose last line ends in any word."""
        last = self.open[-1].words
        return last[-1] in _LINE_ENDS or _LABEL.match(last) is not None

    def _continues_item(self, line: _Line) -> bool:
        last = self.found[-1]
        return last.shape is BlockShape.ITEM and last.last_line == line.number - 1

    def _extend(self, line: _Line) -> None:
        last = self.found[-1]
        self.found[-1] = TextBlock(
            last.shape,
            Span(last.span.start, line.end),
            Span(last.body.start, line.end),
            last.first_line,
            line.number,
            last.level,
            last.ordinal,
        )

    def _add(
        self, shape: BlockShape, line: _Line, body: int, *, level: int = 0, ordinal: bool = False
    ) -> None:
        span = Span(line.start, line.end)
        body_span = Span(min(body, line.end), line.end)
        self.found.append(
            TextBlock(shape, span, body_span, line.number, line.number, level, ordinal)
        )

    def _close(self) -> None:
        """Close the open paragraph, heading or fence."""
        if not self.open:
            return
        first, last = self.open[0], self.open[-1]
        span = Span(first.start, last.end)
        shape, level = BlockShape.PARAGRAPH, 0
        if self.fence:
            shape = BlockShape.CODE
        elif len(self.open) == 1 and _is_title(first.words):
            shape, level = BlockShape.HEADING, _title_level(first.words)
        self.found.append(TextBlock(shape, span, span, first.number, last.number, level))
        if last.words.endswith("::") and not self.fence:
            self.literal = first.indent
        self.open, self.fence = [], ""


def is_section_label(words: str) -> bool:
    """Whether the text starts with a label such as `Section 4.2 —` or `Art. 5.`"""
    return _SECTION.match(words) is not None


def measure_label(words: str) -> int:
    """The length of a label such as `Rule 5. ` that a whole sentence follows; else 0.

    A title may end in a full stop too, but is short and has no duty in it.
    """
    label = _SECTION.match(words)
    if not label or words[-1] not in ".!?":
        return 0
    size = len(words) - len(words[label.end() :].lstrip())
    return size if len(words) > size else 0


def _is_title(words: str) -> bool:
    """Whether a paragraph of one line is a title."""
    if len(words) > 90:
        return False
    label = _SECTION.match(words)
    if label:
        # `Section 1. Fees. Members pay.` is a title with its first sentence, not a title.
        return _SENTENCE_END.search(words, label.end()) is None
    if words[-1] in ".!?:;,。！？" or not words[0].isupper():
        return False
    return len(words.split(None, 13)) <= 12


def _title_level(words: str) -> int:
    return 2 if is_section_label(words) else 1


# A manual page indents its text; a shorter line in capitals is a term of a list.
MIN_INDENT, MIN_CAPITALS = 3, 4
_MARKED = frozenset("#-*+•–—·|=_.<0123456789([abcdefivxABCDEFIVX")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_ITEM = re.compile(
    r"([-*+•–—·]|\(?(?:\d{1,3}[a-z]?|[a-zA-Z]|[ivx]{1,4}|[IVX]{1,4})[.)]|\d{1,3}\.?[º°])"
    r"[ \t]+(?=\S)"
)
# A line of a box drawn with stars, as around a disclaimer, is no item.
_BOXED = re.compile(r"\*\s.*\s\*")
_UNDERLINE = re.compile(r"={3,}|-{3,}|~{3,}|\^{3,}|\"{3,}|\+{3,}")
_UNDERLINE_LEVEL = {"=": 1, "-": 2}
# reStructuredText: `.. name::`, `.. _target:`, and directives whose content is no prose.
_DIRECTIVE = re.compile(r"\.\. (?:[\w:-]+::|_[^:]+:|\[)")
_COMMENT = re.compile(r"<!--.*-->")
_LITERAL = re.compile(
    r"\.\. (?:code|code-block|sourcecode|parsed-literal|literalinclude|image|figure|toctree"
    r"|highlight|math|raw)::"
)
_RULE = re.compile(r"[-*_=]{3,}|(?:[-*_][ \t]){2,}[-*_]")
_SECTION = re.compile(
    r"(?:section|article|chapter|part|clause|rule|appendix|annex|schedule|art\.|sec\.|§+"
    r"|se[cç][aã]o|artigo|cap[ií]tulo|cl[aá]usula|parte|anexo"
    r"|secci[oó]n|art[ií]culo|chapitre|partie|annexe"
    r"|abschnitt|artikel|kapitel|teil|anhang)"
    r"\s{0,3}(?:\d[\w.]{0,10}|[a-z]|[ivxlc]{1,6})(?![\w])[ \t]{0,3}(?:[.:)—–-]|$)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?:]\s")
# A line such as `Answer: ...` starts a new block, even without a blank line before it.
_LABEL = re.compile(r"[^\W\d_][\w&/ -]{0,24}:[ \t]")
_LINE_ENDS = '.!?:;|)]*_"”»。！？'

"""What one line of Markdown can start or close, by CommonMark's rules. Knows no other line.

Every function takes a line without its end, tabs expanded, after the marks of the quotes and list
items around it. All patterns are possessive where they could backtrack, so each is linear.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HtmlStart:
    """An HTML block. It ends with the line that holds `closing`, or at a blank line if None."""

    closing: re.Pattern[str] | None


def heading_level(line: str) -> int:
    """The level of a `#` heading, else 0."""
    mark = _ATX.match(line)
    return len(mark[1]) if mark else 0


def underline_level(line: str) -> int:
    """1 for a line of `=`, 2 for a line of `-`, else 0."""
    mark = _SETEXT.match(line)
    if not mark:
        return 0
    return 1 if mark[1] == "=" else 2


def opening_fence(line: str) -> str:
    """The mark that opens fenced code, else nothing."""
    mark = _FENCE_OPEN.match(line)
    return (mark[1] or mark[2]) if mark else ""


def closes_fence(line: str, opening: str) -> bool:
    mark = _FENCE_CLOSE.match(line)
    return bool(mark) and mark[1].startswith(opening)


def is_rule(line: str) -> bool:
    """Three or more `*`, `-` or `_` and nothing else: a line across the page."""
    return bool(_RULE.match(line))


def quote_width(line: str) -> int:
    """How many columns a `>` and its space take, else 0."""
    mark = _QUOTE.match(line)
    return mark.end() if mark else 0


def item_width(line: str, *, interrupts: bool) -> int:
    """How far a list item's content is indented, else 0; negated when nothing follows the mark.

    An item that interrupts a paragraph must have content and, if numbered, start at 1: otherwise a
    line that happens to begin with `1999.` would become a list.
    """
    mark = _ITEM.match(line)
    if not mark or is_rule(line):
        return 0
    content = line[mark.end() :].lstrip(" ")
    if interrupts and (not content or mark[1] not in (None, "1")):
        return 0
    if not content:
        return -(mark.end() + 1)
    gap = len(line) - len(content) - mark.end()
    return mark.end() + (gap if gap <= 4 else 1)


def html_start(line: str, *, in_paragraph: bool) -> HtmlStart | None:
    """The HTML block that the line opens. A lone unknown tag does not interrupt a paragraph."""
    tag = line.lstrip(" ")
    for opening, closing in _RAW_HTML:
        if opening.match(tag):
            return HtmlStart(closing)
    if _BLOCK_TAG.match(tag) or (not in_paragraph and _LONE_TAG.match(tag)):
        return HtmlStart(None)
    return None


def is_table_rule(line: str, header: str) -> bool:
    """Whether `line` is the row of dashes that makes the line above it a table's header."""
    row = line.strip(" ")
    return (
        # A pipe at the end of a header closes a cell, and one alone is text.
        "|" in header.strip(" ")[:-1]
        and not line.startswith("    ")
        # A dash, alone or before a space, underlines a heading or starts a list for every reader.
        and row != "-"
        and not row.startswith("- ")
        and bool(_TABLE_RULE.match(row))
        and _columns(header.strip(" ")) == _columns(row)
    )


def _columns(row: str) -> int:
    inner = row.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return len(_CELL_END.findall(inner)) + 1


_ATX = re.compile(r" {0,3}(#{1,6})(?: |$)")
_SETEXT = re.compile(r" {0,3}(?:(=)=*+|--*+) *+$")
_FENCE_OPEN = re.compile(r" {0,3}(?:(`{3,}+)[^`]*+$|(~{3,}+))")
_FENCE_CLOSE = re.compile(r" {0,3}(`{3,}+|~{3,}+) *+$")
_RULE = re.compile(r" {0,3}([-*_]) *+(?:\1 *+){2,}+$")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r" {0,3}(?:[-+*]|([0-9]{1,9})[.)])(?= |$)")
_TABLE_RULE = re.compile(r"\|? *+:?-++:? *+(?:\| *+:?-++:? *+)*+\|?$")
_CELL_END = re.compile(r"(?<!\\)\|")

_RAW_HTML = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?:\s|>|$)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
)
_BLOCK_TAG = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd"
    r"|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]"
    r"|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup"
    r"|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)"
    r"(?:\s|/?>|$)",
    re.IGNORECASE,
)
_ATTRIBUTE = r"""\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+"""
OPEN_TAG = rf"<[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?>"
CLOSE_TAG = r"</[A-Za-z][A-Za-z0-9-]*+\s*+>"
_LONE_TAG = re.compile(rf"(?:{OPEN_TAG}|{CLOSE_TAG})\s*+$")

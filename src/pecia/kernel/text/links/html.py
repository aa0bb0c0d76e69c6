"""Links in the HTML of a document: `<a href="x.md">`, `<img src="x.png" srcset="y.png 2x">`. Pure.

They are addresses, as Markdown's are: percent signs are escapes, and so are entities. A value with
a backslash or a line break is left alone, because browsers read it in their own way.
"""

import re
from collections.abc import Iterator

from pecia.kernel.text.links.destination import read_target
from pecia.kernel.text.links.inline import find_open_tags
from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock
from pecia.kernel.text.markdown.escapes import encode_path
from pecia.kernel.text.span import Span

MAX_TEXT_CHARS = 300
"""How far behind a tag its closing one is looked for."""


def find_html_links(text: str, blocks: list[MarkdownBlock]) -> list[Link]:
    """The links of tags outside of code and comments, in the order in which they start."""
    if not may_have_html_links(text):
        return []
    return [
        link
        for block in blocks
        if block.kind in _WITH_TAGS and _MAY_LINK.search(text, block.span.start, block.span.end)
        for tag in find_open_tags(text, block.span)
        for link in _links(text, tag, block.span.end)
    ]


def may_have_html_links(text: str) -> bool:
    """Whether there is any tag that may hold a link, in code perhaps."""
    return bool(_MAY_LINK.search(text))


def write_html_path(text: str, link: Link, path: str) -> str:
    """The path as it must be written in place of the one that the link has."""
    place = link.target.path_span
    quote = text[link.target.span.start - 1]
    written = encode_path(path, angled=False, like=place.of(text))
    unsafe = quote if quote in "\"'" else "\"'="
    return "".join(f"%{ord(it):02X}" if it in unsafe else it for it in written)


def _links(text: str, tag: Span, end: int) -> Iterator[Link]:
    name = _NAME.match(text, tag.start)
    attribute = _ATTRIBUTES.get(name[1].lower()) if name else None
    if attribute is None:
        return
    span = _value(text, tag, attribute)
    embed = attribute != "href"
    shown = "" if embed else _link_text(text, tag, end)
    candidates = _candidates(text, tag) if embed else ()
    for it in (*(() if span is None else (span,)), *candidates):
        if it.size and not _ODD.search(it.of(text)):
            yield Link(LinkKind.HTML, embed, tag, read_target(text, it), shown)


def _candidates(text: str, tag: Span) -> Iterator[Span]:
    """The addresses of a `srcset`, each before its width or density."""
    value = _value(text, tag, "srcset")
    for found in _CANDIDATE.finditer(text, value.start, value.end) if value else ():
        group = 1 if found[1] is not None else 2
        yield Span(found.start(group), found.start(group) + len(found[group].rstrip(",")))


def _value(text: str, tag: Span, attribute: str) -> Span | None:
    """Where the value of the attribute stands, without quotes and spaces."""
    for found in _ATTRIBUTE.finditer(text, tag.start, tag.end):
        if found[1].lower() == attribute:
            group = next((it for it in (2, 3, 4) if found[it] is not None), None)
            if group is None:
                return None
            value = found[group]
            start = found.start(group) + len(value) - len(value.lstrip())
            return Span(start, start + len(value.strip()))
    return None


def _link_text(text: str, tag: Span, end: int) -> str:
    close = _CLOSE.search(text, tag.end, min(end, tag.end + MAX_TEXT_CHARS))
    return text[tag.end : close.start()].strip() if close else ""


_ATTRIBUTES = {"a": "href", "area": "href"} | dict.fromkeys(
    ("img", "video", "audio", "source", "iframe", "embed"), "src"
)
_WITH_TAGS = frozenset((BlockKind.TEXT, BlockKind.HEADING, BlockKind.TABLE, BlockKind.HTML))
_MAY_LINK = re.compile(rf"<(?:{'|'.join(_ATTRIBUTES)})\s", re.IGNORECASE)
_NAME = re.compile(r"<([A-Za-z][A-Za-z0-9-]*+)")
_ATTRIBUTE = re.compile(
    r"""\s([A-Za-z_:][\w.:-]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'=<>`]++)))?+"""
)
# An address ends at a space, or at commas before one; a descriptor ends at a comma.
_CANDIDATE = re.compile(r"[\s,]*+(?:(\S++)(?<=,)|(\S++)[^,]*+,?+)")
_CLOSE = re.compile(r"</a\s*>", re.IGNORECASE)
_ODD = re.compile(r"[\\\r\n]")

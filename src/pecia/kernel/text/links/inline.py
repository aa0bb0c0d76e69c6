"""The links of one paragraph, with exact places. Knows nothing of blocks, files or targets.

One pass from left to right, as CommonMark reads brackets, with `[[wiki links]]` before the rest.
When `MAX_OPEN_BRACKETS` are open, they are given up as text; so every character is looked at a
bounded number of times.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_letters

from pecia.kernel.text.links.destination import fold_label, match_resource
from pecia.kernel.text.links.link import Link, LinkDefinition, LinkKind, LinkTarget
from pecia.kernel.text.markdown.escapes import unescape
from pecia.kernel.text.markdown.lines import CLOSE_TAG, OPEN_TAG
from pecia.kernel.text.span import Edit, Span, apply_edits

MAX_OPEN_BRACKETS = 1000


def find_inline_links(
    text: str, span: Span, definitions: Mapping[str, LinkDefinition] | None = None
) -> list[Link]:
    """The links of the paragraph at `span`, in the order in which they start."""
    if text.find("[", span.start, span.end) < 0 and text.find("<", span.start, span.end) < 0:
        return []
    links = _Paragraph(text, span, definitions or {}).read()
    return sorted(links, key=lambda it: it.span)


def find_open_tags(text: str, span: Span) -> list[Span]:
    """The HTML tags of the paragraph that open something, outside of code and comments."""
    paragraph = _Paragraph(text, span, {})
    paragraph.read()
    return paragraph.tags


def plain_text(source: str) -> str:
    """A line as a reader sees it: links by their text, no emphasis, no code marks, and pictures by
    their text only where there are no words beside them."""
    return _plain_text(source, with_pictures=False) or _plain_text(source, with_pictures=True)


def _plain_text(source: str, *, with_pictures: bool) -> str:
    if not _MARKUP.search(source):
        return source
    edits: list[Edit] = []
    done, has_pictures = 0, False
    for link in find_inline_links(source, Span(0, len(source))):
        if link.span.start >= done:
            has_pictures = has_pictures or link.embed or "![" in link.text
            if not link.embed:
                words = _plain_text(link.text, with_pictures=with_pictures)
            else:
                # A picture in the text of a picture is not shown: they nest as deep as one likes.
                words = link.text if with_pictures and "![" not in link.text else ""
            edits.append(Edit(link.span, words))
            done = link.span.end
    found = unescape(_EMPHASIS.sub("", apply_edits(source, edits)))
    return " ".join(found.split()) if has_pictures else found


@dataclass(slots=True)
class _Bracket:
    at: int
    image: bool


class _Paragraph:
    def __init__(self, text: str, span: Span, definitions: Mapping[str, LinkDefinition]) -> None:
        self.text = text
        self.start, self.end = span.start, span.end
        self.definitions = definitions
        self.links: list[Link] = []
        self.tags: list[Span] = []
        self.open: list[_Bracket] = []
        # Brackets below this number are around a link, and a link holds no other link.
        self.dead = 0
        self.ticks: dict[int, list[int]] | None = None
        # Looked for once and not found, so never looked for again.
        self.unclosed: set[str] = set()

    def read(self) -> list[Link]:
        at = self.start
        while special := _SPECIAL.search(self.text, at, self.end):
            found = special.start()
            match special[0]:
                case "\\":
                    at = found + 2
                case "`":
                    at = self._skip_code(found)
                case "<":
                    at = self._skip_angle(found)
                case "[":
                    at = self._open_bracket(found, after=at)
                case _:
                    at = self._close_bracket(found)
        return self.links

    def _skip_code(self, at: int) -> int:
        run = _TICKS.match(self.text, at, self.end)
        after = run.end() if run else at + 1
        if self.ticks is None:
            self.ticks = {}
            for it in _TICKS.finditer(self.text, self.start, self.end):
                self.ticks.setdefault(len(it[0]), []).append(it.start())
        closing = self.ticks.get(after - at, [])
        number = bisect_left(closing, after)
        return closing[number] + after - at if number < len(closing) else after

    def _skip_angle(self, at: int) -> int:
        if auto := _AUTOLINK.match(self.text, at, self.end):
            inner = Span(at + 1, auto.end() - 1)
            target = LinkTarget(inner.of(self.text), None, inner, inner)
            span = Span(at, auto.end())
            self.links.append(Link(LinkKind.AUTO, False, span, target, target.path))
            return auto.end()
        if tag := _TAG.match(self.text, at, self.end):
            return self._skip_tag(Span(at, tag.end()))
        raw = _RAW.match(self.text, at, self.end)
        return self._skip_raw(at, _RAW_END[raw[0][:3]]) if raw else at + 1

    def _skip_tag(self, tag: Span) -> int:
        if not self.text.startswith("/", tag.start + 1):
            self.tags.append(tag)
        return tag.end

    def _skip_raw(self, at: int, closing: str) -> int:
        """Past a comment, a declaration or the like; one that is never closed is text."""
        if closing in self.unclosed:
            return at + 1
        end = self.text.find(closing, at + 2, self.end)
        if end < 0:
            self.unclosed.add(closing)
            return at + 1
        return end + len(closing)

    def _open_bracket(self, at: int, after: int) -> int:
        # An escaped exclamation mark has been passed already.
        image = at > after and self.text[at - 1] == "!"
        wiki = _WIKI.match(self.text, at, self.end)
        if wiki and not self._is_citation(wiki):
            link = _wiki_link(self.text, wiki, image)
            if link:
                self.links.append(link)
                return link.span.end
        if len(self.open) >= MAX_OPEN_BRACKETS:
            self.open.clear()
            self.dead = 0
        self.open.append(_Bracket(at, image))
        return at + 1

    def _is_citation(self, wiki: re.Match[str]) -> bool:
        """Whether it is the text of a link, as in `[[1]](https://example.org)`. Its address is told
        from words in parentheses by what a name in a sentence has not."""
        if wiki[2] is not None or wiki[3] is not None:
            return False
        if not self.text.startswith("(", wiki.end()):
            return False
        found = match_resource(self.text, wiki.end() + 1, self.end)
        return bool(found and _ADDRESS_MARK.search(found.target.address))

    def _close_bracket(self, at: int) -> int:
        if not self.open:
            return at + 1
        opening = self.open.pop()
        alive = opening.image or len(self.open) >= self.dead
        self.dead = min(self.dead, len(self.open))
        link = (self._inline(opening, at) or self._reference(opening, at)) if alive else None
        if not link:
            return at + 1
        self.links.append(link)
        if not opening.image:
            self.dead = len(self.open)
        return link.span.end

    def _inline(self, opening: _Bracket, at: int) -> Link | None:
        if not self.text.startswith("(", at + 1):
            return None
        found = match_resource(self.text, at + 2, self.end)
        if not found:
            return None
        tail = Span(at, found.end)
        return self._link(LinkKind.INLINE, opening, tail, found.target, found.title)

    def _reference(self, opening: _Bracket, at: int) -> Link | None:
        if not self.definitions:
            return None
        own = self.text[opening.at + 1 : at]
        label = _LABEL.match(self.text, at + 1, self.end)
        named = label is not None and bool(label[1].strip())
        collapsed = self.text.startswith("[]", at + 1)
        name = label[1] if label and named else own
        end = label.end() if label and (named or collapsed) else at + 1
        if not named and (len(own) > _MAX_LABEL_CHARS or not _PLAIN_LABEL.fullmatch(own)):
            return None
        found = self.definitions.get(fold_label(name))
        if not found:
            return None
        return self._link(LinkKind.REFERENCE, opening, Span(at, end), found.target, found.title)

    def _link(
        self, kind: LinkKind, opening: _Bracket, tail: Span, target: LinkTarget, title: str | None
    ) -> Link:
        text = self.text[opening.at + 1 : tail.start]
        span = Span(opening.at - opening.image, tail.end)
        return Link(kind, opening.image, span, target, text, title)


def find_wiki_links(text: str, span: Span) -> Iterator[Link]:
    """Wiki links alone, in text that is no Markdown."""
    for found in _WIKI.finditer(text, span.start, span.end):
        embed = text[found.start() - 1 : found.start()] == "!"
        if link := _wiki_link(text, found, embed):
            yield link


def _wiki_link(text: str, wiki: re.Match[str], embed: bool) -> Link | None:
    # In a table, the pipe before an alias is escaped.
    name = wiki[1].removesuffix("\\") if wiki[3] is not None else wiki[1]
    path = name.strip()
    if not path:
        return None
    start = wiki.start(1) + len(name) - len(name.lstrip())
    path_span = Span(start, start + len(path))
    anchor = wiki[2][1:].removesuffix("\\").strip() if wiki[2] is not None else None
    end = path_span.end if wiki[2] is None else wiki.end(2)
    tail = "" if anchor is None else f"#{anchor}"
    target = LinkTarget(path, anchor, Span(start, end), path_span, tail)
    shown = target.address
    alias = wiki[3].strip() if wiki[3] is not None else ""
    span = Span(wiki.start() - embed, wiki.end())
    return Link(LinkKind.WIKI, embed, span, target, alias or shown)


_SPECIAL = re.compile(r"[\\`<\[\]]")
_TICKS = re.compile(r"`+")
_MAX_LABEL_CHARS = 999
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]", re.DOTALL)
_PLAIN_LABEL = re.compile(r"(?:[^\[\]\\]|\\.)*+", re.DOTALL)
_WIKI = re.compile(r"\[\[([^\[\]|#\r\n]*+)(#[^\[\]|\r\n]*+)?(?:\|([^\[\]\r\n]*+))?\]\]")
_ADDRESS_MARK = re.compile(r"[/.:#]")
_AUTOLINK = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\x00-\x20<>]*+|[\w.!#$%&'*+/=?^`{|}~-]++@[\w.-]++)>"
)
_TAG = re.compile(rf"{OPEN_TAG}|{CLOSE_TAG}")
_RAW = re.compile(r"<!--|<!\[CDATA\[|<\?|<![A-Za-z]")
_RAW_END = {"<!-": "-->", "<![": "]]>", "<?": "?>"} | {f"<!{it}": ">" for it in ascii_letters}
_MARKUP = re.compile(r"[\[<*`~_\\&]")
_EMPHASIS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")

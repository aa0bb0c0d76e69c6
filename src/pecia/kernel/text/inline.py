"""The links of one paragraph, with exact places. Knows nothing of blocks, files or targets.

One pass from left to right, as CommonMark reads brackets, with `[[wiki links]]` before the rest.
Every character is looked at a bounded number of times: parentheses in a destination nest at most
`MAX_PARENTHESES` deep, and when `MAX_OPEN_BRACKETS` are open, they are given up as text.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.text.escapes import path_length, unescape
from pecia.kernel.text.markdown_lines import CLOSE_TAG, OPEN_TAG
from pecia.kernel.text.span import Span

MAX_PARENTHESES = 8
MAX_OPEN_BRACKETS = 1000


class LinkKind(StrEnum):
    INLINE = "inline"
    REFERENCE = "reference"
    AUTO = "auto"
    WIKI = "wiki"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads, as its writer put it, escapes undone. `path_span` is what to rewrite."""

    path: str
    anchor: str | None
    span: Span
    path_span: Span


@dataclass(frozen=True, slots=True)
class Link:
    """`embed` is an image or a `![[file]]`. A reference's target lies in its definition."""

    kind: LinkKind
    embed: bool
    span: Span
    target: Target
    text: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A line `[label]: target "title"`."""

    label: str
    span: Span
    target: Target
    title: str | None


def find_inline_links(
    text: str, span: Span, definitions: Mapping[str, Definition] | None = None
) -> list[Link]:
    """The links of the paragraph at `span`, in the order in which they start."""
    if "[" not in text[span.start : span.end] and "<" not in text[span.start : span.end]:
        return []
    links = _Paragraph(text, span, definitions or {}).read()
    return sorted(links, key=lambda it: it.span)


def plain_text(source: str) -> str:
    """A line as a reader sees it: links by their text, no emphasis, no code marks."""
    seen = source
    for link in reversed(find_inline_links(source, Span(0, len(source)))):
        if not link.embed:
            seen = seen[: link.span.start] + link.text + seen[link.span.end :]
    return unescape(_EMPHASIS.sub("", seen))


def match_definition(text: str, start: int, end: int) -> Definition | None:
    """The definition that starts exactly there, up to the end of its line."""
    label = _DEFINED_LABEL.match(text, start, end)
    if not label or not label[1].strip():
        return None
    destination = _destination(text, label.end(), end)
    if not destination or not (destination.angled or destination.span.size):
        return None
    rest = _TITLE_AND_LINE_END.match(text, destination.end, end)
    if not rest:
        return None
    target = markdown_target(text, destination.span)
    return Definition(fold_label(label[1]), Span(start, rest.end()), target, _title(rest[1]))


def markdown_target(text: str, span: Span) -> Target:
    """The target written at `span`, which is what stands between the brackets."""
    raw = span.of(text)
    cut = path_length(raw)
    _, hash_mark, anchor = unescape(raw[cut:]).partition("#")
    return Target(
        unescape(raw[:cut]),
        anchor if hash_mark else None,
        span,
        Span(span.start, span.start + cut),
    )


def fold_label(label: str) -> str:
    return " ".join(label.split()).casefold()


@dataclass(slots=True)
class _Bracket:
    at: int
    image: bool


@dataclass(frozen=True, slots=True)
class _Destination:
    span: Span
    end: int
    angled: bool


class _Paragraph:
    def __init__(self, text: str, span: Span, definitions: Mapping[str, Definition]) -> None:
        self.text = text
        self.start, self.end = span.start, span.end
        self.definitions = definitions
        self.links: list[Link] = []
        self.open: list[_Bracket] = []
        # Brackets below this number are around a link, and a link holds no other link.
        self.dead = 0
        self.ticks: dict[int, list[int]] | None = None
        self.comments_close = True

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
            target = Target(inner.of(self.text), None, inner, inner)
            span = Span(at, auto.end())
            self.links.append(Link(LinkKind.AUTO, False, span, target, target.path))
            return auto.end()
        if tag := _TAG.match(self.text, at, self.end):
            return tag.end()
        if self.comments_close and self.text.startswith("<!--", at):
            close = self.text.find("-->", at + 4, self.end)
            self.comments_close = close >= 0
            return close + 3 if self.comments_close else at + 1
        return at + 1

    def _open_bracket(self, at: int, after: int) -> int:
        # An escaped exclamation mark has been passed already.
        image = at > after and self.text[at - 1] == "!"
        if wiki := _WIKI.match(self.text, at, self.end):
            link = _wiki_link(self.text, wiki, image)
            if link:
                self.links.append(link)
                return link.span.end
        if len(self.open) >= MAX_OPEN_BRACKETS:
            self.open.clear()
            self.dead = 0
        self.open.append(_Bracket(at, image))
        return at + 1

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
        destination = _destination(self.text, at + 2, self.end)
        if not destination:
            return None
        tail = _TITLE_AND_CLOSE.match(self.text, destination.end, self.end)
        if not tail:
            return None
        target = markdown_target(self.text, destination.span)
        return self._link(LinkKind.INLINE, opening, Span(at, tail.end()), target, _title(tail[1]))

    def _reference(self, opening: _Bracket, at: int) -> Link | None:
        if not self.definitions:
            return None
        own = self.text[opening.at + 1 : at]
        label = _LABEL.match(self.text, at + 1, self.end)
        name = label[1] if label and label[1].strip() else own
        end = label.end() if label else at + 1
        if len(name) > _LONGEST_LABEL or (name is own and not _PLAIN_LABEL.fullmatch(own)):
            return None
        found = self.definitions.get(fold_label(name))
        if not found:
            return None
        return self._link(LinkKind.REFERENCE, opening, Span(at, end), found.target, found.title)

    def _link(
        self, kind: LinkKind, opening: _Bracket, tail: Span, target: Target, title: str | None
    ) -> Link:
        text = self.text[opening.at + 1 : tail.start]
        span = Span(opening.at - opening.image, tail.end)
        return Link(kind, opening.image, span, target, text, title)


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
    target = Target(path, anchor, Span(start, end), path_span)
    shown = path if anchor is None else f"{path}#{anchor}"
    alias = wiki[3].strip() if wiki[3] is not None else ""
    span = Span(wiki.start() - embed, wiki.end())
    return Link(LinkKind.WIKI, embed, span, target, alias or shown)


def _destination(text: str, at: int, end: int) -> _Destination | None:
    start = _end_of(_SPACES, text, at, end)
    if text.startswith("<", start, end):
        angled = _ANGLED.match(text, start, end)
        inner = Span(start + 1, angled.end() - 1) if angled else None
        return _Destination(inner, inner.end + 1, True) if inner else None
    stop, depth = start, 0
    while True:
        stop = _end_of(_BARE, text, stop, end)
        mark = text[stop : stop + 1] if stop < end else ""
        if mark == "(" and depth < MAX_PARENTHESES:
            depth += 1
        elif mark == ")" and depth:
            depth -= 1
        else:
            return _Destination(Span(start, stop), stop, False) if not depth else None
        stop += 1


def _end_of(pattern: re.Pattern[str], text: str, at: int, end: int) -> int:
    found = pattern.match(text, at, end)
    return found.end() if found else at


def _title(quoted: str | None) -> str | None:
    return None if quoted is None else unescape(quoted[1:-1])


_SPECIAL = re.compile(r"[\\`<\[\]]")
_TICKS = re.compile(r"`+")
_SPACES = re.compile(r"[ \t\r\n]*+")
_BARE = re.compile(r"(?:[^\x00-\x20\x7f\\()]|\\[!-/:-@\[-`{-~]|\\)*+")
_ANGLED = re.compile(r"<(?:[^<>\r\n\\]|\\.)*+>")
_QUOTED = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)"""
_TITLE_AND_CLOSE = re.compile(rf"(?:[ \t\r\n]++({_QUOTED}))?+[ \t\r\n]*+\)", re.DOTALL)
_TITLE_AND_LINE_END = re.compile(rf"(?:[ \t]++({_QUOTED}))?+[ \t]*+(?:\r\n|[\r\n]|\Z)")
_LONGEST_LABEL = 999
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]", re.DOTALL)
_PLAIN_LABEL = re.compile(r"(?:[^\[\]\\]|\\.)*+", re.DOTALL)
# A label that begins with a caret is a footnote's.
_DEFINED_LABEL = re.compile(
    r"\[(?!\^)((?:[^\[\]\\\r\n]|\\.){1,999}+)\]:(?:[ \t]*+(?:\r\n|[\r\n]))?"
)
_WIKI = re.compile(r"\[\[([^\[\]|#\r\n]*+)(#[^\[\]|\r\n]*+)?(?:\|([^\[\]\r\n]*+))?\]\]")
_AUTOLINK = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\x00-\x20<>]*+|[\w.!#$%&'*+/=?^`{|}~-]++@[\w.-]++)>"
)
_TAG = re.compile(rf"{OPEN_TAG}|{CLOSE_TAG}")
_EMPHASIS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")

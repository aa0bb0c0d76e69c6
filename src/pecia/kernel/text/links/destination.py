"""What stands in the parentheses of a link, or after the colon of a definition. Pure.

Parentheses in a destination nest at most `MAX_PARENTHESES` deep, so that every character is looked
at a bounded number of times.
"""

import re
from typing import NamedTuple

from pecia.kernel.text.links.link import LinkDefinition, LinkTarget
from pecia.kernel.text.markdown.escapes import path_length, unescape
from pecia.kernel.text.span import Span

MAX_PARENTHESES = 8


class LinkDestination(NamedTuple):
    """A target with its title, up to `end`, which is after the closing parenthesis or line end."""

    target: LinkTarget
    title: str | None
    end: int


def match_resource(text: str, start: int, end: int) -> LinkDestination | None:
    """The target and title that follow an opening parenthesis."""
    if plain := _PLAIN_RESOURCE.match(text, start, end):
        # As most are, in a third of the time.
        target = read_target(text, Span(start, plain.end() - 1))
        return LinkDestination(target, None, plain.end())
    destination = _destination(text, start, end)
    return _resource(text, destination, _TITLE_AND_CLOSE, end) if destination else None


def match_definition(text: str, start: int, end: int) -> LinkDefinition | None:
    """The definition that starts exactly there, up to the end of its line."""
    label = _DEFINED_LABEL.match(text, start, end)
    destination = _destination(text, label.end(), end) if label and label[1].strip() else None
    if not label or not destination or not (destination.angled or destination.span.size):
        return None
    found = _resource(text, destination, _TITLE_AND_LINE_END, end)
    if not found:
        return None
    return LinkDefinition(fold_label(label[1]), Span(start, found.end), found.target, found.title)


def fold_label(label: str) -> str:
    """Labels that differ in case or white space only are the same."""
    return " ".join(label.split()).casefold()


class _Destination(NamedTuple):
    span: Span
    end: int
    angled: bool


def _resource(
    text: str, destination: _Destination, tail: re.Pattern[str], end: int
) -> LinkDestination | None:
    rest = tail.match(text, destination.end, end)
    if not rest:
        return None
    title = None if rest[1] is None else unescape(rest[1][1:-1])
    return LinkDestination(read_target(text, destination.span), title, rest.end())


def read_target(text: str, span: Span) -> LinkTarget:
    """The target that stands there, without what is around it."""
    raw = span.of(text)
    cut = path_length(raw)
    tail = unescape(raw[cut:])
    _, hash_mark, anchor = tail.partition("#")
    path_span = Span(span.start, span.start + cut)
    return LinkTarget(unescape(raw[:cut]), anchor if hash_mark else None, span, path_span, tail)


def find_target(text: str, at: int, end: int) -> LinkTarget | None:
    """The target that begins there, whatever follows it."""
    found = _destination(text, at, end)
    return read_target(text, found.span) if found else None


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


_SPACES = re.compile(r"[ \t\r\n]*+")
_BARE = re.compile(r"(?:[^\x00-\x20\x7f\\()]|\\[!-/:-@\[-`{-~]|\\)*+")
_ANGLED = re.compile(r"<(?:[^<>\r\n\\]|\\.)*+>")
_PLAIN_RESOURCE = re.compile(r"(?!<)[^\x00-\x20\x7f\\()]++\)")
_QUOTED = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)"""
_TITLE_AND_CLOSE = re.compile(rf"(?:[ \t\r\n]++({_QUOTED}))?+[ \t\r\n]*+\)", re.DOTALL)
_TITLE_AND_LINE_END = re.compile(rf"(?:[ \t]++({_QUOTED}))?+[ \t]*+(?:\r\n|[\r\n]|\Z)")
# A label that begins with a caret is a footnote's.
_DEFINED_LABEL = re.compile(
    r"\[(?!\^)((?:[^\[\]\\\r\n]|\\.){1,999}+)\]:(?:[ \t]*+(?:\r\n|[\r\n]))?"
)

"""Changes to JSON, comments allowed, that leave every other character of the text alone. Pure.

Comments and trailing commas are blanked first, character for character: what is left is plain JSON
in which every position is one of the text.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from pecia.kernel.errors import InvalidFormat, Json

_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_END = re.compile(r"[ \t]*\r?\n")
_USUAL_STEP = "  "


def read(text: str) -> dict[str, Json]:
    """What the text says. One without anything but comments says nothing."""
    plain = _page(text).plain
    if not plain.strip():
        return {}
    try:
        found = json.loads(plain, parse_constant=_no_constant, parse_float=str)
    except json.JSONDecodeError as error:
        raise InvalidFormat(
            f"it is not JSON: {error.msg} in line {error.lineno}, column {error.colno}",
            field="file",
            line=error.lineno,
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidFormat(f"it is not JSON: {error}", field="file") from None
    if not isinstance(found, dict):
        raise InvalidFormat("it is not a JSON object", field="file")
    return cast(dict[str, Json], found)


def put(text: str, path: Sequence[str], value: Json) -> str:
    """The text with that value at that path; what is missing on the way is made."""
    page = _page(text)
    if not page.plain.strip():
        new_line = "" if not text or text.endswith("\n") else page.new_line
        laid = _format_value(_nest(path, value), "", _USUAL_STEP, page.new_line)
        return f"{text}{new_line}{laid}{page.new_line}"
    at = page.root
    for depth, key in enumerate(path):
        found = page.object_at(at).member(key)
        if found is None:
            return _insert_member(page, at, key, _nest(path[depth + 1 :], value))
        if depth == len(path) - 1:
            return _replace_value(page, at, found, value)
        at = _inside(page, found)
    raise AssertionError("a path has at least one key")


def drop(text: str, path: Sequence[str]) -> str:
    """The text without what stands at that path, if anything does."""
    page = _page(text)
    if not page.plain.strip():
        return text
    at = page.root
    for depth, key in enumerate(path):
        within = page.object_at(at)
        found = within.member(key)
        if found is None:
            return text
        if depth == len(path) - 1:
            return _drop_member(page, within, found)
        at = _inside(page, found)
    return text


def append(text: str, path: Sequence[str], value: Json) -> str:
    """The text with that value as the last of the list at that path, which is made if missing."""
    page = _page(text)
    found = _find_member(page, path)
    if found is None:
        return put(text, path, [value])
    items = _list_items(page, found)
    close = found.end - 1
    laid = json.dumps(value, ensure_ascii=False)
    if not items:
        return text[: found.value + 1] + laid + text[found.value + 1 :]
    last = items[-1][1]
    has_comma = "," in page.bare[last:close]
    own = page.own_indent(items[0][0])
    lead = " " if own is None else page.new_line + own
    # Behind the comma that is there, or with one of ours.
    at = page.bare.index(",", last) + 1 if has_comma else last
    piece = f"{lead}{laid}," if has_comma else f",{lead}{laid}"
    return text[:at] + piece + text[at:]


def drop_item(text: str, path: Sequence[str], number: int) -> str:
    """The text without that item of the list at that path."""
    page = _page(text)
    found = _find_member(page, path)
    if found is None:
        return text
    items = _list_items(page, found)
    start, end = items[number]
    comma = page.bare.find(",", end, found.end - 1)
    is_last = number + 1 == len(items)
    if comma >= 0 and (not is_last or number == 0):
        end = comma + 1
    elif number:
        # With the comma before it, and the white space between: comments there stay.
        before = page.bare.find(",", items[number - 1][1], start)
        if comma < 0:
            kept = text[before + 1 : start]
            return text[:before] + (kept.rstrip() if kept.strip() else "") + text[end:]
        end = comma + 1
    start, end = _whole_lines(page, start, end)
    return text[:start] + text[end:]


def _find_member(page: "_Page", path: Sequence[str]) -> "_Member | None":
    if not page.plain.strip():
        return None
    at, found = page.root, None
    for depth, key in enumerate(path):
        found = page.object_at(at).member(key)
        if found is None:
            return None
        if depth < len(path) - 1:
            at = _inside(page, found)
    return found


def _list_items(page: "_Page", member: "_Member") -> list[tuple[int, int]]:
    """Where each item of a list begins and ends."""
    if page.plain[member.value] != "[":
        raise InvalidFormat(f"`{member.key}` in it is not a list", field=member.key)
    found: list[tuple[int, int]] = []
    at = _skip_space(page.plain, member.value + 1)
    while page.plain[at] != "]":
        end = _DECODER.raw_decode(page.plain, at)[1]
        found.append((at, end))
        at = _skip_space(page.plain, end)
        if page.plain[at] == ",":
            at = _skip_space(page.plain, at + 1)
    return found


@dataclass(frozen=True, slots=True)
class _Member:
    """Where a key begins, and where its value begins and ends."""

    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """The members of an object, and where its closing brace is."""

    members: tuple[_Member, ...]
    close: int

    def member(self, key: str) -> _Member | None:
        """Of two that have one key the later counts, as with every reader."""
        return next((it for it in reversed(self.members) if it.key == key), None)


@dataclass(frozen=True, slots=True)
class _Page:
    """A text; without its comments; and without its trailing commas either."""

    text: str
    bare: str
    plain: str

    @property
    def root(self) -> int:
        return _skip_space(self.plain, 0)

    @property
    def new_line(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def step(self) -> str:
        """By how much this text goes in for each level."""
        members = self.object_at(self.root).members
        own = self.own_indent(members[0].start) if members else None
        return own or _USUAL_STEP

    def object_at(self, at: int) -> _Object:
        """What stands between two braces. The text is known to be JSON."""
        found: list[_Member] = []
        at = _skip_space(self.plain, at + 1)
        while self.plain[at] != "}":
            key, after = _DECODER.raw_decode(self.plain, at)
            value = _skip_space(self.plain, _skip_space(self.plain, after) + 1)
            end = _DECODER.raw_decode(self.plain, value)[1]
            found.append(_Member(key, at, value, end))
            at = _skip_space(self.plain, end)
            if self.plain[at] == ",":
                at = _skip_space(self.plain, at + 1)
        return _Object(tuple(found), at)

    def line_indent(self, at: int) -> str:
        """The white space that the line of a position begins with."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def own_indent(self, at: int) -> str | None:
        """The same, when nothing else stands before the position."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line if not line.strip(" \t") and "\n" in self.text[:at] else None


def _page(text: str) -> _Page:
    # Some editors of this world begin a file with a mark that is no part of it.
    bare = _COMMENT.sub(_blank, text.replace("\ufeff", " ", 1) if text[:1] == "\ufeff" else text)
    return _Page(text, bare, _TRAILING.sub(_blank, bare))


def _blank(found: re.Match[str]) -> str:
    word = found.group()
    return word if word.startswith('"') else re.sub(r"[^\r\n]", " ", word)


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _inside(page: _Page, member: _Member) -> int:
    if page.plain[member.value] != "{":
        raise InvalidFormat(f"`{member.key}` in it is not an object", field=member.key)
    return member.value


def _nest(path: Sequence[str], value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def _format_value(value: Json, indent: str, step: str, new_line: str) -> str:
    """An object over several lines, of which all but the first begin with the indent."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + step
    rows = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_format_value(it, inner, step, new_line)}"
        for key, it in value.items()
    ]
    return f"{{{new_line}{f',{new_line}'.join(rows)}{new_line}{indent}}}"


def _insert_member(page: _Page, at: int, key: str, value: Json) -> str:
    within, text = page.object_at(at), page.text
    # After everything in the object, so that each comment stays with what it is about.
    kept = len(text[: within.close].rstrip(" \t\r\n"))
    last = within.members[-1].end if within.members else None
    has_comma = last is not None and "," in page.bare[last : within.close]
    # Where the last member has a comma, ours gets one: it goes with ours, and theirs stays.
    comma = "," if has_comma else ""
    name = json.dumps(key, ensure_ascii=False)
    if last is not None and "\n" not in text[at : within.close]:
        before = "" if has_comma else ","
        piece = f"{before} {name}: {json.dumps(value, ensure_ascii=False)}{comma}"
        return text[:kept] + piece + text[kept:]
    outer = page.line_indent(at)
    own = page.own_indent(within.members[0].start) if within.members else None
    indent = outer + page.step if own is None else own
    laid = _format_value(value, indent, page.step, page.new_line)
    piece = f"{page.new_line}{indent}{name}: {laid}{comma}"
    tail = text[kept : within.close]
    end = tail if "\n" in tail else page.new_line + outer
    head = text[:kept] if last is None or has_comma else f"{text[:last]},{text[last:kept]}"
    return head + piece + end + text[within.close :]


def _replace_value(page: _Page, at: int, member: _Member, value: Json) -> str:
    is_inline = "\n" not in page.text[at : page.object_at(at).close]
    laid = (
        json.dumps(value, ensure_ascii=False)
        if is_inline
        else _format_value(value, page.line_indent(member.start), page.step, page.new_line)
    )
    return page.text[: member.value] + laid + page.text[member.end :]


def _drop_member(page: _Page, within: _Object, member: _Member) -> str:
    number = within.members.index(member)
    text, end = page.text, member.end
    # Its own comma, or if it is the last and has none, that of the one before it.
    limit = within.close if number + 1 == len(within.members) else within.members[number + 1].start
    own = page.bare.find(",", end, limit)
    before = -1
    if own >= 0:
        end = own + 1
    elif number:
        before = page.bare.find(",", within.members[number - 1].end, member.start)
    start, end = _whole_lines(page, member.start, end)
    if before < 0:
        return text[:start] + text[end:]
    return text[:before] + text[before + 1 : start] + text[end:]


def _whole_lines(page: _Page, start: int, end: int) -> tuple[int, int]:
    """The same span with the rest of its lines, when nothing else is on them."""
    own = page.own_indent(start)
    line_end = _LINE_END.match(page.text, end)
    if own is None or line_end is None:
        return start, _skip_space_on_line(page.text, end)
    return start - len(own), line_end.end()


def _skip_space_on_line(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip(" \t"))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value")


_DECODER: Any = json.JSONDecoder()

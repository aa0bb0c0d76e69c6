"""The items of the lists on an edited page, and the memories that they name. Pure.

An item may be nested, numbered and wrapped. Headings, rules, code and paragraphs are free text, but
an id in them is told: a memory whose id is still on the page was not taken out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

NO_ITEM = "its link is not in a line of a list (`- …`): nothing was changed"
SHARED_ITEM = "its line has more than one link of a memory: nothing was changed"
NO_TEXT = "its line has no text: take the whole line out to end it"
BAD_LINK = "its link is malformed: nothing was changed"

_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+]|(?P<number>\d{1,9})[.)])[ \t]+(?P<text>.*)")
_LINK = re.compile(r"\(\[[^\[\]]*\]\(memory:[^()\s]*\)\)|\[[^\[\]]*\]\(memory:[^()\s]*\)")
_TARGET = re.compile(r"\]\(memory:([^()\s]*)")
_UUID = re.compile(r"(?i)(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<sign>`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r"[ \t]*#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*$")


@dataclass(frozen=True, slots=True)
class PageLine:
    """An item of an edited page; `id` is that of the memory that stood there."""

    text: str
    id: str | None


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """A link to a memory that could not be read as its line, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageItems:
    """`ids`: every id on the page, wherever it stands."""

    lines: tuple[PageLine, ...]
    unread: tuple[UnreadLine, ...]
    ids: frozenset[str]


def flatten(text: str) -> str:
    """A text as it stands in one line of a page."""
    return " ".join(text.split())


def read_items(body: str) -> PageItems:
    lines: list[PageLine] = []
    unread: dict[str, str] = {}
    for text, is_item in _split(body):
        targets = [_normalise_id(it) for it in _TARGET.findall(text)]
        reason = _why_unread(text, targets, is_item=is_item)
        if reason is not None:
            unread |= dict.fromkeys(targets, reason)
        elif targets:
            lines.append(PageLine(flatten(_LINK.sub(" ", text)), targets[0]))
        elif is_item and not _is_markup(text):
            lines.append(PageLine(flatten(text), None))
    read = {it.id for it in lines}
    left = tuple(UnreadLine(id_, why) for id_, why in unread.items() if id_ not in read)
    return PageItems(tuple(lines), left, frozenset(it.lower() for it in _UUID.findall(body)))


def _why_unread(text: str, targets: list[str], *, is_item: bool) -> str | None:
    """Why the memories that a text links are left as they are; None where it is one's line."""
    if not targets:
        return None
    if not is_item:
        return NO_ITEM
    if len(targets) > 1:
        return SHARED_ITEM
    if _UUID.fullmatch(targets[0]) is None or _LINK.search(text) is None:
        return BAD_LINK
    return None if _LINK.sub("", text).strip() else NO_TEXT


def _normalise_id(text: str) -> str:
    return str(UUID(text)) if _UUID.fullmatch(text) else text


def _is_markup(text: str) -> bool:
    """Whether an item has a rule, a heading or nothing in it."""
    return not text.strip() or bool(_RULE.match(text) or _HEADING.match(text))


def _split(body: str) -> Iterator[tuple[str, bool]]:
    """The items, each with the lines that continue it, and the lines that are not of one."""
    item: list[str] = []
    offset, fence = 0, ""
    for line in body.splitlines():
        begins = _begins(line, offset if item else None)
        # A memory may begin with the signs of a fence.
        opens = None if fence or _TARGET.search(line) else _FENCE.match(line)
        if not (begins or opens) and item and _continues(line, item):
            item.append(line)
            continue
        if item:
            yield " ".join(item), True
            item = []
        if opens:
            fence = opens["sign"]
        elif fence:
            # As long as the one that opened it, and alone on its line.
            bare = line.strip()
            is_end = bare.startswith(fence) and not bare.strip(fence[0])
            fence = "" if is_end else fence
            yield line, False
        elif begins and not _RULE.match(line):
            item, offset = [begins["text"]], len(line[: begins.start("text")].expandtabs(4))
        else:
            yield line, False
    if item:
        yield " ".join(item), True


def _begins(line: str, offset: int | None) -> re.Match[str] | None:
    """The item that a line begins. Within an item, a sentence may be wrapped before `2019. `: as in
    CommonMark, only a 1 begins a list there."""
    found = _ITEM.match(line)
    if found is None or offset is None or found["number"] in (None, "1"):
        return found
    return found if len(found["indent"].expandtabs(4)) < offset else None


def _continues(line: str, item: list[str]) -> bool:
    """Whether a line is the rest of the item above it. Below its link, only one that is indented
    is: people write notes under a list."""
    if not line.strip() or _HEADING.match(line) or _RULE.match(line):
        return False
    return line[0] in " \t" or _LINK.search(" ".join(item)) is None

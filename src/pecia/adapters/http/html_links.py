"""The links of a page and the places that a sitemap names. Pure; reads no more than it must.

Pages come from strangers and are read here, in the process that crawls, so every step takes time
that grows with the page and not faster: a parser that looks back for a missing end does not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

MAX_ATTRIBUTES = 100
"""Of one tag; what follows them is not looked at."""


@dataclass(slots=True)
class PageLinks:
    """Where a page leads, as it is written there, and what that is relative to."""

    base: str = ""
    hrefs: list[str] = field(default_factory=list[str])


def parse_links(page: str) -> PageLinks:
    """Every link of a page that may be followed."""
    read = PageLinks()
    for tag, given in _tags(page):
        link = given.get("href", "")
        if tag == "base":
            read.base = read.base or link
        elif link and "nofollow" not in given.get("rel", ""):
            read.hrefs.append(link)
    return read


def parse_sitemap(sitemap: str) -> list[str]:
    """The addresses that a sitemap names."""
    return [unescape(it).strip() for it in _LOCATION.findall(sitemap)]


def _tags(page: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The tags that lead somewhere, with their attributes. None stand in comments and scripts."""
    at = 0
    while found := _TAG.search(page, at):
        at = found.end()
        if found["comment"]:
            at = page.find("-->", at) + 3
            if at < 3:
                return
        elif raw := found["raw"]:
            ending = _RAW_ENDS[raw.lower()].search(page, at)
            if ending is None:
                return
            at = ending.end()
        else:
            given, at = _attributes(page, at)
            yield found["tag"].lower(), given


def _attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    given: dict[str, str] = {}
    for _ in range(MAX_ATTRIBUTES):
        found = _ATTRIBUTE.match(page, at)
        if found is None:
            break
        at = found.end()
        value = found["double"] or found["single"] or found["bare"] or ""
        given.setdefault(found["name"].lower(), unescape(value))
    return given, at


# The quantifiers that end in `+` give nothing back: a part that fits was the only one that could.
_TAG = re.compile(
    r"<(?:(?P<comment>!--)|(?P<raw>script|style|textarea|title)(?=[\s/>])|(?P<tag>a|base)(?=[\s/]))",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(?P<name>[^\s"'<>/=]++)"""
    r"""(?:\s*+=\s*+(?:"(?P<double>[^"]{0,4000}+)"|'(?P<single>[^']{0,4000}+)'"""
    r"""|(?P<bare>[^\s"'=<>`]{1,4000}+)))?+"""
)
_LOCATION = re.compile(r"<(?:\w{1,20}:)?loc>\s*+(?:<!\[CDATA\[)?([^<>\]]{1,4000}+)")
_RAW_ENDS = {
    it: re.compile(rf"</{it}", re.IGNORECASE) for it in ("script", "style", "textarea", "title")
}

"""Pages in several languages: help, handbooks, guides. Paragraphs are aligned by their order.

Two pages are taken for translations of each other if they have as many paragraphs, whose lengths
go together; otherwise nothing of them is used.
"""

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from languages import language_of

from readers import Pair

_PATHS = [
    # Where a language stands in a path, from the most particular to the least.
    re.compile(
        r"/(?:help|html|HTML|FAQ|text|installation-guide-amd64|developers-reference)/([a-z]{2}(?:[-_@][\w-]+)?|C)/"
    ),
    re.compile(r"\.([a-z]{2}(?:[-_][A-Za-z]+)?)\.html$"),
]
_LANGUAGE_IN_NAME = re.compile(r"(?<=[a-z])[-.](?:[a-z]{2}(?:[-_][a-zA-Z]{2})?)(?=[/.])")
_BLOCK = re.compile(
    r"<(para|simpara|p|title|h[1-6]|td|th|dt|li|dd|term)\b([^>]*)>"
    r"((?:(?!<(?:para|simpara|p|title|h[1-6]|td|th|dt|li|dd|ul|ol|div|table|term|itemizedlist|variablelist|screen|listitem)\b).)*?)</\1>",
    re.S,
)
_ID = re.compile(r'\bid="((?:par|hd|tit)_id\w+)"')
_SKIP = re.compile(
    r"<(script|style|pre|screen|code|programlisting|head)\b.*?</\1>|<!--.*?-->", re.S
)
_TAG = re.compile(r"<[^>]*>")
_ENTITY = re.compile(r"&([a-z][\w.-]*);")
MAX_BYTES = 2_000_000


def read(folder: Path, origin: str) -> Iterator[Pair]:
    yield from read_all([(origin, folder)])


def read_all(folders: list[tuple[str, Path]]) -> Iterator[Pair]:
    """Pages of packages that belong together, one package a language."""
    groups: dict[str, dict[str, tuple[str, Path]]] = defaultdict(dict)
    for origin, folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".html", ".page", ".docbook") and path.is_file():
                locale, key = _place(str(path.relative_to(folder)))
                groups[key].setdefault(locale, (origin, path))
    for key in sorted(groups):
        yield from _aligned(groups[key])


def _place(path: str) -> tuple[str, str]:
    for pattern in _PATHS:
        if found := pattern.search("/" + path):
            start, end = found.span(1)
            key = ("/" + path)[:start] + "*" + ("/" + path)[end:]
            return found[1], _LANGUAGE_IN_NAME.sub("", key)
    return "en", _LANGUAGE_IN_NAME.sub("", "/" + path)


def _aligned(pages: dict[str, tuple[str, Path]]) -> Iterator[Pair]:
    english = next(
        (pages[it] for it in ("C", "en", "en-US", "en_US", "en-us") if it in pages), None
    )
    if english is None or len(pages) < 2:
        return
    ours = _blocks(english[1])
    for locale in sorted(pages):
        language = language_of(locale)
        if language:
            theirs = _blocks(pages[locale][1])
            for a, b in _matched(ours, theirs):
                yield Pair(pages[locale][0], language, a, b)


def _matched(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    named = {name: text for name, text in theirs if name}
    if len(named) > 3:
        yield from ((text, named[name]) for name, text in ours if name in named)
    elif len(ours) == len(theirs) and len(ours) > 1 and _go_together(ours, theirs):
        yield from ((a[1], b[1]) for a, b in zip(ours, theirs, strict=True))


def _go_together(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> bool:
    ratios = sorted((len(b[1]) + 5) / (len(a[1]) + 5) for a, b in zip(ours, theirs, strict=True))
    return ratios[len(ratios) // 10] * 6 > ratios[-1 - len(ratios) // 10]


def _blocks(path: Path) -> list[tuple[str, str]]:
    """Identifier and text of each paragraph."""
    with path.open("rb") as file:
        source = file.read(MAX_BYTES).decode("utf-8", "replace")
    source = _SKIP.sub(" ", source)
    blocks = []
    for found in _BLOCK.finditer(source):
        name = _ID.search(found[2]) or _ID.search(found[0])
        text = html.unescape(_ENTITY.sub(_entity, _TAG.sub(" ", found[3])))
        text = " ".join(text.split())
        if text:
            blocks.append((name[1] if name else "", text))
    return blocks


def _entity(found: re.Match[str]) -> str:
    """DocBook's own entities are mostly names of programs: `&kde;`."""
    plain = html.unescape(found[0])
    return found[1].replace(".", " ") if plain == found[0] else plain

"""Courses and documentation in Markdown, one folder a language, read from bare git repositories.

`translations/de/PATH` beside `translations/en/PATH` (or PATH itself), likewise `content/de/PATH`,
and `_articles/de/PATH` beside `_articles/PATH`, at any depth. A file is cut into headings,
paragraphs, list items and table rows. Between two headings, two files are taken for translations of
each other if they have as many parts, whose lengths go together.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from languages import language_of

from readers import Pair

_TRANSLATED = re.compile(
    r"^(.*?)(translations|content|_articles)/([a-z]{2}(?:-[A-Za-z]+)?)/(.+\.md)$"
)
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)
_SKIP = re.compile(r"<!--.*?-->|^(```|~~~).*?^\1[^\n]*$|\{\{[<%].*?[%>]\}\}", re.S | re.M)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARK = re.compile(
    r"[*`~|]+|(?<!\w)_+|_+(?!\w)|^\s*(?:>\s*|[-+]\s+|\d+\.\s+|#+\s+|\[[ x!]\S*\])+", re.M
)
_PART = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.|#+|\||>)\s?)")
_HEADING = re.compile(r"^#{1,6}\s", re.M)


def read(repository: Path) -> Iterator[Pair]:
    """Pairs of one repository. The origin is its name and the first folder of a path."""
    pages: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    names = _git(repository, "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")
    for name in names:
        if found := _TRANSLATED.match(name):
            pages[found[4], found[1], found[2]].setdefault(found[3], name)
    known = set(names)
    for path in sorted(pages):
        name, before, folder = path
        untranslated = (before + name, f"{before}{folder}/{name}")
        ours = pages[path].get("en") or next((it for it in untranslated if it in known), None)
        if ours:
            origin = f"course-{repository.name}-{name.split('/')[0]}"
            yield from _page(repository, origin, ours, pages[path])


def _page(repository: Path, origin: str, ours: str, pages: dict[str, str]) -> Iterator[Pair]:
    languages = {locale: language_of(locale) for locale in pages if locale != "en"}
    wanted = [pages[it] for it, language in languages.items() if language]
    texts = _contents(repository, [ours, *wanted])
    english = _sections(texts[ours])
    for locale, language in languages.items():
        if language:
            for a, b in _aligned(english, _sections(texts[pages[locale]])):
                yield Pair(origin, language, a, b)


def _aligned(ours: list[list[str]], theirs: list[list[str]]) -> Iterator[tuple[str, str]]:
    if len(ours) != len(theirs):
        return
    for a, b in zip(ours, theirs, strict=True):
        if len(a) == len(b) and a and _go_together(a, b):
            yield from zip(a, b, strict=True)


def _go_together(ours: list[str], theirs: list[str]) -> bool:
    ratios = sorted((len(b) + 8) / (len(a) + 8) for a, b in zip(ours, theirs, strict=True))
    return ratios[len(ratios) // 10] * 6 > ratios[-1 - len(ratios) // 10]


def _sections(source: str) -> list[list[str]]:
    """Parts of a file, by heading; the heading is the first of its section."""
    source = _SKIP.sub("\n", _FRONT.sub("", source.replace("\r\n", "\n")))
    starts = [0, *(it.start() for it in _HEADING.finditer(source)), len(source)]
    return [
        [part for it in _PART.split(source[a:b]) if (part := _plain(it))]
        for a, b in pairwise(starts)
    ]


def _plain(part: str) -> str:
    text = _LINK.sub(r"\1", _IMAGE.sub(" ", part))
    return " ".join(_MARK.sub(" ", text).split())


def _git(repository: Path, *arguments: str) -> str:
    made = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=True
    )
    return made.stdout.decode("utf-8", "replace")


def _contents(repository: Path, names: list[str]) -> dict[str, str]:
    asked = "".join(f"HEAD:{it}\n" for it in names).encode()
    command = ["git", "-C", str(repository), "cat-file", "--batch"]
    answer = subprocess.run(command, input=asked, capture_output=True, check=True).stdout
    found, at = {}, 0
    for name in names:
        end = answer.index(b"\n", at)
        fields = answer[at:end].split()
        size = int(fields[2]) if len(fields) == 3 and fields[1] == b"blob" else 0
        found[name] = answer[end + 1 : end + 1 + size].decode("utf-8", "replace")
        at = end + (size + 2 if len(fields) == 3 else 1)
    return found

"""Manual pages, in English and translated, aligned by the order of their paragraphs."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from languages import language_of

from readers import Pair

_TRANSLATED = re.compile(r"/man/([a-z]{2}(?:[_@.][\w.]+)?)/(man\d\w*/[^/]+)\.gz$")
_PLAIN = re.compile(r"/man/(man\d\w*/[^/]+)\.gz$")
_BREAK = re.compile(r"^\.\s*(?:PP|P|LP|TP|IP|HP|SH|SS|TH|Sh|Ss|Pp|It|sp|TQ)\b")
_FONT = re.compile(r"^\.\s*(?:[BI]R?|RB|RI|BI|IB|SM|SB|SH|SS|IP)\s+")
_ESCAPE = re.compile(r"\\f(?:\(..|\[[^]]*\]|.)|\\s[-+]?\d|\\[&|^/,:%cdu]|\\h'[^']*'|\\m\[[^]]*\]")
_SIGNS = {
    r"\-": "-",
    r"\(aq": "'",
    r"\(dq": '"',
    r"\(bu": "",
    r"\(en": "–",
    r"\(em": "—",
    r"\(lq": '"',
    r"\(rq": '"',
    r"\e": "\\",
    r"\ ": " ",
    r"\~": " ",
    r"\(co": "©",
}
MAX_BYTES = 400_000


def read_all(folders: list[tuple[str, Path]]) -> Iterator[Pair]:  # noqa: C901
    english: dict[str, Path] = {}
    translated: list[tuple[str, str, str, Path]] = []
    for origin, folder in folders:
        for path in sorted(folder.rglob("man/**/*.gz")):
            if found := _TRANSLATED.search(str(path)):
                if language := language_of(found[1]):
                    translated.append((origin, language, found[2], path))
            elif found := _PLAIN.search(str(path)):
                english.setdefault(found[1], path)
    cache: dict[str, list[str]] = {}
    for origin, language, name, path in translated:
        if name in english:
            if name not in cache:
                cache[name] = _paragraphs(english[name])
            ours, theirs = cache[name], _paragraphs(path)
            if len(ours) == len(theirs) and len(ours) > 2:
                for a, b in zip(ours, theirs, strict=True):
                    yield Pair(origin, language, a, b)


def _paragraphs(path: Path) -> list[str]:
    try:
        with gzip.open(path) as file:
            source = file.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, EOFError):
        return []
    paragraphs: list[list[str]] = [[]]
    for line in source.splitlines():
        if _BREAK.match(line):
            paragraphs.append([])
            line = _FONT.sub("", line) if re.match(r"^\.\s*S[HS]", line) else ""
        elif _FONT.match(line):
            line = _FONT.sub("", line)
        elif line.startswith((".", "'")):
            line = ""
        if line:
            paragraphs[-1].append(_plain(line))
    return [" ".join(" ".join(it).split()) for it in paragraphs if it]


def _plain(line: str) -> str:
    line = _ESCAPE.sub("", line)
    for sign, plain in _SIGNS.items():
        line = line.replace(sign, plain)
    return re.sub(r"\\\(..|\\\[[^]]*\]", "", line).replace('"', "")

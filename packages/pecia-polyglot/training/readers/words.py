"""Words and names with their translations: dictionaries of FreeDict, EDICT, CLDR, Wikidata."""

import gzip
import json
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from languages import THREE_LETTERS, language_of

from readers import Pair

_DICTIONARY = re.compile(r"freedict-(\w{3})-(\w{3})\.dict\.dz$")
_NOTES = re.compile(r"/[^/]*/|<[^>]*>|\([^)]*\)|\[[^]]*\]|\{[^}]*\}")
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def read_dictionaries(folder: Path, origin: str) -> Iterator[Pair]:
    for path in sorted(folder.rglob("*.dict.dz")):
        found = _DICTIONARY.search(str(path))
        if not found or "eng" not in found.groups():
            continue
        other = found[2] if found[1] == "eng" else found[1]
        if other not in THREE_LETTERS:
            continue
        for word, meaning in _entries(path):
            pair = (word, meaning) if found[1] == "eng" else (meaning, word)
            yield Pair(origin, THREE_LETTERS[other], *pair)


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    """A headword and its first meanings. The index says where each entry stands, in base 64."""
    content = gzip.decompress(path.read_bytes())
    index = path.with_name(path.name.replace(".dict.dz", ".index")).read_text("utf-8", "replace")
    for line in index.splitlines():
        word, _, rest = line.partition("\t")
        at, _, size = rest.partition("\t")
        if word.startswith("00") or not size:
            continue
        entry = content[number_of(at) : number_of(at) + number_of(size)].decode("utf-8", "replace")
        lines = [_NOTES.sub(" ", it).strip() for it in entry.splitlines()[1:]]
        meanings = [re.sub(r"^\d+\.\s*", "", it) for it in lines if it]
        if meanings:
            first = re.split(r"[,;]", meanings[0])[:2]
            yield word, ", ".join(it.strip() for it in first if it.strip())


def number_of(digits: str) -> int:
    value = 0
    for digit in digits.strip():
        value = value * 64 + _DIGITS.index(digit)
    return value


def read_edict(folder: Path) -> Iterator[Pair]:
    for path in sorted(folder.rglob("edict")):
        if path.is_file():
            for line in path.read_bytes().decode("euc-jp", "replace").splitlines()[1:]:
                found = re.match(r"(\S+) (?:\[\S+\] )?/(.+?)/", line)
                if found:
                    yield Pair("edict", "ja", _NOTES.sub(" ", found[2]).strip(), found[1])


def read_cldr(archive: Path) -> Iterator[Pair]:
    """Names of languages, countries, units and signs, from the Unicode consortium's tables."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            found = re.search(
                r"/(?:main|annotations|annotationsDerived)/([\w-]+)/(\w+)\.json$", member.name
            )
            file = tar.extractfile(member) if found else None
            if found and file and (found[1] == "en" or language_of(found[1])):
                flat = dict(leaves(json.load(file), ()))
                tables.setdefault(found[2], {})[found[1]] = flat
    for name in sorted(tables):
        english = tables[name].get("en", {})
        for locale in sorted(tables[name]):
            language = language_of(locale)
            for key, text in tables[name][locale].items():
                if language and key in english:
                    yield Pair("cldr", language, english[key], text)


def leaves(node: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        yield "/".join(path[3:]), ", ".join(str(it) for it in node)
    elif isinstance(node, str):
        yield "/".join(path[3:]), node


def read_names(git: Path) -> Iterator[Pair]:
    """Names of people from Wikidata (CC0), as NETransliteration-COLING2018 collected them."""
    files = {
        "arabic": "ar",
        "chinese": "zh",
        "hebrew": "he",
        "katakana": "ja",
        "korean": "ko",
        "russian": "ru",
    }
    for name, language in files.items():
        for part in ("_80", "_20"):
            show = ["git", "-C", str(git), "show", f"HEAD:data/wd_{name}{part}"]
            found = subprocess.run(show, capture_output=True, check=False).stdout
            for line in found.decode("utf-8", "replace").splitlines():
                # Letters stand apart, and how often the name was seen stands last.
                english, text, *_ = [*line.split("\t"), ""]
                yield Pair("wikidata-names", language, english, text.replace(" ", ""))

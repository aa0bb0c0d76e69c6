"""Which words a text is found by: stop words, languages, split names, bigrams. Pure."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain, pairwise
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.letters import fold
from pecia.kernel.corpus.keyword.analysis.scripts import (
    CJK,
    GRAM_CHARS,
    MARKED_SCRIPTS,
    cut_grams,
    find_unspaced,
    has_unspaced,
)
from pecia.kernel.text.language import primary_language

STEMMERS = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "pt": "portuguese",
    "it": "italian",
    "nl": "dutch",
    "sv": "swedish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "hu": "hungarian",
    "ro": "romanian",
    "tr": "turkish",
    "ru": "russian",
    "el": "greek",
    "ar": "arabic",
    # Ours: the engine has none.
    "he": "",
}


@lru_cache(maxsize=256)
def stemmer_language(written: str) -> str:
    """The code in `STEMMERS` of a language tag, or nothing. Norwegian has one for both forms."""
    code = primary_language(written)
    known = "no" if code in ("nb", "nn") else code
    return known if known in STEMMERS else ""


def _read_stop_words() -> dict[str, frozenset[str]]:
    """Function words by language. They also tell which language a text is in."""
    found: dict[str, set[str]] = {code: set() for code in STEMMERS}
    lines = (
        files("pecia.kernel.corpus.keyword")
        .joinpath("stop_words.txt")
        .read_text("utf-8")
        .splitlines()
    )
    for code, *words in map(str.split, lines):
        found[code].update(words, map(fold, words))
    return {code: frozenset(words) for code, words in found.items()}


STOP_WORDS = _read_stop_words()

_LANGUAGES: dict[str, list[str]] = {}
for _code, _words in STOP_WORDS.items():
    for _word in _words:
        _LANGUAGES.setdefault(_word, []).append(_code)

# Letters and digits of ASCII in lower case, and spaces for all else: the quickest way to its words.
ASCII_WORDS = "".join(chr(it).lower() if chr(it).isalnum() else " " for it in range(128))
_TOKEN = re.compile(rf"(?:[^\W_]|[{MARKED_SCRIPTS}])+")
_CJK = re.compile(f"[{CJK}]+")
_HALF_WIDTH = re.compile(r"[\uff66-\uff9f]")
_PART = re.compile(
    rf"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|(?:[^\W\d_A-Za-z]|(?!\d)[{MARKED_SCRIPTS}])+"
)
_MARKED = re.compile(f"[{MARKED_SCRIPTS}]")
# Where letters meet digits, or a capital follows a small letter; and the rest of the word.
_SEAM = re.compile(
    r"[0-9A-Z](?:(?<=[a-z][A-Z])|(?<=[A-Za-z][0-9])|(?<=[0-9])(?=[A-Za-z]))[A-Za-z0-9]*"
)
_WIDE = re.compile(r"[^\W\x00-\x7f]")
_HUMP = re.compile(r"[a-z][A-Z]")
_SENTENCE_END = re.compile(r"[.!?:]")
_NOUNS_HAVE_CAPITALS = frozenset({"de"})
# A digit, or a capital within the word: PostgreSQL, GPL, 10K.
_LATER_CAPITAL = re.compile(r"\d|(?<=.)[A-Z\u00c0-\u00de]")
_MAX_NAME_CHARS = 80
_SAMPLE = 2000
# Where few function words stand, the letters tell: those of these languages alone.
_SCRIPTS = {
    "el": re.compile("[\u0370-\u03ff\u1f00-\u1fff]+"),
    "ru": re.compile("[\u0430-\u044f\u0451]+"),
    "ar": re.compile("[\u0621-\u063a\u0641-\u0652]+"),
    "he": re.compile("[\u05d0-\u05ea]+"),
}
_MIN_STOP_WORD_SHARE = 0.12


def detect_language(text: str) -> str:
    """The language whose function words the text uses most; empty when none stands out."""
    sample = text[:_SAMPLE]
    is_ascii = sample.isascii()
    lowered = sample.translate(ASCII_WORDS) if is_ascii else sample.lower()
    words = lowered.split() if is_ascii else _TOKEN.findall(lowered)
    counts = Counter(chain.from_iterable(filter(None, map(_LANGUAGES.get, words))))
    most = max(counts.values(), default=0)
    if most >= max(2, len(words) * _MIN_STOP_WORD_SHARE):
        # English first among equals: it is the language of names and of code.
        return next(code for code in STEMMERS if counts.get(code) == most)
    if is_ascii:
        return ""
    scripts = ((code, it) for code, it in _SCRIPTS.items() if it.search(lowered))
    return next((code for code, it in scripts if _is_written_in(it, words)), "")


def _is_written_in(script: re.Pattern[str], words: Sequence[str]) -> bool:
    return 2 * sum(script.fullmatch(it) is not None for it in words) > len(words)


def split_words(text: str) -> list[str]:
    """The words of a query in lower case, in order, once each."""
    return list(dict.fromkeys(_lower(it) for it in _TOKEN.findall(text)))


def _lower(word: str) -> str:
    """In lower case as the engine has it: without the sigma that ends a word."""
    return word.lower() if word.isascii() else fold(word.lower())


def remove_stop_words(query: str) -> list[str]:
    """The words without stop words, in order, once each; all of them if there are only those."""
    words = split_words(query)
    stops = STOP_WORDS["en"] | STOP_WORDS.get(detect_language(query), frozenset())
    return [word for word in words if word not in stops] or words


def extract_proper_words(question: str) -> frozenset[str]:
    """The words written like names: with a digit, or with a capital where no sentence begins.

    A text that begins with a word of content is no question but a list of words, or a claim: there
    the capital counts. In German every noun has one, so that it says nothing.
    """
    found = [*_TOKEN.finditer(question)]
    if detect_language(question) in _NOUNS_HAVE_CAPITALS:
        marked = (it.group() for it in found if _LATER_CAPITAL.search(it.group()))
        return frozenset(map(_lower, marked))
    first = [it.group() for it in found[:1] if it.group()[0].isupper()]
    leading = first if first and _lower(first[0]) in remove_stop_words(question) else []
    numbered = (it.group() for it in found if any(map(str.isdigit, it.group())))
    capital = (
        it.group()
        for before, it in pairwise(found)
        if it.group()[0].isupper() and not _SENTENCE_END.search(question, before.end(), it.start())
    )
    return frozenset(map(_lower, (*leading, *numbered, *capital)))


def split_name(name: str) -> str:
    """A path or identifier as words: by case, digits and signs, and the whole parts beside them.

    `FY2018_AnnualReport.pdf` is found by `2018`, `annual`, `report`, `fy2018` and `pdf`.
    """
    wholes = [it.lower() for it in _TOKEN.findall(name)]
    parts = [it.lower() for it in _PART.findall(name)]
    return " ".join(dict.fromkeys([*wholes, *parts]))


def split_file_name(name: str) -> list[str]:
    """What a path or a title is found by: `2023Q2` by `2023q2`, `2023`, `q`, `2` and `q2`."""
    return list(dict.fromkeys(it for word in _TOKEN.findall(name) for it in _name_words(word)))


def join_neighbours(words: Sequence[str]) -> list[str]:
    """Neighbours as one word, as names of files often have them: `blue harbor` as `blueharbor`."""
    return [one + other for one, other in pairwise(words) if one.isalpha() and other.isalpha()]


class NamePart(NamedTuple):
    """A part of a joined name, that name, and how many parts it has. All in lower case."""

    text: str
    whole: str
    siblings: int


def split_compounds(text: str) -> list[str]:
    """What the joined names in a text are made of: `FY2018` gives fy and 2018."""
    return list(
        dict.fromkeys(it.lower() for name in _joined_names(text) for it in _PART.findall(name))
    )


def find_name_parts(text: str) -> list[NamePart]:
    """The same, each with the first name that it is a part of."""
    found: dict[str, NamePart] = {}
    for name in _joined_names(text):
        parts = [it.lower() for it in _PART.findall(name)]
        for it in parts:
            found.setdefault(it, NamePart(it, name.lower(), len(parts)))
    return list(found.values())


def cjk_bigrams(text: str) -> str:
    """What stands without spaces, as grams. Chinese, Japanese and Korean as signs and overlapping
    pairs; Thai and its like, of which a sign says less, as pairs and threes."""
    if text.isascii():
        return ""
    found = [it for run in _runs(text) for it in (*run, *_pairs(run))]
    for _, run in find_unspaced(text):
        found += _pairs(run) + (cut_grams(run) if len(run) >= GRAM_CHARS else [])
    return " ".join(found)


def cjk_query_bigrams(query: str) -> list[str]:
    """What of a query to look up among those: the longest grams, and what is shorter as it is."""
    if query.isascii():
        return []
    found = [it for run in _runs(query) for it in (_pairs(run) or [run])]
    found += (it for _, run in find_unspaced(query) for it in cut_grams(run))
    return list(dict.fromkeys(found))


def has_bigrams(text: str) -> bool:
    return not text.isascii() and bool(
        _CJK.search(text) or _HALF_WIDTH.search(text) or has_unspaced(text)
    )


def has_no_cjk(term: str) -> bool:
    return term.isascii() or not (_CJK.search(term) or has_unspaced(term))


def _name_words(word: str) -> Iterator[str]:
    # Most words are of one piece.
    if word.isascii() and (word.isdigit() or (word.isalpha() and word.islower())):
        yield word
        return
    whole, *parts = split_name(word).split()
    yield whole
    yield from parts
    yield from (one + other for one, other in pairwise(parts))


def _joined_names(text: str) -> Iterator[str]:
    if text.isascii() or not _WIDE.search(text):
        return _plain_names(text)
    # A word whose letters are small, but for the first, is none: most are such words.
    found = (it for it in _TOKEN.findall(text) if not (it.isalpha() and it[1:].islower()))
    return filter(_is_joined, found)


def _plain_names(text: str) -> Iterator[str]:
    """The joined names of a text whose letters are all of ASCII: few of its words have a seam."""
    for seam in _SEAM.finditer(text):
        start, end = seam.span()
        while start and text[start - 1].isalnum():
            start -= 1
        if end - start <= _MAX_NAME_CHARS:
            yield text[start:end]


def _is_joined(name: str) -> bool:
    """Whether letters stand beside digits in it, or a capital after a small letter."""
    if name.islower() and name.isalpha():
        return False
    name = _MARKED.sub("", name)
    if len(name) > _MAX_NAME_CHARS or name.isdigit():
        return False
    return bool(name) and (not name.isalpha() or _HUMP.search(name) is not None)


def _runs(text: str) -> Iterator[str]:
    wide = unicodedata.normalize("NFKC", text) if _HALF_WIDTH.search(text) else text
    return (it.group() for it in _CJK.finditer(wide))


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]

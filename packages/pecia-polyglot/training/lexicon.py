"""Word translation tables from the aligned texts: `lexicon.py LESSONS OUT [LANGUAGE...]`, then
`lexicon.py --pack OUT FILE`.

IBM's Model 1 in both directions, trained to agree (Liang, Taskar and Klein, 2006): a link counts
as much as both directions believe in it. That keeps rare words from being blamed for everything
that nobody else explains.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

import numpy as np
from texts import language_names, read_language
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pecia.adapters.embedding.lexicon import (
    ENGLISH,
    PREFIX_CHARS,
    PROFILES,
    STEPS,
    source_words,
    trigrams,
)
from pecia.kernel.corpus.keyword.analysis.scripts import clean_text
from pecia.kernel.corpus.keyword.analysis.token_filters import stemmer_language

ITERATIONS = 6
# What no word of the other side explains goes to nothing, which is as likely as this.
NULL = 1e-3
# Longer texts say little of which word is which, and cost the square of their length.
MAX_WORDS = 40
MAX_TERMS = 4
MIN_SHARE = 0.06
MIN_LINKS = 0.9
# A word so frequent, of which so little is explained, holds sentences together.
STOP_RANK, MAX_STOP_SHARE = 150, 0.25
MIN_PREFIX_SHARE = 0.15
PIECES = 16_000
PIECE_TEXTS = 12_000
# Entries of dictionaries are short and begin with a small letter. Tables must not repeat those:
# some are under the GPL or CC BY-SA.
MAX_ENTRY_WORDS = 6
UNSPACED = frozenset({"th", "zh", "ja"})
PAIR_COUNT, PAIR_LIFT = 8, 20
PROFILE_TEXTS, PROFILE_SIZE = 6000, 1500
TABLE_SIZE = 20_000


class Sentences(NamedTuple):
    """Texts as the numbers of their different words, one after the other; how many each has."""

    words: Any
    sizes: Any
    names: list[str]


class Links(NamedTuple):
    """Which words translate each other: numbers on both sides, how often, and how often the word
    itself occurs."""

    sources: Any
    targets: Any
    counts: Any
    occurrences: Any


def number_words(texts: Iterable[str], cut: Callable[[str], list[str]]) -> Sentences:
    numbers: dict[str, int] = {}
    flat: list[int] = []
    sizes: list[int] = []
    for text in texts:
        found = dict.fromkeys(numbers.setdefault(it, len(numbers)) for it in cut(text))
        flat.extend(found)
        sizes.append(len(found))
    return Sentences(np.array(flat, np.int64), np.array(sizes, np.int64), [*numbers])


def choose(sentences: Sentences, rows: Any) -> Sentences:
    """Some of the texts, in the order of `rows`."""
    sizes = sentences.sizes[rows]
    starts = (np.cumsum(sentences.sizes) - sentences.sizes)[rows]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return Sentences(sentences.words[np.repeat(starts, sizes) + within], sizes, sentences.names)


def align(source: Sentences, target: Sentences) -> Links:
    """The links between words of texts that translate each other, in the same order."""
    ones, others = cross(source.sizes, target.sizes)
    width = len(target.names)
    pairs, links = np.unique(source.words[ones] * width + target.words[others], return_inverse=True)
    sources, targets = pairs // width, pairs % width
    source_counts = np.bincount(source.words, minlength=len(source.names))
    target_counts = np.bincount(target.words, minlength=width)
    together = np.bincount(links)
    forward = backward = 2 * together / (source_counts[sources] + target_counts[targets])
    counts = together
    for _ in range(ITERATIONS):
        one, other = forward[links], backward[links]
        one = one / (np.bincount(others, one, len(target.words))[others] + NULL)
        other = other / (np.bincount(ones, other, len(source.words))[ones] + NULL)
        counts = np.bincount(links, one * other)
        forward, backward = counts / source_counts[sources], counts / target_counts[targets]
    return Links(sources, targets, counts, source_counts)


def cross(ones: Any, others: Any) -> tuple[Any, Any]:
    """Every word of a text beside every word of its translation: their places in the flat lists."""
    sizes = ones * others
    text = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(sizes.sum()) - (np.cumsum(sizes) - sizes)[text]
    first, second = np.cumsum(ones) - ones, np.cumsum(others) - others
    return (
        (first[text] + within // others[text]).astype(np.int32),
        (second[text] + within % others[text]).astype(np.int32),
    )


def build_table(
    links: Links, sources: list[str], targets: list[str], *, has_stemmer: bool
) -> dict[str, list[tuple[str, float]]]:
    """The most frequent words with their translations; prefixes where there is no stemmer."""
    every = gather_terms(links, sources, targets)
    prefixes = {} if has_stemmer else gather_prefixes(links, sources, every)
    table = {
        word: terms
        for word, found in every.items()
        if (terms := [it[:2] for it in found if it[2] >= MIN_LINKS][:MAX_TERMS])
        and not says_nothing(word, terms, prefixes)
    }
    frequent = np.argsort(-links.occurrences, kind="stable")
    explained = {sources[it]: 0.0 for it in frequent[:STOP_RANK]}
    for word in explained:
        explained[word] = sum(share for _, share, _ in every.get(word, ()))
    stops = {it: [] for it, share in explained.items() if share < MAX_STOP_SHARE}
    words = [sources[it] for it in frequent if sources[it] in table and sources[it] not in stops]
    return stops | prefixes | {it: table[it] for it in words[: TABLE_SIZE - len(prefixes)]}


def gather_terms(
    links: Links, sources: list[str], targets: list[str]
) -> dict[str, list[tuple[str, float, float]]]:
    """Translations of each word, best first: the term, its share, and how many links it has."""
    shares = links.counts / links.occurrences[links.sources]
    kept = np.flatnonzero(shares >= MIN_SHARE)
    found: dict[str, list[tuple[str, float, float]]] = {}
    for it in kept[np.lexsort((-links.counts[kept], links.sources[kept]))]:
        word, term = sources[links.sources[it]], targets[links.targets[it]]
        found.setdefault(word, []).append((term, float(shares[it]), float(links.counts[it])))
    return found


def gather_prefixes(
    links: Links, sources: list[str], every: dict[str, list[tuple[str, float, float]]]
) -> dict[str, list[tuple[str, float]]]:
    """Translations of words that begin alike, where they agree, for forms that were never seen."""
    counts: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    occurrences = dict(zip(sources, links.occurrences.tolist(), strict=True))
    for word, terms in every.items():
        if len(word) >= PREFIX_CHARS and " " not in word and terms[0][0] != word:
            begin = word[:PREFIX_CHARS]
            totals[begin] += occurrences[word]
            forms[begin] += 1
            counts.setdefault(begin, Counter()).update({it: links for it, _, links in terms})
    found = {
        f"{begin}*": [
            (term, count / totals[begin])
            for term, count in held.most_common(MAX_TERMS)
            if count >= MIN_PREFIX_SHARE * totals[begin]
        ]
        for begin, held in counts.items()
        if forms[begin] > 1 and totals[begin] > 3
    }
    best = sorted((it for it in found if found[it]), key=lambda it: -totals[it[:-1]])
    return {it: found[it] for it in best[: TABLE_SIZE // 3]}


def says_nothing(
    word: str, terms: list[tuple[str, float]], prefixes: dict[str, list[tuple[str, float]]]
) -> bool:
    """Whether the table is as good without the word: it is the same in English, or its prefix
    says it."""
    if terms[0][0] in (word, *source_words(word, "en", _no)):
        return True
    alike = prefixes.get(f"{word[:PREFIX_CHARS]}*", ())
    return bool(alike) and [it for it, _ in alike[:2]] == [it for it, _ in terms[:2]]


def find_pieces(texts: Iterable[str]) -> frozenset[str]:
    """Words of a script without spaces, as a unigram model finds them."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.UnigramTrainer(
        vocab_size=PIECES, max_piece_length=12, unk_token="?", special_tokens=["?"],
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(map(clean_text, texts), trainer)
    return frozenset(it for it in tokenizer.get_vocab() if len(it) > 1 and not it.isascii())


def find_pairs(texts: Iterable[str]) -> frozenset[str]:
    """Syllables that stand together more often than by chance."""
    singles: Counter[str] = Counter()
    doubles: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = source_words(text, "", _no)
        singles.update(words)
        doubles.update(pairwise(words))
    total = singles.total()
    return frozenset(
        f"{one} {other}"
        for (one, other), count in doubles.items()
        if count >= PAIR_COUNT and count * total >= PAIR_LIFT * singles[one] * singles[other]
    )


def known_pieces(language: str, texts: list[str]) -> frozenset[str]:
    if language in UNSPACED:
        held = [*filter(None, texts)]
        return find_pieces(held[:: max(1, len(held) // PIECE_TEXTS)])
    return find_pairs(texts) if language == "vi" else frozenset()


def is_entry(english: str) -> bool:
    """Whether a text may be an entry of a dictionary."""
    return english[:1].islower() and len(english.split()) <= MAX_ENTRY_WORDS


def number_english(texts: list[str]) -> Sentences:
    """English texts as stems; entries of dictionaries are empty."""
    return number_words(texts, lambda it: [] if is_entry(it) else source_words(it, ENGLISH, _no))


def build_language(folder: Path, language: str, english: Sentences) -> str:
    """The table of a language, from its texts alone but those whose English is empty."""
    texts, numbers = read_language(folder, language)
    texts = [it if kept else "" for it, kept in zip(texts, english.sizes[numbers] > 0, strict=True)]
    known = known_pieces(language, texts)
    words = number_words(texts, lambda it: source_words(it, language, known.__contains__))
    sizes, other_sizes = words.sizes, english.sizes[numbers]
    rows = np.flatnonzero(
        (sizes > 0) & (sizes <= MAX_WORDS) & (other_sizes > 0) & (other_sizes <= MAX_WORDS)
    )
    links = align(choose(words, rows), choose(english, numbers[rows]))
    return format_table(
        build_table(links, words.names, english.names, has_stemmer=bool(stemmer_language(language)))
    )


def build_profiles(folder: Path, languages: Iterable[str]) -> Iterator[str]:
    """The most frequent trigrams of each language, to tell which one a query is in."""
    for language in languages:
        texts, _ = read_language(folder, "english" if language == "en" else language)
        counts: Counter[str] = Counter()
        for text in texts[:: max(1, len(texts) // PROFILE_TEXTS)]:
            counts.update(trigrams(text))
        yield format_profile(language, dict(counts.most_common(PROFILE_SIZE)), counts.total())


def format_table(table: Mapping[str, Iterable[tuple[str, float]]]) -> str:
    """As `parse_table` reads it."""
    return "\n".join(
        "\t".join((word, *(f"{term}{max(1, round(share * STEPS)):x}" for term, share in terms)))
        for word, terms in sorted(table.items())
    )


def format_profile(language: str, counts: Mapping[str, int], total: int) -> str:
    """As `Profiles` reads it."""
    logs = ((gram, round(-10 * math.log(count / total))) for gram, count in counts.items())
    return "\t".join((language, *(f"{gram}-{it}" for gram, it in logs)))


def pack(folder: Path, file: Path) -> None:
    """The same bytes from the same tables."""
    with ZipFile(file, "w", ZIP_LZMA) as packed:
        for path in sorted(folder.glob("*.tsv")):
            member = ZipInfo(path.stem)
            member.compress_type = ZIP_LZMA
            packed.writestr(member, path.read_bytes())


def _no(_: str) -> bool:
    return False


def main() -> None:
    if sys.argv[1] == "--pack":
        pack(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    folder, out, *languages = sys.argv[1:]
    lessons, made = Path(folder), Path(out)
    made.mkdir(parents=True, exist_ok=True)
    every = language_names(lessons)
    if not (made / f"{PROFILES}.tsv").exists():
        profiles = "\n".join(build_profiles(lessons, ["en", *every]))
        (made / f"{PROFILES}.tsv").write_text(profiles)
    texts, _ = read_language(lessons, "english")
    english = number_english(texts)
    for language in languages or every:
        table = build_language(lessons, language, english)
        (made / f"{language}.tsv").write_text(table)
        print(language, len(table.splitlines()), flush=True)


if __name__ == "__main__":
    main()
